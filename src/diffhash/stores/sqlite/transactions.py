"""Read and write transactions on a collection's file, and the snapshot in memory that follows the file."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from ...errors import CollectionError, DiffhashError, ReadOnlyCollectionError
from ...validation import known_modality
from .database import Database
from .filter_cache import FilterCache
from .filter_sql import add_functions
from .lock import WriterLock, check_wal
from .seal import seal
from .snapshot import Snapshot

__all__ = ["Transactions"]


class Transactions:
    """An open file with its snapshot in memory; base class of the parts of a collection.

    Threads share one connection, so every transaction holds ``_lock``. ``_version`` changes with
    the content: two transactions that see the same version see the same content.
    """

    def __init__(self, path: Path, lock: WriterLock | None) -> None:
        if lock is not None:
            check_wal(path)
            lock.mark_file()
        self._db = Database(path, writable=lock is not None)
        self._writer_lock = lock
        self._lock = threading.RLock()
        #: Threads whose searches are not finished, and the condition that tells ``close`` when one is.
        self._searching: list[int] = []
        self._search_finished = threading.Condition(self._lock)
        self._closing = False
        self._process = os.getpid()
        self._filters = FilterCache()
        self._count: int | None = None
        self._version = 0
        #: The snapshot may lack changes that are in the file, or have only some of them. It is made again
        #: before it is next used. An interrupted call leaves this set.
        self._snapshot_stale = False
        self._finalizer = weakref.finalize(self, _close_file, self._db, lock, self._process)
        try:
            add_functions(self._db)
            with self._db.reading():
                self._data_version: int | None = self._db.version()
                self._snapshot = Snapshot(self._db)
            self._mark(self._snapshot.identity)
        except BaseException:
            with contextlib.suppress(CollectionError):
                self._finalizer()
            raise

    def _mark(self, *identities: str) -> None:
        """Note beside the file to which collection the log belongs, if this is the writer."""
        if self._writer_lock is not None:
            self._writer_lock.mark(*identities)

    @property
    def path(self) -> Path:
        """The file."""
        return self._db.path

    @property
    def writable(self) -> bool:
        """Whether the collection was opened for writing."""
        return self._db.writable

    def close(self) -> None:
        """Close the file. A writer first moves all changes from SQLite's log into it: then it is the only file.

        Searches that other threads have begun are finished first. Closing again does nothing.
        """
        with self._lock:
            self._closing = True
            try:
                self._search_finished.wait_for(self._no_other_thread_searches)
                self._finalizer()
            finally:
                self._closing = False

    def _no_other_thread_searches(self) -> bool:
        # Threads do not survive a fork. This thread may be in a search if a signal handler closes the collection.
        return os.getpid() != self._process or not set(self._searching) - {threading.get_ident()}

    @contextlib.contextmanager
    def _close_waits(self) -> Iterator[None]:
        """Context manager: ``close`` in another thread waits until it is left. New searches do not delay ``close``."""
        thread = threading.get_ident()
        with self._lock:
            if self._closing:
                raise self._closed_error()
            self._searching.append(thread)
        try:
            yield
        finally:
            with self._lock:
                self._searching.remove(thread)
                self._search_finished.notify_all()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Snapshot]:
        """Read transaction: the snapshot and the file have the same content inside it."""
        with self._lock:
            self._check_open()
            with self._db.reading(), self._stale_after_errors():
                yield self._refresh()

    def _unchanged_snapshot(self) -> Snapshot | None:
        """The snapshot, if it is up to date with the file; checked without a transaction, which takes longer.

        Called with the lock held.
        """
        self._check_open()
        with self._db.errors():
            changed = self._db.version() != self._data_version
        return None if changed or self._snapshot_stale else self._snapshot

    @contextlib.contextmanager
    def _writing(self, caller: str) -> Iterator[tuple[Snapshot, list[Callable[[], None]]]]:
        """Write transaction: all changes are stored, or none.

        The functions that are put on the list are called after the commit; they apply the changes
        to the snapshot.
        """
        with self._lock:
            self._check_open()
            if not self.writable:
                raise ReadOnlyCollectionError(
                    f"{caller}: {self.path} was opened for reading. Open it with writable=True."
                )
            after_commit: list[Callable[[], None]] = []
            with self._db.writing(), self._stale_after_errors():
                yield self._refresh(), after_commit
                if self._db.format >= 2:
                    seal(self._db)
                self._snapshot_stale = True
            self._content_changed()
            for change in after_commit:
                change()
            self._snapshot_stale = False

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise self._closed_error()
        if os.getpid() != self._process:
            raise CollectionError(
                f"Collection: {self.path} was opened before this process was forked. Open it again here: "
                "a connection cannot be shared between processes."
            )
        if self._db.check_not_replaced():
            self._data_version = None
            add_functions(self._db)

    def _closed_error(self) -> CollectionError:
        return CollectionError(f"Collection: {self.path} was closed. Open it again.")

    def _reload(self) -> None:
        """Read the snapshot again after the streams were rewritten."""
        with self._db.reading():
            self._snapshot = self._snapshot.refresh(self._db)

    def _refresh(self) -> Snapshot:
        """Bring the snapshot up to date with the file; called within a transaction."""
        data_version = self._db.version()
        if self._snapshot_stale or data_version != self._data_version:
            was_stale, self._snapshot_stale = self._snapshot_stale, True
            self._content_changed()
            read = self._snapshot.reread if was_stale else self._snapshot.refresh
            self._snapshot = read(self._db)
            self._data_version = data_version
            self._snapshot_stale = False
        return self._snapshot

    def _content_changed(self) -> None:
        """Count a new version and clear what was computed from the old one."""
        self._version += 1
        self._filters.clear()
        self._count = None

    @contextlib.contextmanager
    def _stale_after_errors(self) -> Iterator[None]:
        """Mark the snapshot as stale after any exception that is not a DiffhashError."""
        try:
            yield
        except DiffhashError:
            raise
        except BaseException:
            self._snapshot_stale = True
            raise

    def _known_modality(self, modality: Any, snapshot: Snapshot, caller: str) -> str:
        return known_modality(modality, snapshot.modalities, caller=caller)


def _close_file(db: Database, lock: WriterLock | None, process: int) -> None:
    # A forked child does not hold the locks, and must not close the files that its parent uses.
    if os.getpid() != process:
        return
    try:
        db.close()
    finally:
        if lock is not None:
            lock.release()
