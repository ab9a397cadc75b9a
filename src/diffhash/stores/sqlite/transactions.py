"""An open collection: its connection, its state in memory, and who may use it when."""

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
from .snapshot import State

__all__ = ["Session"]


class Session:
    """What all parts of a collection stand on: transactions over a file and a state that follows it."""

    def __init__(self, path: Path, lock: WriterLock | None, kernel: Any) -> None:
        self._db = Database(path, writable=lock is not None)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._kernel = kernel
        self._loaded: tuple[int, BaseHasher] | None = None
        self._filters = FilterCache()
        self._count: int | None = None
        #: Set while the state in memory may be behind the file, or half changed: after an interrupt it stays so.
        self._unsure = False
        self._finish = weakref.finalize(self, _finish, self._db, lock, self._process)
        try:
            self._connected()
            with self._db.reading():
                self._seen: int | None = self._db.version()
                self._state = State(self._db)
            if lock is not None:
                lock.mark(self._state.identity)
        except BaseException:
            with contextlib.suppress(CollectionError):
                self._finish()
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
        return self._state.n_bits

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities of the model."""
        return self._state.modalities

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" while there is none."""
        with self._reading() as state:
            return state.id_kind

    @property
    def hasher(self) -> BaseHasher:
        """The fitted model in the file, read when it is first needed."""
        with self._reading() as state:
            if self._loaded is None or self._loaded[0] != state.generation:
                model = self._db.value("SELECT value FROM meta WHERE name = 'model'")
                try:
                    name = f"the model in {self.path}"
                    read = HashModel.from_bytes(bytes(model), name=name, kernel=self._kernel)
                    hasher = hasher_from_model(read, name=name)
                except (ModelFileError, TypeError) as error:
                    raise CollectionFileError(
                        f"Collection: the model in {self.path} is damaged: {error}"
                    ) from error
                self._loaded = state.generation, hasher
            return self._loaded[1]

    def __len__(self) -> int:
        with self._reading() as state:
            if self._count is None:
                self._count = state.count()
            return self._count

    def close(self) -> None:
        """Close the file; a writer first moves everything into it, so that it is all there is to copy.

        Closing twice does no harm.
        """
        with self._lock:
            self._finish()

    def __enter__(self) -> Any:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._finish.alive:
            raise CollectionError(f"Collection: {self.path} was closed. Open it again.")
        if os.getpid() != self._process:
            raise CollectionError(
                f"Collection: {self.path} was opened before this process was forked. Open it again here: "
                "a connection cannot be shared between processes."
            )
        if self._db.check_place():
            self._seen = None
            self._connected()

    def _changed(self) -> None:
        """Forget what was worked out from the state before."""
        self._filters.clear()
        self._count = None

    def _refresh(self) -> State:
        """Take in what others have written, or make the state anew if it is in doubt; within a transaction."""
        version = self._db.version()
        if self._unsure or version != self._seen:
            doubtful, self._unsure = self._unsure, True
            self._changed()
            self._state = self._state.replaced(self._db) if doubtful else self._state.refresh(self._db)
            self._seen = version
            self._unsure = False
        return self._state

    @contextlib.contextmanager
    def _trusting(self) -> Iterator[None]:
        """Trust the state no longer if its use ends in anything but a complaint of ours."""
        try:
            yield
        except DiffhashError:
            raise
        except BaseException:
            self._unsure = True
            raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[State]:
        """One state of the file, in memory and on the disk."""
        with self._lock:
            self._check_open()
            with self._db.reading(), self._trusting():
                yield self._refresh()

    @contextlib.contextmanager
    def _writing(self, caller: str) -> Iterator[tuple[State, list[Callable[[], None]]]]:
        """All of the changes, or none; what is put on the list is done to the state once they are stored."""
        with self._lock:
            self._check_open()
            if not self.writable:
                raise ReadOnlyCollectionError(
                    f"{caller}: {self.path} was opened for reading. Open it with writable=True."
                )
            after: list[Callable[[], None]] = []
            with self._db.writing(), self._trusting():
                yield self._refresh(), after
                self._unsure = True
            self._changed()
            for change in after:
                change()
            self._unsure = False

    def _held(self, *, writing: bool) -> contextlib.AbstractContextManager[object]:
        """A while in which the model does not change: other processes cannot write while this one may."""
        return self._lock if writing else self._reading()

    def _modality(self, modality: Any, state: State, caller: str) -> str:
        return known_modality(modality, state.modalities, caller=caller)


def _finish(db: Database, lock: WriterLock | None, process: int) -> None:
    # A forked child has neither the locks nor the right to close what its parent uses.
    if os.getpid() != process:
        return
    try:
        db.close()
    finally:
        if lock is not None:
            lock.release()
