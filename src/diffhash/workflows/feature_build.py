"""``build_features``: feature files become a collection."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..files import FeatureFile, encode_file
from ..model import HashModel
from .build_target import BuildTarget
from .feature_files import check_not_empty, naming_bad_rows
from .fused_files import fused_blocks
from .kept_work import InterruptedBuild
from .model_files import check_calibrated, describe_model, load_model
from .new_collection import add_rows, rows_of
from .object_rows import name_rows
from .options import (
    SAMPLE,
    FileName,
    FileNames,
    LearningOptions,
    OptionError,
    PairFiles,
    check_files,
    check_type,
    files_by_modality,
)
from .pair_files import read_pair_files, relation_by_id
from .payloads import read_payloads
from .progress import Progress, StepCounter
from .results import BuildResult
from .row_relation import RowRelation
from .view_files import Featurizers, load_featurizers, open_views

__all__ = ["build_features"]


def build_features(
    views: Mapping[str, FileName],
    out: FileName,
    *,
    model: FileName | None = None,
    payloads: FileNames | None = None,
    pair_files: PairFiles | None = None,
    learning: LearningOptions | None = None,
    fused: str | None = None,
    words: Sequence[str] = (),
    featurizers: Featurizers | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> BuildResult:
    """Make a collection from feature files.

    A model is learned from the files, unless one is given. Then all rows are encoded in blocks and
    added. The file appears when it is complete: after an error, an interrupt or an exception from
    ``progress``, an old file is unchanged.

    Parameters
    ----------
    views : dict of feature files by modality
    out : file or address
        The new collection (.dh), or the address of one on a server. There it is incomplete after an error or an
        interrupt: build it again with ``overwrite``.
    model : model (.dhm) or collection (.dh), optional
        Use this model, and do not learn one.
    payloads : table, or tables by modality, optional
        What to store with each row.
    pair_files : PairFiles, optional
        Which rows belong together, and their ids. By default row r of every view is one object. If ids relate
        the rows, the second row of an object in a view is stored under its id and "#2".
    learning : LearningOptions, optional
        By default from at most 50,000 objects. Only without ``model``.
    fused : str, optional
        Name of one more modality: a fused code of each object from all that it has. The model is calibrated for
        it, which about doubles the time of learning.
    words : list of str, optional
        Payload fields that are captions: their words are indexed, and can be searched.
    featurizers : dict by modality, optional
        Featurizers of raw objects: objects, or names (:func:`~diffhash.featurizers.load_featurizer`). The file of such
        a modality may be a column of texts, or of names of pictures: ``captions.csv#caption``.
    overwrite : bool
        Replace an existing collection.
    progress : function, optional
        Called with a :class:`Step`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> np.save(folder / "x.npy", x)
    >>> np.save(folder / "y.npy", x[:, :4] + x[:, 4:])
    >>> views = {"x": folder / "x.npy", "y": folder / "y.npy"}
    >>> result = build_features(views, folder / "xy.dh", learning=LearningOptions(method="diff", n_bits=4))
    >>> result.objects, result.learned_from
    (200, '200 aligned rows')
    """
    start = time.perf_counter()
    target = BuildTarget(out, overwrite)
    check_files(views, "views")
    if model is not None and learning is not None:
        raise OptionError("with `model` nothing is learned: leave out `learning`")
    pair_files = PairFiles() if pair_files is None else pair_files
    learning = LearningOptions() if learning is None else learning
    check_type(pair_files, "pair_files", PairFiles)
    check_type(learning, "learning", LearningOptions)
    _check_fused(fused, views)
    if words and payloads is None:
        raise OptionError("`words` are fields of the payload: give `payloads`")
    inputs = [*views.values(), *pair_files.names(), *_names(payloads), *([] if model is None else [model])]
    target.check(inputs)
    if model is None:
        from .learn_model import learn, make_hasher

        hasher = make_hasher(learning)
    given = None if model is None else load_model(model, featurizers)
    own = load_featurizers(featurizers, list(views)) if given is None else given.featurizers
    files = open_views(views, own, progress)
    n_rows = {name: file.count() for name, file in files.items()}
    payload_files = files_by_modality(payloads, list(files), "payloads")
    if model is None:
        check_not_empty(files, n_rows)
        relation = read_pair_files(pair_files, n_rows)
    else:
        relation = _relation_without_learning(pair_files, n_rows)
    rows = name_rows(pair_files, n_rows, relation, fused=fused is not None)
    stored_payloads = read_payloads(payload_files, n_rows, rows)
    if model is None:
        arrays = {name: file.array() for name, file in files.items()}
        sample = learning.sample_size(SAMPLE)
        with naming_bad_rows(files.values()):
            learned = learn(
                hasher,
                arrays,
                relation,
                sample=sample,
                seed=learning.seed,
                calibrate=True if fused is not None else learning.calibrate,
                progress=progress,
            )
        del arrays
        learned_from = learned.learned_from
        used = learned.model.with_featurizers(own, caller="build") if own else learned.model
    else:
        assert given is not None, "the model was loaded"
        learned_from, used = os.fspath(model), _check_modalities(given, files)
        if fused is not None:
            check_calibrated(used, model)
    try:
        with naming_bad_rows(files.values()), target.new(used, fused, words) as collection:
            for name, file in files.items():
                counter = StepCounter(progress, f"adding {name}", n_rows[name])
                blocks = rows_of(
                    encode_file(used, file, name), rows.row_ids(name), stored_payloads(name), name
                )
                for n in add_rows(collection, blocks, name):
                    counter.advance(n)
            if fused is not None:
                ids = rows.row_ids(next(iter(files))) if rows.object_ids is None else rows.object_ids
                counter = StepCounter(progress, f"adding {fused}", len(collection))
                for n in add_rows(
                    collection, rows_of(fused_blocks(used, files, rows.objects), ids, None, fused), fused
                ):
                    counter.advance(n)
            n_objects = len(collection)
    except KeyboardInterrupt:
        raise InterruptedBuild(_keep_model(target, used if model is None else None)) from None
    return BuildResult(
        path=target.shown,
        objects=n_objects,
        model=describe_model(used),
        learned_from=learned_from,
        left_out=0,
        seconds=time.perf_counter() - start,
        size=target.size,
        calibrated=used.calibration is not None,
        notes=tuple(target.notes),
    )


def _check_fused(fused: Any, views: Mapping[str, FileName]) -> None:
    if fused is None:
        return
    if not isinstance(fused, str) or not fused:
        raise OptionError(f"`fused` must be the name of a modality, got {fused!r:.60}")
    if fused in views:
        raise OptionError(
            f"`fused`: {fused!r} is the name of a view. Choose another name for the fused codes"
        )


def _relation_without_learning(pair_files: PairFiles, n_rows: Mapping[str, int]) -> RowRelation:
    """Which rows are one object, if nothing is learned from them."""
    by_id = relation_by_id(pair_files, n_rows)
    if by_id is not None:
        return by_id
    aligned = pair_files.pairs is None and pair_files.labels is None and len(set(n_rows.values())) == 1
    # Labels and pairs relate different objects; the labels themselves are not needed.
    return RowRelation(n_rows, labels=None if aligned else {})


def _keep_model(target: BuildTarget, learned: HashModel | None) -> str:
    """Keep a model that was learned beside the output; gives what to say."""
    unchanged, out = f"interrupted. {target.fate()}", target.beside
    if learned is None:
        return unchanged
    kept = out.with_name(f"{out.name}.resume.dhm")
    learned.save(kept)
    return f"{unchanged}. {kept} keeps the learned model; to continue, use it as `model`"


def _names(files: FileNames | None) -> list[FileName]:
    if files is None:
        return []
    return list(files.values()) if isinstance(files, Mapping) else [files]


def _check_modalities(model: HashModel, files: Mapping[str, FeatureFile]) -> HashModel:
    for name in files:
        if name not in model.modalities:
            known = ", ".join(model.modalities)
            raise OptionError(f"`views`: the model has no modality {name!r}. It has {known}")
    return model
