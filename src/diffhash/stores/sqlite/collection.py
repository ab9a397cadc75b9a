"""Collection: model, codes, ids and payloads in one file, searchable at the speed of memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from ...atomic_write import write_atomically
from ...errors import (
    CollectionExistsError,
    CollectionFileError,
    CollectionNotFoundError,
    CollectionWriteError,
    InputError,
)
from ...hashers.base import BaseHasher
from ...model import model_of
from ..hashed import Encoded
from .database import Database
from .lock import WriterLock
from .maintenance import Maintenance
from .rewrite import check_bits
from .schema import is_collection_file, new_file
from .writing import Writing

__all__ = ["Collection"]


class Collection(Maintenance, Writing, Encoded):
    """A searchable collection in one SQLite file: model, codes, ids and payloads.

    Made by :meth:`create`, opened by :meth:`open`; a context manager. When a call that writes returns,
    what it wrote is on the disk and survives a crash and a power cut. Several processes can read while one
    writes; a search sees what was written before it began. Threads may share a collection, forked processes
    may not: each opens its own.

    Notes
    -----
    Objects have ids, whole numbers or strings. An object can have a code in each modality; they share its
    payload. Search is exact: a native index over all codes is kept in memory.

    Examples
    --------
    >>> import diffhash as dh, pathlib, tempfile
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "objects.dh"
    >>> with dh.Collection.create(path, hasher) as collection:
    ...     ids = collection.add(data.test.views["x"], modality="x", payloads=[{"row": i} for i in range(10)])
    ...     collection.delete([3])
    1
    >>> with dh.Collection.open(path) as collection:
    ...     hits = collection.search(data.test.views["y"], modality="y", into="x", k=3, where={"row": {"lt": 5}})
    ...     len(collection), len(hits), len(hits[0]), all(hit.payload["row"] < 5 for hit in hits[0])
    (9, 10, 3, True)
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        hasher: BaseHasher,
        *,
        overwrite: bool = False,
        timeout: float = 0.0,
    ) -> Self:
        """Make a new collection and open it for writing.

        Parameters
        ----------
        path : file to make
        hasher : a fitted hasher
            Kept inside the file.
        overwrite : bool
            Replace a collection that is there. A file that is no collection is never replaced.
        timeout : float
            Seconds to wait for another writer to finish.
        """
        caller = "Collection.create"
        target = _path(path, caller)
        model = model_of(hasher, caller=caller).to_bytes()
        check_bits(hasher, caller=caller)
        if not target.parent.is_dir():
            raise CollectionNotFoundError(f"{caller}: there is no folder {target.parent}. Make it first.")
        lock = WriterLock(target, timeout, caller=caller)
        try:
            if os.path.lexists(target):
                _make_way(target, overwrite, caller)
            try:
                write_atomically(os.path.realpath(target), new_file(model, hasher.n_bits, hasher.modalities_))
            except OSError as error:
                raise CollectionWriteError(
                    f"{caller}: {target} cannot be written: {error.strerror}."
                ) from error
            return cls(target, lock, None)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        writable: bool = False,
        timeout: float = 0.0,
        kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : file
        writable : bool
            Only one process at a time can write; others can read meanwhile.
        timeout : float
            Seconds to wait for another writer to finish.
        kernel : function, or dict of functions by modality, optional
            As for :func:`diffhash.load`: the kernel of a model that was fitted with one of your own.

        Raises
        ------
        CollectionError
            If there is no such file, if it is no collection, is damaged, or of a newer format; or if
            somebody else is writing to it.
        """
        caller = "Collection.open"
        target = _path(path, caller)
        if not target.is_file():
            what = "is no file" if target.exists() else "does not exist"
            raise CollectionNotFoundError(f"{caller}: {target} {what}. Collection.create makes a new one.")
        if not writable:
            return cls(target, None, kernel)
        lock = WriterLock(target, timeout, caller=caller)
        try:
            return cls(target, lock, kernel)
        except BaseException:
            lock.release()
            raise

    def __repr__(self) -> str:
        if not self._finish.alive:
            return f"Collection({os.fspath(self.path)!r}, closed)"
        return f"Collection({os.fspath(self.path)!r}, {self.n_bits} bits, {', '.join(self.modalities)})"


def _path(path: Any, caller: str) -> Path:
    try:
        target = Path(path)
        os.fsencode(target).index(b"\0")
    except TypeError:
        raise InputError(f"{caller}: path must be a path, got {type(path).__name__}.") from None
    except ValueError:
        return target
    raise InputError(f"{caller}: a path cannot have a NUL in it, got {os.fspath(target)!r}.")


def _make_way(target: Path, overwrite: bool, caller: str) -> None:
    """Get ready to replace a collection; nothing else is ever replaced."""
    if not overwrite:
        raise CollectionExistsError(
            f"{caller}: {target} is there already. Open it, choose another name, or say overwrite=True."
        )
    if not target.is_file():
        raise CollectionExistsError(f"{caller}: {target} is no file that could be replaced.")
    try:
        # Its log goes into the file and away: a log that is left would be read into the new one.
        Database(target, writable=True).close()
    except CollectionFileError as error:
        if target.stat().st_size and not is_collection_file(target):
            raise CollectionExistsError(
                f"{caller}: {target} is no collection, so it is not replaced. Remove it yourself."
            ) from error
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{os.path.realpath(target)}{suffix}").unlink()
