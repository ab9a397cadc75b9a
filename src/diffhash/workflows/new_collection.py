"""A new collection that appears when it is complete, and rows that are added to it in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import remove_stale_parts, replacing
from ..errors import CollectionBusyError, InputFileError
from ..model import HashModel
from ..paths import check_path
from ..stores import Collection
from ..stores.engine_store import EngineStore
from ..stores.sqlite.lock import LOGS, WriterLock
from ..stores.sqlite.schema import COLLECTION_FILE
from ..types import CodeArray

__all__ = ["Rows", "add_rows", "new_collection", "rows_of"]

_END = object()
#: Rows that are written and synced to the disk at a time.
_BATCH = 50_000


@dataclass(frozen=True)
class Rows:
    """A block of rows for a collection: codes, their ids, and payloads if they have any."""

    codes: CodeArray
    ids: list[Any]
    payloads: list[dict[str, Any] | None] | None = None


@contextmanager
def new_collection(
    path: Path, model: HashModel, fused: str | None = None, words: Sequence[str] = ()
) -> Iterator[Collection]:
    """Give a collection under a temporary name. When the block ends, it is moved to ``path``.

    If the block raises, the old file stays. Temporary files of earlier builds to ``path`` that were
    killed are removed. The lock makes sure that none of them belongs to a running build. ``words`` are the
    payload fields whose words are indexed.
    """
    path = check_path(path, caller="build")
    # The lock also keeps others from writing to the old file while it is replaced.
    try:
        lock = WriterLock(path, 0.0, caller="build")
    except CollectionBusyError as error:
        # The error of the lock names a timeout, which a build does not have.
        raise CollectionBusyError(
            f"build: {path} is being written to by another process or another Collection. "
            "Wait until that one has finished, or choose another name."
        ) from error
    try:
        remove_stale_parts(path)
        with (
            replacing(path, COLLECTION_FILE) as part,
            Collection.create(part, model, fused=fused, words=words or None) as collection,
        ):
            yield collection
        # SQLite would read the log of the old file into the new one.
        for suffix in (*LOGS, "-shm"):
            Path(f"{os.fspath(path)}{suffix}").unlink(missing_ok=True)
        lock.clear_mark()
    finally:
        lock.release()


def rows_of(
    blocks: Iterable[CodeArray],
    ids: Iterable[Any],
    payloads: Iterable[dict[str, Any] | None] | None,
    modality: str,
) -> Iterator[Rows]:
    """Blocks of codes with as many ids and payloads as there are codes."""
    ids = iter(ids)
    rest = None if payloads is None else iter(payloads)
    for codes in blocks:
        values = None if rest is None else list(islice(rest, len(codes)))
        if values is not None and len(values) < len(codes):
            raise InputFileError(f"{modality!r}: there are fewer rows of payload than of features.")
        yield Rows(codes, list(islice(ids, len(codes))), values)
    if rest is not None and next(rest, _END) is not _END:
        raise InputFileError(f"{modality!r}: there are more rows of payload than of features.")


def add_rows(
    collection: Collection | EngineStore, blocks: Iterable[Rows], modality: str, *, replace: bool = False
) -> Iterator[int]:
    """Add rows in large writes, or replace those that exist. After each write this gives the number of rows in it."""
    # Codes of a new encoder join those of the modality that it stands for.
    if collection.has_model:
        modality = collection.model.encodes_as.get(modality, modality)
    waiting: list[Rows] = []
    for block in blocks:
        waiting.append(block)
        if sum(len(rows.codes) for rows in waiting) >= _BATCH:
            yield _write(collection, waiting, modality, replace)
            waiting = []
    if waiting:
        yield _write(collection, waiting, modality, replace)


def _write(collection: Collection | EngineStore, blocks: list[Rows], modality: str, replace: bool) -> int:
    codes = np.concatenate([rows.codes for rows in blocks])
    ids = [value for rows in blocks for value in rows.ids]
    payloads: list[dict[str, Any] | None] | None = None
    if any(rows.payloads is not None for rows in blocks):
        payloads = []
        for rows in blocks:
            payloads += [None] * len(rows.codes) if rows.payloads is None else rows.payloads
    put = collection.upsert_codes if replace else collection.add_codes
    put(codes, modality=modality, ids=ids, payloads=payloads)
    return len(codes)
