"""An open collection: its connection, its snapshot in memory, and who may use it when."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...errors import (
    CollectionError,
    CollectionFileError,
    DiffhashError,
    ModelFileError,
    ReadOnlyCollectionError,
)
from ...hashers import hasher_from_model
from ...hashers.base import BaseHasher
from ...model import HashModel
from ...validation import known_modality
from .database import Database
from .filter_cache import FilterCache
from .filter_sql import add_functions
from .lock import WriterLock
from .snapshot import Snapshot

__all__ = ["Transactions"]


class Transactions:
    """What all parts of a collection stand on: transactions over a file and a snapshot that follows it."""

    def __init__(self, path: Path, lock: WriterLock | None, kernel: Any) -> None:
        self._db = Database(path, writable=lock is not None)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._kernel = kernel
        self._model: tuple[int, BaseHasher] | None = None
        self._filters = FilterCache()
        self._count: int | None = None
        #: Set while the snapshot in memory may be behind the file, or half changed: after an interrupt it stays so.
        self._snapshot_stale = False
        self._finalizer = weakref.finalize(self, _close_file, self._db, lock, self._process)
        try:
            self._connected()
            with self._db.reading():
                self._data_version: int | None = self._db.version()
                self._snapshot = Snapshot(self._db)
            if lock is not None:
                lock.mark(self._snapshot.identity)
        except BaseException:
            with contextlib.suppress(CollectionError):
                self._finalizer()
            raise

    def _connected(self) -> None:
        add_functions(self._db)

    @property
    def path(self) -> Path:
        """The file."""
        return self._db.path

    @property
    def writable(self) -> bool:
        """Whether the collection was opened for writing."""
        return self._db.writable

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        return self._snapshot.n_bits

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities of the model."""
        return self._snapshot.modalities

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" while there is none."""
        with self._reading() as snapshot:
            return snapshot.id_kind

    @property
    def hasher(self) -> BaseHasher:
        """The fitted model in the file, read when it is first needed."""
        with self._reading() as snapshot:
            if self._model is None or self._model[0] != snapshot.generation:
                model = self._db.value("SELECT value FROM meta WHERE name = 'model'")
                try:
                    name = f"the model in {self.path}"
                    read = HashModel.from_bytes(bytes(model), name=name, kernel=self._kernel)
                    hasher = hasher_from_model(read, name=name)
                except (ModelFileError, TypeError) as error:
                    raise CollectionFileError(
                        f"Collection: the model in {self.path} is damaged: {error}"
                    ) from error
                self._model = snapshot.generation, hasher
            return self._model[1]

    def __len__(self) -> int:
        with self._reading() as snapshot:
            if self._count is None:
                self._count = snapshot.count()
            return self._count

    def close(self) -> None:
        """Close the file; a writer first moves everything into it, so that it is all there is to copy.

        Closing twice does no harm.
        """
        with self._lock:
            self._finalizer()

    def __enter__(self) -> Any:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise CollectionError(f"Collection: {self.path} was closed. Open it again.")
        if os.getpid() != self._process:
            raise CollectionError(
                f"Collection: {self.path} was opened before this process was forked. Open it again here: "
                "a connection cannot be shared between processes."
            )
        if self._db.check_not_replaced():
            self._data_version = None
            self._connected()

    def _clear_caches(self) -> None:
        """Forget what was worked out from the snapshot before."""
        self._filters.clear()
        self._count = None

    def _refresh(self) -> Snapshot:
        """Take in what others have written, or make the snapshot anew if it is in doubt; within a transaction."""
        version = self._db.version()
        if self._snapshot_stale or version != self._data_version:
            doubtful, self._snapshot_stale = self._snapshot_stale, True
            self._clear_caches()
            self._snapshot = (
                self._snapshot.replaced(self._db) if doubtful else self._snapshot.refresh(self._db)
            )
            self._data_version = version
            self._snapshot_stale = False
        return self._snapshot

    @contextlib.contextmanager
    def _stale_after_errors(self) -> Iterator[None]:
        """Trust the snapshot no longer if its use ends in anything but a complaint of ours."""
        try:
            yield
        except DiffhashError:
            raise
        except BaseException:
            self._snapshot_stale = True
            raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Snapshot]:
        """One snapshot of the file, in memory and on the disk."""
        with self._lock:
            self._check_open()
            with self._db.reading(), self._stale_after_errors():
                yield self._refresh()

    @contextlib.contextmanager
    def _writing(self, caller: str) -> Iterator[tuple[Snapshot, list[Callable[[], None]]]]:
        """All of the changes, or none; what is put on the list is done to the snapshot once they are stored."""
        with self._lock:
            self._check_open()
            if not self.writable:
                raise ReadOnlyCollectionError(
                    f"{caller}: {self.path} was opened for reading. Open it with writable=True."
                )
            after: list[Callable[[], None]] = []
            with self._db.writing(), self._stale_after_errors():
                yield self._refresh(), after
                self._snapshot_stale = True
            self._clear_caches()
            for change in after:
                change()
            self._snapshot_stale = False

    def _held(self, *, writing: bool) -> contextlib.AbstractContextManager[object]:
        """A while in which the model does not change: other processes cannot write while this one may."""
        return self._lock if writing else self._reading()

    def _known_modality(self, modality: Any, snapshot: Snapshot, caller: str) -> str:
        return known_modality(modality, snapshot.modalities, caller=caller)


def _close_file(db: Database, lock: WriterLock | None, process: int) -> None:
    # A forked child has neither the locks nor the right to close what its parent uses.
    if os.getpid() != process:
        return
    try:
        db.close()
    finally:
        if lock is not None:
            lock.release()
