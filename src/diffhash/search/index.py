"""HammingIndex: exact search over packed codes with ids."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexFileError, InputError, ParameterError, UnknownIdError
from ..native.search import run_top_k, run_within
from ..types import CodeArray, RangeResult, SearchResult
from ..validation import as_array
from .code_buffer import CodeBuffer
from .id_rows import bitmap_of, find_rows, given_ids
from .index_file import read_index, write_index
from .interchange import Interchange
from .near_duplicates import MAX_PAIRS, Duplicates, duplicates

__all__ = ["HammingIndex"]


class HammingIndex(Interchange):
    """Exact search in Hamming space.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes), optional
        Packed codes of 8 to 4,096 bits. A contiguous array or a memory map is not copied: do not
        change it afterwards. Other layouts are copied. Without codes the index is empty; then give
        ``n_bits``, and codes with :meth:`add`.
    ids : int array of shape (n,), optional
        Unique, in any order; by default the row numbers. Equal distances are ordered by id. A
        search is fastest if the ids increase with the rows.
    n_bits : int, optional
        Number of bits of a code, by default all bits of its bytes. The padding bits of queries are
        ignored; those of codes must be 0.

    Notes
    -----
    Searches may run in several threads at once, also during :meth:`add` and :meth:`remove`. Each
    search sees the index as it was when the search began.

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> index = HammingIndex(codes, ids=[30, 10, 20])
    >>> result = index.search(np.array([[0b0011]], dtype=np.uint8), k=2)
    >>> result.ids, result.distances
    (array([[10, 20]]), array([[1, 1]], dtype=uint16))

    An empty index that grows:

    >>> index = HammingIndex(n_bits=8)
    >>> index.add(codes)
    >>> len(index)
    3
    """

    def __init__(self, codes: CodeArray | None = None, ids: Any = None, *, n_bits: int | None = None) -> None:
        self._buffer = CodeBuffer(codes, ids, n_bits, caller="HammingIndex")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HammingIndex:
        """Open an index that :meth:`save` wrote.

        Codes and ids are memory-mapped: they are read when a search needs them. The index can be
        changed; the file is not. If ``n_bits`` is not a multiple of 8, all codes are read once to
        check their padding bits.

        Raises
        ------
        IndexFileError
            If the file is not an index, is damaged, or was written by a later version. Changed bits
            in the codes are not noticed.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "codes.dhi"
        >>> HammingIndex(np.array([[0], [3]], dtype=np.uint8), ids=[5, 7]).save(path)
        >>> HammingIndex.load(path).ids
        array([5, 7])
        """
        codes, ids, n_bits = read_index(path)
        try:
            return cls(codes, ids, n_bits=n_bits)
        except (InputError, ParameterError) as error:
            raise IndexFileError(
                f"{os.fspath(path)} is not an index saved by diffhash, or it is damaged: {error}"
            ) from error

    def __len__(self) -> int:
        return len(self._buffer.current.codes)

    def __repr__(self) -> str:
        return f"HammingIndex(n={len(self)}, n_bits={self.n_bits})"

    def __reduce__(self) -> tuple[Any, ...]:
        stored = self._buffer.current
        return functools.partial(HammingIndex, n_bits=stored.n_bits), (np.array(stored.codes), stored.ids)

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self._buffer.current.n_bits

    @property
    def codes(self) -> CodeArray:
        """The codes, shape (n, bytes), read-only."""
        view = self._buffer.current.codes.view()
        view.flags.writeable = False
        return view

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids, shape (n,), read-only."""
        stored = self._buffer.current
        view = np.arange(len(stored.codes)) if stored.ids is None else stored.ids.view()
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        """Memory of codes and ids in bytes, with the spare room for new codes."""
        return self._buffer.nbytes

    def get(self, ids: Any) -> CodeArray:
        """Codes by their ids.

        Parameters
        ----------
        ids : int array of shape (m,), or one id
            In any order; an id may occur several times.

        Returns
        -------
        uint8 array of shape (m, bytes)
            In the order of the ids.

        Raises
        ------
        UnknownIdError
            If the index does not have one of the ids.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8), ids=[30, 10, 20])
        >>> index.get([20, 30])
        array([[3],
               [0]], dtype=uint8)
        """
        caller, stored = "HammingIndex.get", self._buffer.current
        wanted = given_ids(ids, caller=caller)
        rows = find_rows(stored, wanted)
        if (rows < 0).any():
            raise UnknownIdError(f"{caller}: the index has no id {wanted[np.argmin(rows)]}.")
        return np.asarray(stored.codes[rows])

    def search(
        self, queries: CodeArray, k: int, *, ids: Any = None, n_threads: int | None = None
    ) -> SearchResult:
        """Find the k nearest codes of every query.

        Parameters
        ----------
        queries : uint8 array of shape (q, bytes), or (bytes,) for one query
        k : int
            At least 1. If the index has fewer than k codes, all of them are returned.
        ids : int array, optional
            Search only among these ids. Unknown ids are ignored.
        n_threads : int, optional
            By default ``DIFFHASH_NUM_THREADS``, or the number of CPUs that this process may use.

        Returns
        -------
        SearchResult
            ``.ids`` and ``.distances``, both always of shape (q, min(k, n)), in order of
            (distance, id). For one query q is 1: its ids are ``result.ids[0]``.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8))
        >>> index.search(np.array([[3]], dtype=np.uint8), k=10, ids=[0, 1]).ids
        array([[1, 0]])
        """
        caller, stored = "HammingIndex.search", self._buffer.current
        batch = np.atleast_2d(as_array(queries, f"{caller}: queries"))
        bitmap = bitmap_of(stored, ids, caller=caller)
        return run_top_k(stored, batch, k, bitmap=bitmap, n_threads=n_threads, caller=caller)

    def within(
        self, queries: CodeArray, radius: int, *, ids: Any = None, n_threads: int | None = None
    ) -> RangeResult:
        """Find all codes at a distance of at most ``radius``.

        The other parameters are those of :meth:`search`.

        Returns
        -------
        RangeResult
            ``.offsets`` of shape (q + 1,), ``.ids`` and ``.distances``: query ``i`` found
            ``ids[offsets[i]:offsets[i + 1]]``, in order of (distance, id).

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8))
        >>> result = index.within(np.array([[3], [0]], dtype=np.uint8), radius=1)
        >>> result.offsets, result.ids
        (array([0, 2, 4]), array([2, 1, 0, 1]))
        """
        caller, stored = "HammingIndex.within", self._buffer.current
        batch = np.atleast_2d(as_array(queries, f"{caller}: queries"))
        bitmap = bitmap_of(stored, ids, caller=caller)
        return run_within(stored, batch, radius, bitmap=bitmap, n_threads=n_threads, caller=caller)

    def duplicates(
        self, radius: int, *, max_pairs: int = MAX_PAIRS, n_threads: int | None = None
    ) -> Duplicates:
        """Find all pairs of codes within a radius, and their clusters: see :func:`duplicates`.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3], [255]], dtype=np.uint8), ids=[5, 6, 7, 8])
        >>> index.duplicates(radius=1).clusters
        [array([5, 6, 7])]
        """
        stored = self._buffer.current
        return duplicates(
            stored.codes,
            radius,
            ids=stored.ids,
            n_bits=stored.n_bits,
            max_pairs=max_pairs,
            n_threads=n_threads,
        )

    def add(self, codes: CodeArray, ids: Any = None) -> None:
        """Append codes.

        Parameters
        ----------
        codes : uint8 array of shape (m, bytes)
        ids : int array of shape (m,), optional
            Ids that the index does not have yet. By default they continue from the largest id.

        Notes
        -----
        The first call copies the codes into the index's own memory, with some spare room. While
        this memory is enlarged, the old and the new one exist at the same time.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1]], dtype=np.uint8))
        >>> index.add(np.array([[3]], dtype=np.uint8))
        >>> len(index), index.ids
        (3, array([0, 1, 2]))
        """
        self._buffer.append(codes, ids, caller="HammingIndex.add")

    def remove(self, ids: Any) -> int:
        """Remove codes by their ids.

        Parameters
        ----------
        ids : int array, or one id
            Unknown ids are ignored, as in :meth:`Collection.delete`.

        Returns
        -------
        int
            How many codes were removed.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8))
        >>> index.remove([1, 99])
        1
        >>> index.ids
        array([0, 2])
        """
        return self._buffer.remove(ids, caller="HammingIndex.remove")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, for :meth:`load`.

        The file is written atomically. An old index of that name is replaced, a file of another kind
        never. It is in the safetensors format, with the codes as ``codes``
        and the ids as ``ids`` (absent if the ids are the row numbers). The usual ending is ``.dhi``.
        """
        write_index(path, self._buffer.current)
