"""``info`` and ``verify``: what a file is, and whether it is in order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from ..errors import DiffhashError, InputFileError, MissingExtraError
from ..files import TABLE_KINDS, Source, load_array, open_features, open_table
from ..files.arrays import npz_names, read_array_header
from ..files.parquet import open_parquet
from ..model import HashModel
from ..search import HammingIndex
from ..search.calibration import upper_rates
from ..stores import Collection
from ..stores.address import is_url
from .feature_files import find_not_finite
from .file_kinds import FileKind, file_kind
from .model_files import describe_model, open_store
from .options import FileName
from .results import FileInfo, ModelInfo, VerifyResult

__all__ = ["info", "verify"]


def info(file: FileName) -> FileInfo:
    """Tell what a file is, from its beginning; or what a collection on a server is, from its address.

    Tables are read as a whole to count their rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "codes.npy"
    >>> np.save(path, np.zeros((7, 3), dtype=np.uint8))
    >>> info(path).kind, info(path).details
    ('codes', {'rows': 7, 'bytes': 3, 'bits': 'at most 24'})
    """
    if is_url(file):
        return _store_info(file)
    kind, source = file_kind(file)
    model: ModelInfo | None = None
    if kind is FileKind.model:
        described, (model, details) = "model", _model_info(source)
    elif kind is FileKind.collection:
        described, (model, details) = "collection", _collection_info(source)
    elif kind is FileKind.saved_index:
        described, details = "index", _index_info(source)
    elif kind is FileKind.faiss:
        described, details = "FAISS index", {}
    else:
        described, details = _data_info(source)
    return FileInfo(str(source), described, source.path.stat().st_size, model, details)


def _model_info(source: Source) -> tuple[ModelInfo, dict[str, Any]]:
    model = HashModel.load(source.path)
    settings = {
        name: _with_text_keys(value)
        for name, value in model.parameters.items()
        if name != "n_bits" and isinstance(value, bool | int | float | str | dict)
    }
    return describe_model(model), {"settings": settings, **_report_of(model)}


def _with_text_keys(value: Any) -> Any:
    """A setting as JSON can hold it: couples of modalities, which are keys of weights, become text."""
    if not isinstance(value, dict):
        return value
    return {" + ".join(key) if isinstance(key, tuple) else key: item for key, item in value.items()}


def _report_of(model: HashModel) -> dict[str, Any]:
    """What the fit chose and how accurate it expects to be, if the model knows."""
    found = _calibration_of(model)
    report = model.report
    if report is None:
        return found
    found |= {"chosen": report.chosen}
    if report.expected is not None and report.chance is not None:
        found["expected"] = f"{report.measure} {report.expected:.3f}, by chance {report.chance:.3f}"
    return found | ({"notes": "; ".join(report.notes)} if report.notes else {})


def _calibration_of(model: HashModel) -> dict[str, Any]:
    """What the calibration knows about each direction of a search, if there is one."""
    if model.calibration is None:
        return {}
    facts = []
    for (query, into), couple in model.calibration.couples.items():
        bounds, _ = upper_rates(couple.counts[0])
        facts.append(
            {
                "from": query,
                "into": into,
                "similar": couple.n_similar,
                "dissimilar": couple.n_dissimilar,
                "smallest promise": float(1000 * bounds[0]),
                "recall by distance": couple.recall_hamming,
                "recall by values": couple.recall_asymmetric,
                "rank": "asymmetric" if couple.prefers_asymmetric else "hamming",
            }
        )
    return {"calibration": facts}


def _collection_info(source: Source) -> tuple[ModelInfo | None, dict[str, Any]]:
    with Collection.open(source.path) as collection:
        stats = asdict(collection.stats())
        model: ModelInfo | None = None
        report: dict[str, Any] = {"model": "none, codes from elsewhere", "bits": collection.n_bits}
        if collection.has_model:
            model, report = describe_model(collection.model), _report_of(collection.model)
    told_elsewhere = {"n_objects", "model", "file_bytes", "n_bits", "modalities", "path"}
    told_elsewhere |= set() if stats["fused_modality"] else {"fused_modality"}
    rest = {name.removeprefix("n_"): v for name, v in stats.items() if name not in told_elsewhere}
    return model, {"objects": stats["n_objects"], **rest, **report}


def _store_info(address: FileName) -> FileInfo:
    with open_store(address) as store:
        stats: Any = store.stats()
        report: dict[str, Any] = {"model": "none, codes from elsewhere", "bits": store.n_bits}
        model: ModelInfo | None = None
        if store.has_model:
            model, report = describe_model(store.model), _report_of(store.model)
    facts = {"objects": stats.n_objects, "codes": stats.n_codes, "id_kind": stats.id_kind}
    if stats.fused_modality:
        facts["fused_modality"] = stats.fused_modality
    return FileInfo(
        stats.address,
        f"collection in {stats.engine}",
        stats.size,
        model,
        {**facts, **stats.details, **report},
    )


def _index_info(source: Source) -> dict[str, Any]:
    index = HammingIndex.load(source.path)
    return {"codes": len(index), "bits": index.n_bits}


def _data_info(source: Source) -> tuple[str, dict[str, Any]]:
    if source.kind in (".npy", ".npz"):
        return _array_info(source)
    if source.kind == ".parquet":
        with open_parquet(source) as file:
            names = file.schema_arrow.names
            return "table", {"rows": file.metadata.num_rows, "columns": ", ".join(names)}
    table = None
    if source.kind in TABLE_KINDS:
        # Lines that are only numbers are not a table, but they can be features.
        with suppress(InputFileError):
            table = open_table(source)
    if table is not None:
        return "table", {"rows": sum(1 for _ in table.rows()), "columns": ", ".join(table.columns)}
    file = open_features(source)
    return "features", {"rows": file.count(), "features": file.n_features}


def _array_info(source: Source) -> tuple[str, dict[str, Any]]:
    names = _array_names(source)
    if len(names) > 1:
        return "arrays", {"arrays": ", ".join(names)}
    shape, _, dtype = read_array_header(source)
    if source.kind == ".npz" and _is_matrix(shape, dtype):
        return "features", {"rows": shape[0], "features": shape[1]}
    if dtype == np.uint8 and len(shape) == 2:
        return "codes", {"rows": shape[0], "bytes": shape[1], "bits": f"at most {8 * shape[1]}"}
    return "array", {"shape": " × ".join(map(str, shape)), "dtype": str(dtype)}


def _array_names(source: Source) -> list[str]:
    """Names of all arrays in an ``.npz`` file, if none is selected."""
    return npz_names(source) if source.kind == ".npz" and source.part is None else []


def _is_matrix(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether an array can be features."""
    return len(shape) == 2 and dtype.kind in "fiub"


def verify(file: FileName) -> VerifyResult:
    """Read a whole file, or a collection on a server, and check it.

    Models and collections are checked against their checksums and their own structure. An index
    (.dhi) has no checksum: only its structure is checked. Feature files are checked for rows that
    are cut off or not finite, other arrays and tables for being complete.

    Raises
    ------
    InputFileError
        If diffhash does not check this kind of file, such as a FAISS index.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.array([[1.0, np.inf]]))
    >>> verify(path).ok
    False
    """
    if is_url(file):
        with open_store(file) as store:
            return VerifyResult(store.address, "collection", store.verify().problems)
    kind, source = file_kind(file)
    if kind is FileKind.faiss:
        raise InputFileError(f"{source} is a FAISS index. diffhash does not check this kind of file.")
    check = {
        FileKind.model: _check_model,
        FileKind.collection: _check_collection,
        FileKind.saved_index: _check_index,
        FileKind.data: _check_data,
    }
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


def _check_index(source: Source) -> list[str]:
    HammingIndex.load(source.path)
    return []


def _check_data(source: Source) -> list[str]:
    if source.kind in TABLE_KINDS and source.part is None:
        return _check_table(source)
    if source.kind in (".npy", ".npz"):
        names = _array_names(source)
        sources = [Source(source.path, name) for name in names] if len(names) > 1 else [source]
        return [problem for one in sources for problem in _check_array(one)]
    problem = find_not_finite(open_features(source))
    return [] if problem is None else [problem]


def _check_array(source: Source) -> list[str]:
    shape, _, dtype = read_array_header(source)
    if not _is_matrix(shape, dtype):
        load_array(source)
        return []
    problem = find_not_finite(open_features(source))
    return [] if problem is None else [problem]


def _check_table(source: Source) -> list[str]:
    if source.kind == ".parquet":
        return _check_parquet(source)
    try:
        rows: Any = open_table(source).rows()
    except DiffhashError:
        rows = open_features(source).blocks()
    for _ in rows:
        pass
    return []


def _check_parquet(source: Source) -> list[str]:
    with source.reading(), open_parquet(source) as file:
        for _ in file.iter_batches():
            pass
    return []
