"""A new collection that appears whole, and rows poured into it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputFileError
from ..hashers.base import BaseHasher
from ..stores import Collection
from ..stores.sqlite.lock import WriterLock
from ..types import CodeArray
from .outputs import check_collection

__all__ = ["check_free", "fill", "new_collection"]

#: Rows that are written and synced to the disk at a time.
_BATCH = 50_000
_BESIDE = ("-wal", "-shm", "-journal")


def check_free(path: Path, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Before any work: the folder is there, and the file is not, unless it may be replaced."""
    check_collection(path, overwrite, inputs)


@contextmanager
def new_collection(path: Path, hasher: BaseHasher) -> Iterator[Collection]:
    """A collection beside its final place, moved there when it is complete."""
    # Nobody may be writing to what is replaced, and nobody may begin to before its log is gone.
    lock = WriterLock(path, 0.0, caller="diffhash build")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with Collection.create(part, hasher) as collection:
            yield collection
        part.replace(path)
        # What a collection of the same name left behind does not belong to this one.
        _remove(path, _BESIDE)
        lock.forget()
    finally:
        _remove(part, ("", *_BESIDE, "-lock"))
        lock.release()


def _remove(path: Path, endings: Iterable[str]) -> None:
    for ending in endings:
        Path(f"{os.fspath(path)}{ending}").unlink(missing_ok=True)


def fill(
    collection: Collection,
    blocks: Iterable[CodeArray],
    modality: str,
    ids: Iterable[Any],
    payloads: Iterable[dict[str, Any]] | None,
) -> Iterator[int]:
    """Add codes with their ids and payloads; gives the number of rows after each write."""
    ids = iter(ids)
    rows = None if payloads is None else iter(payloads)
    for codes in _joined(blocks):
        chosen = list(islice(ids, len(codes)))
        values = None if rows is None else list(islice(rows, len(codes)))
        if values is not None and len(values) < len(codes):
            raise InputFileError(f"{modality!r}: there are fewer rows of payload than of features.")
        collection.add_codes(codes, modality=modality, ids=chosen, payloads=values)
        yield len(codes)
    if rows is not None and next(rows, None) is not None:
        raise InputFileError(f"{modality!r}: there are more rows of payload than of features.")


def _joined(blocks: Iterable[CodeArray]) -> Iterator[CodeArray]:
    """Blocks put together to about one write each."""
    waiting: list[CodeArray] = []
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) >= _BATCH:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
