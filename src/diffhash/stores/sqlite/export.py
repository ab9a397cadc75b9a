"""Files for other programs: Parquet, NumPy, FAISS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...atomic_write import replacing
from ...errors import InputError, MissingExtraError
from ...search import HammingIndex
from ...search.faiss_index import import_faiss
from ...types import CodeArray
from ..payload_json import to_json
from ..protocol import Item
from .snapshot import Snapshot

__all__ = ["FORMATS", "codes_and_ids", "ids_path", "write_faiss", "write_npy", "write_parquet"]

#: Formats of exported files, which are also the usual endings of the files.
FORMATS = ("parquet", "npy", "faiss")


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
    for target, array in ((beside, ids), (path, codes)):
        with replacing(target) as part, part.open("wb") as file:
            np.save(file, array, allow_pickle=False)
    return [path, beside]


def write_faiss(path: Path, codes: CodeArray, ids: NDArray[Any], n_bits: int) -> list[Path]:
    """Write a binary FAISS index with the ids. If they are strings, they go to a second file."""
    faiss = import_faiss("Collection.export")
    numbers = ids if ids.dtype.kind == "i" else None
    index = HammingIndex(codes, numbers, n_bits=n_bits).to_faiss()
    written = [path]
    if numbers is None:
        beside = ids_path(path)
        with replacing(beside) as part, part.open("wb") as file:
            np.save(file, ids, allow_pickle=False)
        written.append(beside)
    with replacing(path) as part:
        faiss.write_index_binary(index, str(part))
    return written


def write_parquet(path: Path, blocks: Iterator[list[Item]], string_ids: bool, width: int) -> list[Path]:
    """Write one row for each code: id, modality, code (fixed-size binary) and payload (JSON text)."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError(
            "Collection.export: pyarrow is needed for this. Install it: pip install 'diffhash[parquet]'"
        ) from error
    schema = pa.schema(
        [
            ("id", pa.string() if string_ids else pa.int64()),
            ("modality", pa.string()),
            ("code", pa.binary(width)),
            ("payload", pa.string()),
        ]
    )
    with replacing(path) as part, pq.ParquetWriter(part, schema) as writer:
        for items in blocks:
            rows = [
                {
                    "id": item.id,
                    "modality": modality,
                    "code": code.tobytes(),
                    "payload": to_json(item.payload),
                }
                for item in items
                for modality, code in item.codes.items()
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return [path]


def ids_path(path: Path) -> Path:
    """The second file, with the ids, beside an exported ``.npy`` or ``.faiss`` file."""
    return path.with_name(f"{path.name.removesuffix('.npy')}.ids.npy")
