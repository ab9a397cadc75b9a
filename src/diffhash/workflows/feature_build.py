"""``build_features``: feature files become a collection."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..files import FeatureFile, encode_file, open_features
from ..model import HashModel
from .feature_files import check_not_empty, naming_bad_rows
from .model_files import describe_model, load_model
from .new_collection import add_rows, new_collection, rows_of
from .options import (
    BUILD_SAMPLE,
    FileName,
    FileNames,
    LearningOptions,
    OptionError,
    PairFiles,
    check_files,
    check_type,
    files_by_modality,
)
from .outputs import check_collection_output
from .pair_files import read_pair_files, read_row_ids
from .payloads import read_payloads
from .progress import Progress, StepCounter
from .results import BuildResult

__all__ = ["build_features"]


def build_features(
    views: Mapping[str, FileName],
    out: FileName,
    *,
    model: FileName | None = None,
    payloads: FileNames | None = None,
    pair_files: PairFiles | None = None,
    learning: LearningOptions | None = None,
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
    out : file
        The new collection (.dh).
    model : model (.dhm) or collection (.dh), optional
        Use this model, and do not learn one.
    payloads : table, or tables by modality, optional
        What to store with each row.
    pair_files : PairFiles, optional
        Which rows belong together, and their ids. By default row r of every view is one object.
    learning : LearningOptions, optional
        By default from at most 20,000 objects. Only without ``model``.
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
    out = Path(out)
    check_files(views, "views")
    if model is not None and learning is not None:
        raise OptionError("with `model` nothing is learned: leave out `learning`")
    pair_files = PairFiles() if pair_files is None else pair_files
    learning = LearningOptions() if learning is None else learning
    check_type(pair_files, "pair_files", PairFiles)
    check_type(learning, "learning", LearningOptions)
    inputs = [*views.values(), *pair_files.names(), *_names(payloads), *([] if model is None else [model])]
    check_collection_output(out, overwrite, inputs)
    if model is None:
        from .learn_model import learn, make_hasher

        hasher = make_hasher(learning)
    files = {name: open_features(os.fspath(source)) for name, source in views.items()}
    n_rows = {name: file.count() for name, file in files.items()}
    id_files = files_by_modality(pair_files.ids, list(files), "ids")
    ids = read_row_ids(id_files, n_rows)
    payload_files = files_by_modality(payloads, list(files), "payloads")
    if model is None:
        check_not_empty(files, n_rows)
        pairs = read_pair_files(pair_files, n_rows)
    aligned = pair_files.pairs is None and pair_files.labels is None and len(set(n_rows.values())) == 1
    one_object = len(files) > 1 and _rows_are_one_object(aligned, id_files, ids, len(files))
    row_ids = _row_ids(n_rows, ids, one_object)
    tables = read_payloads(payload_files, n_rows, one_object=one_object)
    if model is None:
        arrays = {name: file.array() for name, file in files.items()}
        sample = learning.sample_size(BUILD_SAMPLE)
        with naming_bad_rows(files.values()):
            learned = learn(
                hasher,
                arrays,
                pairs,
                sample=sample,
                seed=learning.seed,
                calibrate=learning.calibrate,
                progress=progress,
            )
        del arrays
        learned_from, used = learned.learned_from, learned.model
    else:
        learned_from, used = os.fspath(model), _check_modalities(load_model(model), files)
    with naming_bad_rows(files.values()), new_collection(out, used) as collection:
        for name, file in files.items():
            rows = tables[name].rows() if name in tables else None
            counter = StepCounter(progress, f"adding {name}", n_rows[name])
            blocks = rows_of(encode_file(used, file, name), row_ids[name], rows, name)
            for n in add_rows(collection, blocks, name):
                counter.advance(n)
        n_objects = len(collection)
    return BuildResult(
        path=out,
        objects=n_objects,
        model=describe_model(used),
        learned_from=learned_from,
        left_out=0,
        seconds=time.perf_counter() - start,
        size=out.stat().st_size,
        calibrated=used.calibration is not None,
    )


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


def _rows_are_one_object(
    aligned: bool, id_files: Mapping[str, str], ids: Mapping[str, list[Any]], n_views: int
) -> bool:
    """Whether row r of every view is one object with one id and one payload.

    That is so for aligned rows, unless their ids differ, and if one file has the ids of all views.
    """
    if aligned:
        first, *others = list(ids.values()) or [[]]
        return all(other == first for other in others)
    return len(id_files) == n_views and len(set(id_files.values())) == 1


def _row_ids(
    n_rows: Mapping[str, int], ids: Mapping[str, list[Any]], one_object: bool
) -> dict[str, Iterable[Any]]:
    """Ids of the rows of each view: all whole numbers, or all strings.

    Ids from files are kept. If two views have the same id for different objects, the name of the
    modality is put before it. Without files, ids are row numbers, with the name of the modality
    before them if the views have different objects.
    """
    numbered = len(n_rows) == 1 or one_object
    if one_object and ids:
        # The ids of one view are those of all.
        first = next(iter(ids.values()))
        ids = {name: ids.get(name, first) for name in n_rows}
    as_text = any(isinstance(v, str) for values in ids.values() for v in values[:1])
    as_text = as_text or (not numbered and len(ids) < len(n_rows))
    if not numbered:
        distinct = {str(value) for values in ids.values() for value in values}
        if len(distinct) < sum(map(len, ids.values())):
            ids = {name: [f"{name}-{value}" for value in values] for name, values in ids.items()}
            as_text = True

    def ids_of(name: str) -> Iterator[Any]:
        if name in ids:
            return (str(value) if as_text else value for value in ids[name])
        return (f"{name}-{row}" if as_text and not numbered else row for row in range(n_rows[name]))

    return {name: ids_of(name) for name in n_rows}
