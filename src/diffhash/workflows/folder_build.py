"""``build_folder``: a folder of pictures and a table of captions become a collection."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import InputError, InputFileError
from ..featurizers import Featurizer, TfidfFeatures
from ..featurizers.base import checked_state, state_hash
from ..hashers import BaseHasher
from ..model import HashModel
from ..model.featurizer_state import add_featurizers
from ..pairs import Pairs
from ..types import FloatArray
from .build_target import BuildTarget
from .captions import Caption, CaptionedPictures, read_captions
from .folder_rows import ROWS_IN_BLOCK, caption_rows, picture_rows
from .kept_work import InterruptedBuild, KeptWork, fingerprint, kept_path, load_kept, save_kept
from .learn_model import Learned, learn, make_hasher
from .model_files import describe_model
from .new_collection import add_rows
from .options import SAMPLE, FileName, LearningOptions, OptionError, PictureKind, check_type
from .picture_reader import PictureReader, picture_featurizer
from .progress import Progress, StepCounter
from .results import BuildResult
from .row_relation import RowRelation
from .view_files import Featurizers, load_featurizers

__all__ = ["build_folder"]

#: Most words and groups of letters in the vocabulary. The time of learning grows with its square.
_MAX_WORDS = 2500
#: Length of the part of the features that groups of letters make; that of the words has length 1.
_NGRAM_WEIGHT = 0.5
#: Payload fields with captions: of a picture that has several, the second one has all of them.
_WORD_FIELDS = ("caption", "captions")


def build_folder(
    images: FileName,
    captions: FileName,
    out: FileName,
    *,
    file_column: str | None = None,
    caption_column: str | None = None,
    kind: PictureKind | str = PictureKind.photo,
    thumbnails: bool = True,
    skip: bool = False,
    encoding: str | None = None,
    learning: LearningOptions | None = None,
    featurizers: Featurizers | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> BuildResult:
    r"""Make a collection from a folder of pictures and a table of captions.

    A model is learned from the captioned pictures. Then all pictures and captions are added, and the words
    of the captions are indexed. Each picture is decoded once. The file appears when it is complete: after
    an error, an interrupt or an exception from ``progress``, an old file is unchanged. After an interrupt
    (Ctrl-C) the pictures that were read and the model are kept in a file beside ``out``, and the same call
    continues from there.

    A picture and its first caption are one object, whose id is the name of the picture. Its other captions
    are objects with the ids ``name#2``, ``name#3`` and so on.

    Parameters
    ----------
    images : folder
        Pictures, also in its subfolders.
    captions : table (.csv, .jsonl, .parquet)
        Names of pictures, relative to the folder or absolute, and captions. The other columns are stored too.
    out : file or address
        The new collection (.dh), or the address of one on a server. There it is incomplete after an error or an
        interrupt: build it again with ``overwrite``.
    file_column, caption_column : str, optional
        Columns of the table. By default they are found by their names.
    kind : PictureKind or its value
    thumbnails : bool
        Whether to store a small version of each picture.
    skip : bool
        Leave out rows without a picture or a caption, and pictures that cannot be read.
    encoding : str, optional
        Encoding of the table. By default UTF-8, or a guess if it is not that.
    learning : LearningOptions, optional
        By default from at most 50,000 captions.
    featurizers : dict, optional
        Your own for "image", "text" or both: objects, or names (:func:`~diffhash.featurizers.load_featurizer`). By
        default simple features that need no other model.
    overwrite : bool
        Replace an existing collection.
    progress : function, optional
        Called with a :class:`Step`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, PIL.Image
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, grey in (("a", 0), ("b", 90), ("c", 250)):
    ...     PIL.Image.fromarray(np.full((32, 32), grey, dtype=np.uint8)).save(folder / f"{name}.png")
    >>> _ = (folder / "captions.csv").write_text("file,caption\na.png,black\nb.png,grey\nc.png,white\n")
    >>> learning = LearningOptions(method="diff", n_bits=2)
    >>> result = build_folder(folder, folder / "captions.csv", folder / "greys.dh", learning=learning)
    >>> result.objects, result.learned_from
    (3, '3 pairs')
    """
    start = time.perf_counter()
    target = BuildTarget(out, overwrite)
    beside = target.beside
    learning = LearningOptions() if learning is None else learning
    check_type(learning, "learning", LearningOptions)
    if kind not in list(PictureKind):
        raise OptionError(f"`kind` must be one of {', '.join(PictureKind)}, got {kind!r}")
    target.check([captions])
    hasher = make_hasher(learning)
    data = read_captions(
        images, captions, file_column=file_column, caption_column=caption_column, skip=skip, encoding=encoding
    )
    _check_enough(data.captions, captions)
    own = load_featurizers(featurizers, ["image", "text"])
    if "image" in own and kind != PictureKind.photo:
        raise OptionError(
            "`kind` is for the features of diffhash: leave it out with your own for the pictures"
        )
    reader = PictureReader(
        data.pictures, own.get("image") or picture_featurizer(PictureKind(kind)), thumbnails, skip
    )
    settings = {"kind": str(kind), "thumbnails": thumbnails, "learning": asdict(learning)}
    settings |= {f"featurizer of {name}": _hash(each, name) for name, each in own.items()}
    mark = fingerprint(data, settings)
    kept = load_kept(beside, mark, reader.featurizer.n_features)
    state = _State(reader)
    if kept is not None:
        state.continue_from(kept, own)
    try:
        sample = _read_sample(state, data, learning, progress)
        _check_enough(sample.captions, captions)
        if state.learned is None:
            state.learned = _learn(hasher, reader, own.get("text"), sample, learning.calibrate, progress)
        n_objects, data = _write(target, state.learned.model, data, state, progress)
    except KeyboardInterrupt:
        raise InterruptedBuild(state.keep(target, mark)) from None
    # After an error it stays: when its cause is mended, the same call continues from there.
    kept_path(beside).unlink(missing_ok=True)
    return BuildResult(
        path=target.shown,
        objects=n_objects,
        model=describe_model(state.learned.model),
        learned_from=state.learned.learned_from,
        left_out=data.n_left_out,
        seconds=time.perf_counter() - start,
        size=target.size,
        calibrated=state.learned.model.calibration is not None,
        uncaptioned=data.n_uncaptioned,
        unreadable=dict(reader.broken),
        notes=(
            *data.notes,
            *target.notes,
            *([] if kept is None else [f"Continued an interrupted build: {kept.described()} were kept."]),
        ),
    )


def _hash(featurizer: Featurizer, modality: str) -> str:
    return state_hash(featurizer.kind, *checked_state(featurizer, modality, caller="build"))


def _check_enough(captions: Sequence[Caption], table: FileName) -> None:
    if len({caption.picture for caption in captions}) < 2:
        raise InputFileError(f"{table}: at least two pictures with captions are needed to learn from.")


@dataclass
class _State:
    """What a build has done so far: what remains if it is interrupted."""

    reader: PictureReader
    pictures: list[str] = field(default_factory=list)
    features: FloatArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    thumbnails: dict[str, str] = field(default_factory=dict)
    learned: Learned | None = None

    def continue_from(self, kept: KeptWork, featurizers: dict[str, Featurizer]) -> None:
        self.reader.known = dict(zip(kept.pictures, kept.features, strict=True))
        if self.reader.thumbnails:
            self.reader.thumbnails_by_name = dict(zip(kept.pictures, kept.thumbnails, strict=True))
        if kept.model is not None:
            model = add_featurizers(kept.model, featurizers, caller="build")
            self.learned = Learned(model, kept.learned_from, 0.0)

    def add(self, names: list[str], block: FloatArray) -> None:
        """Note that pictures to learn from were read."""
        self.features[len(self.pictures) : len(self.pictures) + len(names)] = block
        self.pictures += names
        if self.reader.thumbnails:
            self.thumbnails.update((name, self.reader.thumbnails_by_name[name]) for name in names)

    def keep(self, target: BuildTarget, mark: str) -> str:
        """Keep the work in a file beside the output; gives what to say."""
        unchanged, out = target.fate(), target.beside
        if not self.pictures:
            return f"interrupted. Nothing was kept, and {unchanged}"
        learned = self.learned
        work = KeptWork(
            self.pictures,
            self.features[: len(self.pictures)],
            [self.thumbnails[name] for name in self.pictures] if self.reader.thumbnails else [],
            None if learned is None else learned.model,
            "" if learned is None else learned.learned_from,
        )
        save_kept(out, work, mark)
        return (
            f"interrupted. {unchanged}. {kept_path(out)} keeps {work.described()}; "
            "the same command continues from there"
        )


@dataclass(frozen=True)
class _Sample:
    """Captions to learn from, their pictures, and a row of features for each picture."""

    captions: list[Caption]
    pictures: list[str]
    features: FloatArray


def _read_sample(
    state: _State, data: CaptionedPictures, learning: LearningOptions, progress: Progress | None
) -> _Sample:
    """Draw captions, and read their pictures.

    Captions whose picture cannot be read are replaced by others, in the order of a permutation,
    until the sample is full or no captions are left.
    """
    captions, reader = data.captions, state.reader
    n = min(learning.sample_size(SAMPLE) or len(captions), len(captions))
    rng = np.random.default_rng(learning.seed)
    if n < len(captions):
        rows = rng.choice(len(captions), n, replace=False)
        spare = rng.permutation(np.setdiff1d(np.arange(len(captions)), rows))
    else:
        rows, spare = np.arange(n), np.arange(0)
    # Memory that is never written to is never used. Rows of blocks would be copied, and kept twice.
    n_pictures = min(n, len({caption.picture for caption in captions}))
    state.features = np.empty((n_pictures, reader.featurizer.n_features), dtype=np.float32)
    pictures = state.pictures
    while True:
        wanted = {captions[row].picture for row in rows} - reader.broken.keys() - set(pictures)
        for names, block in _read_blocks(
            reader, [name for name in data.pictures if name in wanted], progress
        ):
            state.add(names, block)
        rows = np.array([row for row in rows if captions[row].picture not in reader.broken], dtype=int)
        missing = n - len(rows)
        if not missing or not len(spare):
            break
        rows, spare = np.concatenate([rows, spare[:missing]]), spare[missing:]
    return _Sample([captions[row] for row in np.sort(rows)], pictures, state.features[: len(pictures)])


def _read_blocks(
    reader: PictureReader, names: list[str], progress: Progress | None
) -> Iterator[tuple[list[str], FloatArray]]:
    counter = StepCounter(progress, "reading pictures", len(names), "pictures")
    for start in range(0, len(names), ROWS_IN_BLOCK):
        block = names[start : start + ROWS_IN_BLOCK]
        yield reader.read(block)
        counter.advance(len(block))


def _learn(
    hasher: BaseHasher,
    reader: PictureReader,
    own_words: Featurizer | None,
    sample: _Sample,
    calibrate: bool | None,
    progress: Progress | None,
) -> Learned:
    texts = [caption.text for caption in sample.captions]
    words = own_words or _fit_words(texts)
    places = {name: place for place, name in enumerate(sample.pictures)}
    positive = ([places[caption.picture] for caption in sample.captions], np.arange(len(texts)))
    views = {"image": sample.features, "text": _text_features(words, texts, progress)}
    n_rows = {name: view.shape[0] for name, view in views.items()}
    relation = RowRelation(n_rows, couples={("image", "text"): Pairs(positive)})
    learned = learn(hasher, views, relation, sample=0, seed=0, calibrate=calibrate, progress=progress)
    model = learned.model.with_featurizers({"image": reader.featurizer, "text": words})
    return Learned(model, learned.learned_from, learned.seconds)


def _text_features(words: Featurizer, texts: list[str], progress: Progress | None) -> Any:
    if isinstance(words, TfidfFeatures):
        return scipy.sparse.csr_array(words.transform(texts))
    counter = StepCounter(progress, "features of text", len(texts))
    blocks = []
    for start in range(0, len(texts), ROWS_IN_BLOCK):
        blocks.append(words.transform(texts[start : start + ROWS_IN_BLOCK]))
        counter.advance(blocks[-1].shape[0])
    sparse = scipy.sparse.issparse(blocks[0])
    return scipy.sparse.csr_array(scipy.sparse.vstack(blocks)) if sparse else np.concatenate(blocks)


def _fit_words(texts: list[str]) -> TfidfFeatures:
    """The vocabulary of words and groups of three letters. Rare ones are left out until it is small enough."""
    for min_count in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000):
        try:
            words = TfidfFeatures(min_count=min_count, char_ngrams=(3, 3), char_weight=_NGRAM_WEIGHT).fit(
                texts
            )
        except InputError:  # nothing is frequent enough
            break
        if words.n_features <= _MAX_WORDS:
            break
    return words


def _write(
    target: BuildTarget,
    model: HashModel,
    data: CaptionedPictures,
    state: _State,
    progress: Progress | None,
) -> tuple[int, CaptionedPictures]:
    """Write the collection; gives the number of objects, and the data without broken pictures."""
    reader, features = state.reader, dict(zip(state.pictures, state.features, strict=False))
    with target.new(model, words=_WORD_FIELDS) as collection:
        counter = StepCounter(progress, "adding pictures", len(data.pictures), "pictures")
        for _ in add_rows(collection, picture_rows(model, data, reader, features, counter), "image"):
            pass
        data = data.without(reader.broken)
        counter = StepCounter(progress, "adding captions", len(data.captions))
        for n in add_rows(collection, caption_rows(model, data), "text"):
            counter.advance(n)
        return len(collection), data
