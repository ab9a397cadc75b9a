"""HammingIndex: exact search over packed codes with ids."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import check_padding
from ..errors import CodeError, InputError
from ..native import checks
from ..native.search import IndexedCodes, RangeResult, SearchResult, increasing, run_top_k, run_within
from ..types import CodeArray
from .id_rows import bitmap_of, check_unique, grown, largest_id, new_ids, rows_of

__all__ = ["HammingIndex"]


class HammingIndex:
    """Exact search in Hamming space.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes)
        Packed codes of 8 to 4,096 bits. A contiguous array or a memory map is used where it
        lies, not copied: do not change it afterwards. Other layouts are copied.
    ids : int array of shape (n,), optional
        Unique, in any order; by default the row numbers. Equal distances are ordered by id,
        which is fastest when ids increase with the rows.
    n_bits : int, optional
        Bits that count, by default all of them. The padding bits of queries are then ignored;
        those of codes must be 0.

    Notes
    -----
    Searches may run in several threads at once and during :meth:`add` and :meth:`remove`:
    each search sees the index as it was when the search began.

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> index = HammingIndex(codes, ids=[30, 10, 20])
    >>> result = index.search(np.array([[0b0011]], dtype=np.uint8), k=2)
    >>> result.ids, result.distances
    (array([[10, 20]]), array([[1, 1]], dtype=uint16))
    """

    def __init__(self, codes: CodeArray, ids: Any = None, *, n_bits: int | None = None) -> None:
        caller = "HammingIndex"
        array = checks.as_codes(codes, caller=caller, name="codes")
        bits = checks.as_n_bits(n_bits, array.shape[1], caller=caller)
        check_padding(array, bits, caller=caller)
        numbers = None if ids is None else checks.as_ids(ids, len(array), caller=caller)
        ordered = numbers is None or increasing(numbers)
        if numbers is not None and not ordered:
            check_unique(np.sort(numbers), caller=caller)
        self._write = threading.Lock()
        self._stored = IndexedCodes(array, bits, numbers, ordered)
        # What was allocated; the codes in use are its first rows.
        self._buffer: CodeArray = array
        self._id_buffer: NDArray[np.int64] | None = numbers

    def __len__(self) -> int:
        return len(self._stored.codes)

    def __repr__(self) -> str:
        return f"HammingIndex(n={len(self)}, n_bits={self.n_bits})"

    def __reduce__(self) -> tuple[Any, ...]:
        stored = self._stored
        return _rebuild, (np.array(stored.codes), stored.ids, stored.n_bits)

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        return self._stored.n_bits

    @property
    def codes(self) -> CodeArray:
        """The codes, shape (n, bytes), read-only."""
        view = self._stored.codes.view()
        view.flags.writeable = False
        return view

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids, shape (n,), read-only."""
        stored = self._stored
        view = np.arange(len(stored.codes)) if stored.ids is None else stored.ids.view()
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        """Memory of codes and ids, spare room included."""
        return self._buffer.nbytes + (0 if self._id_buffer is None else self._id_buffer.nbytes)

    def search(
        self, queries: CodeArray, k: int, *, ids: Any = None, n_threads: int | None = None
    ) -> SearchResult:
        """Find the k nearest codes of every query.

        Parameters
        ----------
        queries : uint8 array of shape (q, bytes)
        k : int
            At least 1. With fewer than k codes all of them are returned: a result is never
            padded with ids that do not exist.
        ids : int array, optional
            Search among these only; ids that the index does not have are passed over.
        n_threads : int, optional
            By default ``DIFFHASH_NUM_THREADS``, or the CPUs at hand.

        Returns
        -------
        SearchResult
            ``.ids`` and ``.distances`` of shape (q, min(k, n)), by (distance, id).

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8))
        >>> index.search(np.array([[3]], dtype=np.uint8), k=10, ids=[0, 1]).ids
        array([[1, 0]])
        """
        caller = "HammingIndex.search"
        stored = self._stored
        return run_top_k(
            stored,
            queries,
            k,
            bitmap=bitmap_of(stored, ids, caller=caller),
            n_threads=n_threads,
            kernel=None,
            caller=caller,
        )

    def within(
        self, queries: CodeArray, radius: int, *, ids: Any = None, n_threads: int | None = None
    ) -> RangeResult:
        """Find all codes at a distance of at most ``radius``, the radius included.

        Other parameters are those of :meth:`search`.

        Returns
        -------
        RangeResult
            ``.offsets`` of shape (q + 1,), ``.ids`` and ``.distances``.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8))
        >>> result = index.within(np.array([[3], [0]], dtype=np.uint8), radius=1)
        >>> result.offsets, result.ids
        (array([0, 2, 4]), array([2, 1, 0, 1]))
        """
        caller = "HammingIndex.within"
        stored = self._stored
        return run_within(
            stored,
            queries,
            radius,
            bitmap=bitmap_of(stored, ids, caller=caller),
            n_threads=n_threads,
            kernel=None,
            caller=caller,
        )

    def add(self, codes: CodeArray, ids: Any = None) -> None:
        """Append codes.

        Parameters
        ----------
        codes : uint8 array of shape (m, bytes)
        ids : int array of shape (m,), optional
            None of them in the index yet. By default they go on from the largest id.

        Notes
        -----
        The first ``add`` copies the codes into memory of the index's own, with some spare room;
        while it is being enlarged, old and new memory exist side by side.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1]], dtype=np.uint8))
        >>> index.add(np.array([[3]], dtype=np.uint8))
        >>> len(index), index.ids
        (3, array([0, 1, 2]))
        """
        caller = "HammingIndex.add"
        with self._write:
            stored = self._stored
            n, width = stored.codes.shape
            new = checks.as_codes(codes, caller=caller, name="codes")
            if new.shape[1] != width:
                raise CodeError(f"{caller}: the index has codes of {width} bytes, got shape {new.shape}.")
            check_padding(new, stored.n_bits, caller=caller)
            numbers = new_ids(stored, ids, len(new), caller=caller)
            if len(new) == 0:
                return
            keeps_order = (
                stored.increasing and increasing(numbers) and (not n or numbers[0] > largest_id(stored))
            )
            # Row numbers need no array as long as the new ids are the row numbers that follow.
            plain = stored.ids is None and keeps_order and numbers[0] == n and numbers[-1] == n + len(new) - 1
            self._buffer = grown(self._buffer, stored.codes, new)
            if not plain:
                old = np.arange(n) if stored.ids is None else stored.ids
                self._id_buffer = grown(self._id_buffer, old, numbers)
            self._stored = IndexedCodes(
                self._buffer[: n + len(new)],
                stored.n_bits,
                None if self._id_buffer is None else self._id_buffer[: n + len(new)],
                keeps_order,
            )

    def remove(self, ids: Any) -> None:
        """Remove codes by their ids; an id that the index does not have is an error.

        Examples
        --------
        >>> index = HammingIndex(np.array([[0], [1], [3]], dtype=np.uint8))
        >>> index.remove([1])
        >>> index.ids
        array([0, 2])
        """
        caller = "HammingIndex.remove"
        with self._write:
            stored = self._stored
            wanted = np.unique(checks.as_ids(ids, np.size(ids), caller=caller))
            gone = rows_of(stored, wanted)
            if np.count_nonzero(gone) != len(wanted):
                missing = wanted[~np.isin(wanted, self.ids[gone])]
                raise InputError(
                    f"{caller}: the index has no id {missing[0]}"
                    + (f" and {len(missing) - 1} more of those given." if len(missing) > 1 else ".")
                    + " Nothing was removed."
                )
            if len(wanted) == 0:
                return
            keep = ~gone
            self._buffer = stored.codes[keep]
            self._id_buffer = np.flatnonzero(keep) if stored.ids is None else stored.ids[keep]
            self._stored = IndexedCodes(self._buffer, stored.n_bits, self._id_buffer, stored.increasing)

    def to_faiss(self) -> Any:
        """Copy into a FAISS index: ``IndexBinaryFlat``, in an ``IndexBinaryIDMap`` if there are ids.

        FAISS breaks ties in its own way and its range search excludes the radius. The FAISS
        package (``pip install faiss-cpu``) has to be there.
        """
        try:
            import faiss
        except ImportError as error:
            raise ImportError("HammingIndex.to_faiss needs FAISS: pip install faiss-cpu") from error
        stored = self._stored
        flat = faiss.IndexBinaryFlat(8 * stored.codes.shape[1])
        if stored.ids is None:
            flat.add(np.asarray(stored.codes))
            return flat
        index = faiss.IndexBinaryIDMap2(flat)
        index.add_with_ids(np.asarray(stored.codes), stored.ids)
        return index


def _rebuild(codes: CodeArray, ids: NDArray[np.int64] | None, n_bits: int) -> HammingIndex:
    return HammingIndex(codes, ids, n_bits=n_bits)
