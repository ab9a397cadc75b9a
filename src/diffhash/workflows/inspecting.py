"""``info`` and ``verify``: what a file is, and whether it is in order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from ..errors import DiffhashError, InputFileError, MissingExtraError
from ..files import Source, open_features, open_table
from ..files.arrays import read_header
from ..files.tables import TABLE_KINDS
from ..model import HashModel
from ..stores import Collection
from .models import FileKind, describe_model, file_kind
from .options import FileName
from .results import FileInfo, ModelInfo, VerifyResult

__all__ = ["info", "verify"]


def info(file: FileName) -> FileInfo:
    """Tell what a file is, from its beginning. Tables are read as a whole to count their rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "codes.npy"
    >>> np.save(path, np.zeros((7, 3), dtype=np.uint8))
    >>> info(path).kind, info(path).details
    ('codes', {'rows': 7, 'bytes': 3, 'bits': 'at most 24'})
    """
    kind, source = file_kind(file)
    model: ModelInfo | None = None
    if kind is FileKind.model:
        described, (model, details) = "model", _model_info(source)
    elif kind is FileKind.collection:
        described, (model, details) = "collection", _collection_info(source)
    else:
        described, details = _data_info(source)
    return FileInfo(str(source), described, source.path.stat().st_size, model, details)


def _model_info(source: Source) -> tuple[ModelInfo, dict[str, Any]]:
    model = HashModel.load(source.path)
    settings = {
        name: value
        for name, value in model.parameters.items()
        if name != "n_bits" and isinstance(value, bool | int | float | str)
    }
    return describe_model(model), {"settings": settings}


def _collection_info(source: Source) -> tuple[ModelInfo, dict[str, Any]]:
    with Collection.open(source.path) as collection:
        stats = asdict(collection.stats())
        model = describe_model(collection.model)
    told_elsewhere = {"n_objects", "model", "file_bytes", "n_bits", "modalities", "path"}
    rest = {name.removeprefix("n_"): v for name, v in stats.items() if name not in told_elsewhere}
    return model, {"objects": stats["n_objects"], **rest}


def _data_info(source: Source) -> tuple[str, dict[str, Any]]:
    if source.kind == ".npy":
        with source.path.open("rb") as opened:
            shape, _, dtype = read_header(opened, source)
        if dtype == np.uint8 and len(shape) == 2:
            return "codes", {"rows": shape[0], "bytes": shape[1], "bits": f"at most {8 * shape[1]}"}
        return "array", {"shape": " × ".join(map(str, shape)), "dtype": str(dtype)}
    table = None
    if source.kind in TABLE_KINDS:
        # Lines that are only numbers are not a table, but they can be features.
        with suppress(InputFileError):
            table = open_table(source)
    if table is not None:
        return "table", {"rows": sum(1 for _ in table.rows()), "columns": ", ".join(table.columns)}
    file = open_features(source)
    return "features", {"rows": file.count(), "features": file.n_features}


def verify(file: FileName) -> VerifyResult:
    """Read a whole file and check it.

    Models and collections are checked against their checksums and their own structure. Feature
    files are checked for rows that are cut off or not finite.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.array([[1.0, np.inf]]))
    >>> verify(path).ok
    False
    """
    kind, source = file_kind(file)
    check = {FileKind.model: _check_model, FileKind.collection: _check_collection, FileKind.data: _check_data}
    try:
        problems = check[kind](source)
    except MissingExtraError:
        raise
    except DiffhashError as error:
        problems = [str(error)]
    return VerifyResult(str(source), kind.value, tuple(problems))


def _check_model(source: Source) -> list[str]:
    HashModel.load(source.path)
    return []


def _check_collection(source: Source) -> list[str]:
    with Collection.open(source.path) as collection:
        return list(collection.verify().problems)


def _check_data(source: Source) -> list[str]:
    if source.kind in TABLE_KINDS and source.part is None:
        return _check_table(source)
    start = 0
    for block in open_features(source).blocks():
        bad = ~np.isfinite(block)
        if bad.any():
            row = start + int(np.flatnonzero(bad.any(axis=1))[0])
            return [f"{source}: row {row} has a value that is not finite."]
        start += len(block)
    return []


def _check_table(source: Source) -> list[str]:
    try:
        rows: Any = open_table(source).rows()
    except DiffhashError:
        rows = open_features(source).blocks()
    for _ in rows:
        pass
    return []
