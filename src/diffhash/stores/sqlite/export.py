"""Files for other programs: Parquet, NumPy, FAISS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...atomic_write import replacing
from ...errors import InputError, OutputFileError
from ...output_files import OutputKind, starts_with
from ...search import HammingIndex
from ...search.arrow_codes import PARQUET_FILE, import_pyarrow
from ...search.faiss_index import import_faiss
from ...types import CodeArray
from ..arrow_tables import item_schema, item_table
from ..protocol import Item
from .snapshot import Snapshot

__all__ = [
    "FORMATS",
    "codes_and_ids",
    "ids_file",
    "ids_path",
    "output_kind",
    "write_faiss",
    "write_npy",
    "write_parquet",
]

#: Formats of exported files, which are also the usual endings of the files.
FORMATS = ("parquet", "npy", "faiss")
_FAISS = OutputKind("binary index of FAISS", starts_with(b"IB"))


def output_kind(format_: str) -> OutputKind:
    """What an export in this format writes, and may replace."""
    # Imported here: opening and searching a collection does not need the readers of files.
    from ...files import CODES_FILE

    return {"parquet": PARQUET_FILE, "npy": CODES_FILE, "faiss": _FAISS}[format_]


def ids_file() -> OutputKind:
    """The kind of the second file, with the ids."""
    from ...files import IDS_FILE

    return IDS_FILE


def codes_and_ids(snapshot: Snapshot, modality: str) -> tuple[CodeArray, NDArray[Any]]:
    """Codes of a modality in the order in which they were added, and their ids."""
    stored = snapshot.modality_codes[modality]
    positions = stored.positions()
    ids = snapshot.ids_of(stored.keys[positions])
    if snapshot.id_kind == "str" and any(string.endswith("\0") for string in ids):
        raise InputError(
            "Collection.export: NumPy cannot store ids that end in a NUL character. Export to Parquet."
        )
    return stored.codes_at(positions), np.array(ids, dtype=np.str_ if snapshot.id_kind == "str" else np.int64)


def write_npy(path: Path, codes: CodeArray, ids: NDArray[Any]) -> list[Path]:
    """Write codes to one file and ids to another one, which ends in ``.ids.npy``."""
    beside = ids_path(path)
    with replacing(path, output_kind("npy")) as codes_part, replacing(beside, ids_file()) as ids_part:
        _save(codes_part, codes)
        _save(ids_part, ids)
    return [path, beside]


def write_faiss(path: Path, codes: CodeArray, ids: NDArray[Any], n_bits: int) -> list[Path]:
    """Write a binary FAISS index with the ids. If they are strings, they go to a second file."""
    numbers = ids if ids.dtype.kind == "i" else None
    index = HammingIndex(codes, numbers, n_bits=n_bits).to_faiss()
    with replacing(path, output_kind("faiss")) as part:
        _save_faiss(index, part, path)
        if numbers is not None:
            return [path]
        beside = ids_path(path)
        with replacing(beside, ids_file()) as ids_part:
            _save(ids_part, ids)
    return [path, beside]


def _save(part: Path, array: NDArray[Any]) -> None:
    with part.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def _save_faiss(index: Any, part: Path, path: Path) -> None:
    faiss = import_faiss("Collection.export")
    try:
        faiss.write_index_binary(index, str(part))
    except RuntimeError as error:
        # FAISS says the name of the temporary file and a line of its own source, but not the reason.
        raise OutputFileError(
            f"{path} cannot be written by FAISS. Is there room on the disk? ({error})"
        ) from error


def write_parquet(path: Path, blocks: Iterator[list[Item]], string_ids: bool, n_bits: int) -> list[Path]:
    """Write one row for each code: id, modality, code (fixed-size binary) and payload (JSON text)."""
    pa = import_pyarrow("Collection.export")
    import pyarrow.parquet as pq

    schema = item_schema(pa, string_ids=string_ids, n_bits=n_bits)
    with replacing(path, output_kind("parquet")) as part, pq.ParquetWriter(part, schema) as writer:
        for items in blocks:
            writer.write_table(item_table(pa, items, schema))
    return [path]


def ids_path(path: Path) -> Path:
    """The second file, with the ids, beside an exported ``.npy`` or ``.faiss`` file."""
    return path.with_name(f"{path.name.removesuffix('.npy')}.ids.npy")
