"""The store that is served: it is opened again if it was replaced, while requests wait instead of failing."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from ..errors import CollectionError, CollectionFileError, CollectionNotFoundError, DiffhashError

__all__ = ["ServedStore"]

T = TypeVar("T")
#: Seconds that a request waits for a file that is being replaced, and between two attempts.
_PATIENCE, _PAUSE = 5.0, 0.05
#: A file that seems to be damaged, but is still the same one, is opened again only so often, in seconds; and a store on
#: a server, of which only an error tells that it was made again.
_SAME_FILE_PAUSE, _SERVER_PAUSE = 10.0, 1.0


class ServedStore:
    """A store, and how it is opened again.

    Parameters
    ----------
    open_store : function that opens the store
    """

    def __init__(self, open_store: Callable[[], Any]) -> None:
        self._open = open_store
        self._lock = threading.Lock()
        self._closed = False
        self._store = open_store()
        self._file = _identity(self._store)
        self._opened_at = time.monotonic()
        #: Counts how often the store was opened: what was computed from an older one may be wrong.
        self.generation = 0

    @property
    def current(self) -> Any:
        """The store that is open now."""
        return self._store

    def call(self, function: Callable[[Any], T]) -> T:
        """Call a function with the store; again with a new one if its file was replaced meanwhile.

        The function may be called several times. Functions of a store that raise have changed nothing, so this is
        also safe for functions that write.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            store = self._store
            try:
                return function(store)
            except CollectionError as error:
                if time.monotonic() > end or not self._open_again(store, error):
                    raise

    def _open_again(self, old: Any, error: CollectionError) -> bool:
        """Open the store again if that may help. Returns whether to try again."""
        with self._lock:
            if self._store is not old:
                return True  # another thread has opened it
            if not self._closed:
                if not isinstance(error, CollectionFileError | CollectionNotFoundError):
                    return False
                age = time.monotonic() - self._opened_at
                if self._file is None:
                    if age < _SERVER_PAUSE:
                        time.sleep(_PAUSE)
                        return True
                elif _identity(old) == self._file and age < _SAME_FILE_PAUSE:
                    return False
                # Before the new one is opened: the lock of a writer belongs to the name of the file.
                with suppress(CollectionError):
                    old.close()
                self._closed = True
            try:
                self._store = self._open()
            except (DiffhashError, OSError):
                # It may be there in a moment.
                time.sleep(_PAUSE)
                return True
            self._closed, self._file = False, _identity(self._store)
            self._opened_at = time.monotonic()
            self.generation += 1
            return True

    def close(self) -> None:
        """Close the store. Searches that have begun are finished first."""
        with self._lock:
            self._store.close()


def _identity(store: Any) -> tuple[int, int] | None:
    """Device and inode of the file of a store; None if it has no file, or if the file is not there."""
    path = getattr(store, "path", None)
    if path is None:
        return None
    try:
        found = os.stat(path)  # noqa: PTH116 - any path
    except OSError:
        return None
    return found.st_dev, found.st_ino
