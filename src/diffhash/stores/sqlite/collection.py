"""Collection: model, codes, ids and payloads in one file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ...atomic_write import write_atomically
from ...errors import (
    CollectionExistsError,
    CollectionFileError,
    CollectionNotFoundError,
    ParameterError,
)
from ...model import HashModel, model_of
from ...paths import check_path
from ...validation import check_number
from ..capabilities import ENGINES, Capabilities
from ..caption_words import check_fields
from ..fused_objects import check_can_fuse
from ..hashed import HashedStore
from ..model_loading import (
    check_description,
    check_featurizers,
    check_n_bits,
    copy_model,
    with_own_featurizers,
)
from .database import Database
from .duplicate_search import DuplicatesMixin
from .lock import LOGS, WriterLock
from .maintenance import MaintenanceMixin
from .schema import COLLECTION_FILE, is_collection_file, new_file
from .searching import SearchMixin
from .sqlite_errors import os_errors_translated
from .writing import WriteMixin

if TYPE_CHECKING:
    from ...hashers import BaseHasher

__all__ = ["Collection"]


class Collection(SearchMixin, DuplicatesMixin, WriteMixin, MaintenanceMixin, HashedStore):
    """A searchable collection in one SQLite file: model, codes, ids and payloads.

    :meth:`create` makes one and :meth:`open` opens it; it is a context manager. When a call that writes
    returns, the changes are on the disk and survive a crash or a power cut. Several processes can read
    while one writes; a search sees everything that was written before it began. Threads may share a
    collection and search it in parallel. Forked processes may not share one: each opens its own.

    Notes
    -----
    Ids are whole numbers or strings. An object can have one code in each modality; its modalities share
    one payload. Search is exact: all codes are in memory, in a native index.

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
        hasher: BaseHasher | HashModel | None = None,
        *,
        n_bits: int | None = None,
        modalities: Sequence[str] | None = None,
        overwrite: bool = False,
        timeout: float = 0.0,
        featurizers: Mapping[str, Any] | None = None,
        fused: str | None = None,
        words: str | Sequence[str] | None = None,
    ) -> Self:
        """Make a new collection and open it for writing.

        Parameters
        ----------
        path : file to make
        hasher : a fitted hasher or a HashModel, optional
            The model is stored in the file. Without it the collection holds codes from elsewhere (PDQ, pHash,
            signs of embeddings): give ``n_bits`` and ``modalities`` instead, and use :meth:`add_codes`,
            :meth:`search_codes`, :meth:`within_codes` and :meth:`duplicates`.
        n_bits : int, optional
            Number of bits of a code, if there is no hasher.
        modalities : list of str, optional
            Names of the kinds of objects, if there is no hasher.
        overwrite : bool
            Replace an existing collection. A file that is not a collection is never replaced.
        timeout : float
            Seconds to wait for another writer to finish.
        featurizers : dict by modality, optional
            Your own featurizers, as objects. They are used in addition to those of the model. The file
            keeps their state, but not their code: give them to :meth:`open` again.
        fused : str, optional
            Name of one more modality, for fused codes: one code per object from all that it has. The model
            must be calibrated, see :meth:`~diffhash.hashers.BaseHasher.calibrate`.
        words : str or list of str, optional
            Payload fields that are captions. Their words are indexed, and :meth:`search_raw` and
            :meth:`search_words` find objects by them. :meth:`index_words` does the same later.
        """
        caller = "Collection.create"
        timeout = check_number(timeout, "timeout", caller=caller)
        target = check_path(path, caller=caller)
        word_fields = () if words is None else check_fields(words, caller=caller)
        own: dict[str, Any] = {}
        model = None
        if hasher is None:
            bits, names = check_description(n_bits, modalities, caller=caller)
            if featurizers is not None or fused is not None:
                raise ParameterError(
                    f"{caller}: featurizers and fused codes need a model. Give a fitted hasher."
                )
        else:
            if n_bits is not None or modalities is not None:
                raise ParameterError(
                    f"{caller}: n_bits and modalities are those of the hasher. Leave them out."
                )
            model = model_of(hasher, caller=caller)
            own = check_featurizers(featurizers, model.modalities, caller=caller)
            model = with_own_featurizers(model, own, caller=caller)
            check_n_bits(model, caller=caller)
            bits, names = model.n_bits, model.modalities
            if fused is not None:
                check_can_fuse(model, fused, caller=caller)
        with os_errors_translated(target, caller):
            if not target.parent.is_dir():
                raise CollectionNotFoundError(f"{caller}: there is no folder {target.parent}. Make it first.")
        copied = None if model is None else copy_model(model)
        content = new_file(b"" if copied is None else copied[0], bits, names, fused, word_fields)
        lock = WriterLock(target, timeout, caller=caller)
        written = replaced = False
        try:
            with os_errors_translated(target, caller):
                replaced = os.path.lexists(target)
                if replaced:
                    _prepare_overwrite(target, overwrite, caller)
                write_atomically(os.path.realpath(target), content, COLLECTION_FILE)
                written = True
            return cls(target, lock, model=copied, featurizers=own)
        except BaseException:
            # The disk may have become full between the two steps: an error leaves no file that was not there.
            if written and not replaced:
                with contextlib.suppress(OSError):
                    target.unlink()
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
        featurizers: Mapping[str, Any] | None = None,
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
            Your own kernel or distance function, if the model was fitted with one.
        featurizers : dict by modality, optional
            Your own featurizers, as for :func:`diffhash.load`: objects, or classes with a ``from_state``
            that makes them from the state in the file. The featurizers of diffhash are read from the file.

        Raises
        ------
        CollectionError
            If there is no such file, if it is not a collection, is damaged, or has a newer format; or if
            another process is writing to it and ``writable`` is True.
        """
        caller = "Collection.open"
        timeout = check_number(timeout, "timeout", caller=caller)
        target = check_path(path, caller=caller)
        _check_is_file(target, caller)
        lock = WriterLock(target, timeout, caller=caller) if writable else None
        try:
            return cls(target, lock, kernel=kernel, featurizers=featurizers)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do, see :class:`~diffhash.stores.Capabilities`."""
        return ENGINES["sqlite"]

    @property
    def address(self) -> str:
        """The path of the file."""
        return os.fspath(self.path)

    def __repr__(self) -> str:
        if not self._finalizer.alive:
            return f"Collection({os.fspath(self.path)!r}, closed)"
        return f"Collection({os.fspath(self.path)!r}, {self.n_bits} bits, {', '.join(self.modalities)})"


def _check_is_file(target: Path, caller: str) -> None:
    what = "does not exist"
    try:
        if target.is_file():
            return
        if target.exists():
            what = "is not a file"
    except OSError as error:
        what = f"cannot be opened ({error.strerror})"
    raise CollectionNotFoundError(f"{caller}: {target} {what}. Collection.create makes a new one.")


def _prepare_overwrite(target: Path, overwrite: bool, caller: str) -> None:
    """Remove the write-ahead log of a collection that is going to be replaced; refuse other files."""
    if not overwrite:
        raise CollectionExistsError(
            f"{caller}: {target} exists already. Open it, choose another name, or say overwrite=True."
        )
    if not target.is_file():
        raise CollectionExistsError(f"{caller}: {target} is not a file that could be replaced.")
    try:
        # Closing moves the log into the file. SQLite would read a log that is left into the new file.
        Database(target, writable=True).close()
    except CollectionFileError as error:
        if target.stat().st_size and not is_collection_file(target):
            raise CollectionExistsError(
                f"{caller}: {target} is not a collection, so it is not replaced. Remove it yourself."
            ) from error
    for suffix in (*LOGS, "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{os.path.realpath(target)}{suffix}").unlink()
