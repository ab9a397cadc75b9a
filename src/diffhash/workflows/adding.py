"""``add_folder`` and ``add_features``: more objects for a collection, encoded with the model that it has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from ..errors import InputFileError
from ..featurizers.base import takes_pictures, takes_texts
from ..files import Source, encode_file, list_pictures
from ..files.raw_features import has_raw_objects
from ..model import HashModel
from ..stores import Collection
from ..stores.engine_store import EngineStore
from .captions import CaptionedPictures, read_captions
from .feature_files import naming_bad_rows
from .folder_rows import caption_rows, object_ids, old_captions, picture_rows
from .kept_work import InterruptedBuild
from .model_files import load_model, open_store
from .new_collection import Rows, add_rows, rows_of
from .object_rows import ObjectRows
from .options import FileName, FileNames, OptionError, check_files, files_by_modality
from .pair_files import read_row_ids
from .payloads import read_payloads
from .picture_reader import PictureReader
from .progress import Progress, StepCounter
from .results import AddResult, shown_path
from .view_files import Featurizers, open_views

__all__ = ["add_features", "add_folder"]


def add_folder(
    collection: FileName,
    images: FileName,
    captions: FileName | None = None,
    *,
    file_column: str | None = None,
    caption_column: str | None = None,
    thumbnails: bool = True,
    skip: bool = False,
    encoding: str | None = None,
    featurizers: Featurizers | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> AddResult:
    """Add the pictures of a folder, and their captions if there is a table of them.

    The model does not change: it encodes pictures and words that it has not learned from. Each write is a
    transaction of up to 50,000 objects. After an interrupt the message says how many were stored.

    Parameters
    ----------
    collection : collection (.dh), or the address of one
        Its model must have featurizers of pictures, and of texts if there are captions: one that
        :func:`build_folder` has made.
    images, captions, file_column, caption_column, thumbnails, skip, encoding
        As for :func:`build_folder`.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
    replace : bool
        Replace objects that exist already, with all of their captions. By default they are an error, and nothing
        is added.
    progress : function, optional
        Called with a :class:`Step`.
    """
    start = time.perf_counter()
    if captions is None:
        data = CaptionedPictures(list_pictures(images, [] if skip else None), ())
    else:
        data = read_captions(
            images,
            captions,
            file_column=file_column,
            caption_column=caption_column,
            skip=skip,
            encoding=encoding,
        )
    with open_store(collection, writable=True, featurizers=featurizers) as store:
        image, text = _modality_of(store.model, takes_pictures, "pictures"), ""
        if data.captions:
            text = _modality_of(store.model, takes_texts, "words")
        if not replace:
            _check_new(store, object_ids(data))
        reader = PictureReader(data.pictures, store.model.featurizers[image], thumbnails, skip)
        counter = StepCounter(progress, "adding pictures", len(data.pictures), "pictures")
        stored = _Stored(store, replace)
        known = {value for value in object_ids(data) if value in store} if replace else set()
        stored.add(picture_rows(store.model, data, reader, {}, counter, modality=image), image)
        data = data.without(reader.broken)
        if data.captions:
            stored.add(caption_rows(store.model, data, modality=text), text)
        if replace:
            _remove_old_captions(store, data)
        ids = object_ids(data)
        n_replaced = sum(value in known for value in ids)
        return AddResult(
            path=shown_path(collection),
            added=len(ids) - n_replaced,
            replaced=n_replaced,
            objects=len(store),
            left_out=data.n_left_out,
            seconds=time.perf_counter() - start,
            uncaptioned=data.n_uncaptioned,
            unreadable=dict(reader.broken),
            notes=data.notes,
        )


def add_features(
    collection: FileName,
    views: Mapping[str, FileName],
    *,
    ids: FileNames | None = None,
    payloads: FileNames | None = None,
    featurizers: Featurizers | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> AddResult:
    """Add the rows of feature files.

    Parameters
    ----------
    collection : collection (.dh), or the address of one
    views : dict of feature files by modality
        If there are several, row r of every view is one object.
    ids : file, or files by modality, optional
        Ids of the rows. By default the next whole numbers, if the ids of the collection are numbers.
    payloads : table, or tables by modality, optional
        What to store with each row.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
        Views may then be columns of texts, or of names of pictures.
    replace : bool
        Replace objects that exist already. By default they are an error, and nothing is added.
    progress : function, optional
        Called with a :class:`Step`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> dh.Collection.create(folder / "x.dh", hasher).close()
    >>> np.save(folder / "x.npy", x)
    >>> add_features(folder / "x.dh", {"x": folder / "x.npy"}).added
    200
    """
    start = time.perf_counter()
    check_files(views, "views")
    raw = any(has_raw_objects(Source.parse(source)) for source in views.values())
    known = load_model(collection, featurizers).featurizers if raw or featurizers else {}
    files = open_views(views, known, progress)
    n_rows = {name: file.count() for name, file in files.items()}
    if len(set(n_rows.values())) > 1:
        counts = ", ".join(f"{name} {n:,}" for name, n in n_rows.items())
        raise InputFileError(
            f"row r of every view is one object, but the views have different numbers of rows: {counts}."
        )
    row_ids = read_row_ids(files_by_modality(ids, list(files), "ids"), n_rows)
    given = list(row_ids.values())
    if any(other != given[0] for other in given[1:]):
        raise InputFileError("`ids`: row r of every view is one object, but the views have different ids.")
    one_object = ObjectRows(row_ids=lambda _: chosen, one_object=len(files) > 1)
    payloads_of = read_payloads(files_by_modality(payloads, list(files), "payloads"), n_rows, one_object)
    with open_store(collection, writable=True) as store:
        for name in files:
            if name not in store.modalities:
                raise OptionError(
                    f"`views`: the collection has no {name!r}. It has {', '.join(store.modalities)}"
                )
        chosen = given[0] if given else _next_ids(store, next(iter(n_rows.values())))
        if not replace:
            _check_new(store, chosen)
        n_before, stored = len(store), _Stored(store, replace)
        for name, file in files.items():
            rows = payloads_of(name)
            counter = StepCounter(progress, f"adding {name}", n_rows[name])
            with naming_bad_rows(files.values()):
                stored.add(rows_of(encode_file(store.model, file, name), chosen, rows, name), name, counter)
        added = len(store) - n_before
        return AddResult(
            path=shown_path(collection),
            added=added,
            replaced=len(chosen) - added if replace else 0,
            objects=len(store),
            left_out=0,
            seconds=time.perf_counter() - start,
        )


class _Stored:
    """Adds blocks of rows, and knows how many codes were stored if it is interrupted."""

    def __init__(self, store: Collection | EngineStore, replace: bool) -> None:
        self._store, self._replace, self._count = store, replace, 0

    def add(self, blocks: Iterable[Rows], modality: str, counter: StepCounter | None = None) -> None:
        try:
            for n in add_rows(self._store, blocks, modality, replace=self._replace):
                self._count += n
                if counter is not None:
                    counter.advance(n)
        except KeyboardInterrupt:
            raise InterruptedBuild(
                f"interrupted. {self._count:,} codes were stored; to continue, add the same files with `replace`"
            ) from None


def _remove_old_captions(store: Collection | EngineStore, data: CaptionedPictures) -> None:
    """Remove captions that replaced pictures had, and no longer have."""
    uncaptioned, surplus = old_captions(store, data)
    for name, featurizer in store.model.featurizers.items():
        if takes_texts(featurizer):
            store.delete(uncaptioned, modality=name)
    store.delete(surplus)


def _modality_of(model: HashModel, takes: Callable[[Any], bool], what: str) -> str:
    found = [name for name, featurizer in model.featurizers.items() if takes(featurizer)]
    own = [name for name in model.absent_featurizers if name not in found]
    if not found and own:
        raise OptionError(
            f"the model of this collection was learned with a featurizer of your own for {own[0]!r}. Give it: "
            f"`featurizers` {own[0]}=..."
        )
    if len(found) != 1:
        raise OptionError(
            f"the model of this collection does not take {what}. Compute features yourself, and add them with `views`"
        )
    return found[0]


def _check_new(store: Collection | EngineStore, ids: Iterable[Any]) -> None:
    known = (value for value in ids if value in store)
    first = next(known, None)
    if first is not None:
        count = sum(1 for _ in chain([first], known))
        raise InputFileError(
            f"{count:,} of the objects {'exists' if count == 1 else 'exist'} already, for example {first!r}. "
            "Nothing was added. Use `replace` to replace them."
        )


def _next_ids(store: Collection | EngineStore, count: int) -> list[int]:
    """The next whole numbers."""
    if store.id_kind == "str":
        raise OptionError("the ids of this collection are strings: give `ids`")
    first = store.next_id
    return list(range(first, first + count))
