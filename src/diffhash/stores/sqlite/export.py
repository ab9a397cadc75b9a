"""Copies of a collection for other programs: Parquet, NumPy, FAISS."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingExtraError
from ...search import HammingIndex
from ...types import CodeArray
from ..payload_json import to_json
from ..protocol import Item
from .snapshot import Snapshot

__all__ = ["FORMATS", "write_faiss", "write_npy", "write_parquet"]

FORMATS = ("parquet", "npy", "faiss")


def codes_and_ids(snapshot: Snapshot, modality: str) -> tuple[CodeArray, NDArray[Any]]:
    """Codes of a modality in their order, and the ids beside them."""
    stored = snapshot.modality_codes[modality]
    positions = stored.positions()
    ids = snapshot.ids_of(stored.keys[positions])
    if snapshot.id_kind == "str" and any(name.endswith("\0") for name in ids):
        raise InputError("Collection.export: NumPy cannot keep ids that end in a NUL. Export to Parquet.")
    return stored.codes_at(positions), np.array(ids, dtype=np.str_ if snapshot.id_kind == "str" else np.int64)


def write_npy(path: Path, codes: CodeArray, ids: NDArray[Any]) -> list[Path]:
    """Codes in one file, ids in another of the same name that ends in ``.ids.npy``."""
    beside = _ids_path(path)
    for target, array in ((beside, ids), (path, codes)):
        with _replacing(target) as part, part.open("wb") as file:
            np.save(file, array, allow_pickle=False)
    return [path, beside]


def write_faiss(path: Path, codes: CodeArray, ids: NDArray[Any], n_bits: int) -> list[Path]:
    """A binary FAISS index with the ids; strings go beside it, and the index then has the row numbers."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError(
            "Collection.export: FAISS is needed for this. Install it: pip install faiss-cpu"
        ) from error
    numbers = ids if ids.dtype.kind == "i" else None
    index = HammingIndex(codes, numbers, n_bits=n_bits).to_faiss()
    written = [path]
    if numbers is None:
        beside = _ids_path(path)
        with _replacing(beside) as part, part.open("wb") as file:
            np.save(file, ids, allow_pickle=False)
        written.append(beside)
    with _replacing(path) as part:
        faiss.write_index_binary(index, str(part))
    return written


def write_parquet(path: Path, blocks: Iterator[list[Item]], string_ids: bool, width: int) -> list[Path]:
    """One row for each code: id, modality, code (fixed-size binary) and payload (JSON text)."""
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
    with _replacing(path) as part, pq.ParquetWriter(part, schema) as writer:
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


def _ids_path(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.npy')}.ids.npy")


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file beside the final one, which takes its place when all was written."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
