"""``extend``: a modality joins a model or a collection, from feature files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import FeatureFile
from ..hashers import hasher_from_model
from ..model import HashModel
from ..model.featurizer_state import add_featurizers
from .feature_files import check_not_empty, naming_bad_rows
from .file_kinds import FileKind, file_kind
from .model_files import describe_model, load_model, open_collection
from .options import SAMPLE, FileName, OptionError, PairFiles, check_count, check_files, check_type
from .outputs import check_model_output
from .pair_files import read_pair_files
from .progress import Progress, Step, report
from .results import ExtendResult
from .view_files import Featurizers, load_featurizers, open_views

__all__ = ["extend"]


def extend(
    model: FileName,
    views: Mapping[str, FileName],
    out: FileName | None = None,
    *,
    modality: str | None = None,
    encodes_as: str | None = None,
    pair_files: PairFiles | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    featurizers: Featurizers | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ExtendResult:
    """Learn a hash function for a new modality into the codes of a model. Nothing that is stored is encoded again.

    Parameters
    ----------
    model : model (.dhm) or collection (.dh)
    views : dict of feature files by modality
        The new modality and at least one that the model knows.
    out : file, optional
        The new model (.dhm). A collection needs none: it then takes over the new model itself, in one
        transaction.
    modality : str, optional
        Name of the new modality. By default the only view that the model does not know.
    encodes_as : str, optional
        A known modality whose stored codes the new codes join, such as "image" for a new encoder of pictures.
    pair_files : PairFiles, optional
        Which rows belong together. By default row r of every view is one object.
    sample : int
        Learn from at most this many objects (or listed pairs), drawn at random; 0 for all.
    seed : int
        Seed of the sample.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
        Views may then be columns of texts, or of names of pictures. That of the new modality is kept with the model.
    overwrite : bool
        Replace an existing model.
    progress : function, optional
        Called with a :class:`Step`. An exception that it raises stops the work; nothing is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> hasher.save(folder / "old.dhm")
    >>> for name, features in {"x": x, "new": x[:, 2:] ** 3}.items():
    ...     np.save(folder / f"{name}.npy", features)
    >>> views = {m: folder / f"{m}.npy" for m in ("x", "new")}
    >>> result = extend(folder / "old.dhm", views, folder / "new.dhm", encodes_as="x")
    >>> result.modality, [each.name for each in result.model.modalities]
    ('new', ['x', 'y', 'new'])
    """
    check_files(views, "views")
    pair_files = PairFiles() if pair_files is None else pair_files
    check_type(pair_files, "pair_files", PairFiles)
    check_count(sample, "sample")
    check_count(seed, "seed")
    in_place = out is None
    if in_place and file_kind(model)[0] is not FileKind.collection:
        raise OptionError(
            "`out` is needed: the new model (.dhm). Only a collection takes over the new model itself"
        )
    if out is not None:
        check_model_output(Path(out), overwrite, [model, *views.values(), *pair_files.names()])
    given = dict(featurizers or {})
    known = load_model(model)
    modality = _new_modality(known, views, modality)
    own = load_featurizers({m: each for m, each in given.items() if m == modality}, list(views))
    known = add_featurizers(known, {m: each for m, each in given.items() if m != modality}, caller="extend")
    files = open_views(views, {**known.featurizers, **own}, progress)
    report(progress, Step("learning"))
    start = time.perf_counter()
    extended, learned_from = _learn(known, files, pair_files, modality, encodes_as, sample, seed)
    seconds = time.perf_counter() - start
    extended = add_featurizers(extended, own, caller="extend")
    if out is not None:
        path = Path(out)
        extended.save(path)
    else:
        path = Path(model)
        with open_collection(model, writable=True) as collection:
            collection.extend(extended)
    return ExtendResult(
        path=path,
        model=describe_model(extended),
        modality=modality,
        encodes_as=encodes_as,
        learned_from=learned_from,
        seconds=seconds,
        size=path.stat().st_size,
        calibrated=extended.calibration is not None,
    )


def _new_modality(model: HashModel, views: Mapping[str, Any], wanted: str | None) -> str:
    """The modality ``wanted``, or the only view that the model does not know."""
    if wanted is not None:
        if wanted not in views:
            raise OptionError(f"`modality`: {wanted!r} is not one of `views`, which are {', '.join(views)}")
        return wanted
    unknown = [name for name in views if name not in model.modalities]
    if len(unknown) != 1:
        described = ", ".join(unknown) or "none"
        raise OptionError(
            "one of `views` must be new to the model, and the others known; the model has "
            f"{', '.join(model.modalities)}, and new are: {described}"
        )
    return unknown[0]


def _learn(
    model: HashModel,
    files: Mapping[str, FeatureFile],
    pair_files: PairFiles,
    modality: str,
    encodes_as: str | None,
    sample: int,
    seed: int,
) -> tuple[HashModel, str]:
    """The extended model, and what it was learned from, for people."""
    arrays = {name: file.array() for name, file in files.items()}
    n_rows = {name: len(array) for name, array in arrays.items()}
    check_not_empty(files, n_rows)
    relation = read_pair_files(pair_files, n_rows)
    learned_from = relation.describe()
    if sample and relation.size() > sample:
        relation, rows = relation.sample(sample, seed)
        arrays = {name: array[rows[name]] for name, array in arrays.items()}
        learned_from = f"a sample of {relation.describe()} out of {learned_from}"
    hasher = hasher_from_model(model)
    with naming_bad_rows(files.values()):
        extended = hasher.extend(arrays, relation.pairs(), modality=modality, encodes_as=encodes_as)
    return extended.model_, learned_from
