"""All pairs of codes within a radius, exactly and in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codes import check_padding
from ..threads import thread_count
from ..types import CodeArray
from ..validation import check_count
from . import argument_checks, dispatch
from .equal_codes import EqualCodes, code_words, hash_words, multiply_pairs
from .join_masks import choose_masks

__all__ = ["CodeJoin", "PairBatch", "join", "unite"]

Rows = NDArray[np.int64]
#: Pairs that are found and kept at a time.
BATCH = 1 << 20


class PairBatch(NamedTuple):
    """Some of the pairs that a join finds.

    Attributes
    ----------
    left, right : int64 arrays of the same length
        Row numbers. If the codes were joined with themselves, ``left`` is smaller than ``right``.
    distances : uint16 array of the same length
    """

    left: Rows
    right: Rows
    distances: NDArray[np.uint16]


class CodeJoin:
    """A join whose arguments are checked; :meth:`pairs` runs it.

    Parameters
    ----------
    left : uint8 array of shape (n, bytes)
    right : uint8 array of shape (m, bytes), or None to join the left codes with themselves
    radius, n_bits, n_threads, kernel
        See :func:`join`.
    progress : function, optional
        Called with the share of the work that is done, from 0 to 1.
    """

    def __init__(
        self,
        left: Any,
        right: Any,
        radius: Any,
        *,
        n_bits: int | None = None,
        n_threads: int | None = None,
        kernel: str | None = None,
        progress: Callable[[float], None] | None = None,
        caller: str,
    ) -> None:
        codes = argument_checks.check_kernel_codes(left, caller=caller, name="left")
        width = codes.shape[1]
        self._n_bits = argument_checks.check_n_bits(n_bits, width, caller=caller)
        check_padding(codes, self._n_bits, caller=caller)
        others = codes
        if right is not None:
            others = argument_checks.check_queries(right, width, 8 * width, caller=caller, name="right")
            check_padding(others, self._n_bits, caller=caller)
        #: At most the number of bits: no two codes are farther apart.
        self.radius = min(check_count(radius, "radius", caller=caller, minimum=0), self._n_bits)
        self._threads = thread_count(n_threads, caller=caller)
        self._backend, self._kernel = dispatch.choose(kernel)
        self._progress = progress
        #: Groups of equal codes; the same object twice if the codes are joined with themselves.
        self.left = EqualCodes.of(codes)
        self.right = self.left if right is None else EqualCodes.of(others)

    @property
    def is_self(self) -> bool:
        """Whether the codes are joined with themselves."""
        return self.left is self.right

    def group_pairs(self, limit: int = BATCH) -> Iterator[PairBatch]:
        """Pairs of groups of equal codes, by their numbers, about ``limit`` at a time.

        Without the pairs inside of a group of a self-join.
        """
        left, right = self.left.codes, self.right.codes
        if not len(left) or not len(right):
            return
        masks = choose_masks(left, None if self.is_self else right, self._n_bits, self.radius)
        for number in range(len(masks)):
            yield from self._pass(masks[: number + 1], (number, len(masks)), limit)

    def _pass(self, masks: CodeArray, step: tuple[int, int], limit: int) -> Iterator[PairBatch]:
        """Pairs whose codes agree on the last mask and on none before it."""
        mask = code_words(masks[-1:])[0]
        rows, codes, keys = _sorted_by(self.left.codes, mask)
        if self.is_self:
            others, other_codes = rows, codes
            first, last = np.arange(1, len(keys) + 1), _bucket_ends(keys)
        else:
            others, other_codes, other_keys = _sorted_by(self.right.codes, mask)
            first = np.searchsorted(other_keys, keys, side="left")
            last = np.searchsorted(other_keys, keys, side="right")
        n, todo = len(rows), np.array([[0, len(rows)]], dtype=np.int64)
        while len(todo):
            i, j, distances, rest = self._backend.join(
                codes, other_codes, first, last, todo, self.radius, masks, limit, self._threads, self._kernel
            )
            # The extension returns C's long long, which NumPy treats as a type other than int64.
            todo = rest.view(np.int64).reshape(-1, 2)
            if len(i):
                a, b = rows[i.view(np.int64)], others[j.view(np.int64)]
                yield PairBatch(
                    *((np.minimum(a, b), np.maximum(a, b)) if self.is_self else (a, b)), distances
                )
            if self._progress is not None:
                self._progress((step[0] + 1 - float(np.diff(todo).sum()) / n) / step[1])

    def pairs(self, limit: int = BATCH) -> Iterator[PairBatch]:
        """Pairs of rows, about ``limit`` at a time."""
        if self.is_self:
            for i, j in self.left.pairs_inside(limit):
                yield PairBatch(i, j, np.zeros(len(i), dtype=np.uint16))
        for batch in self.group_pairs(limit):
            yield from self.multiply(batch, limit)

    def multiply(self, batch: PairBatch, limit: int = BATCH) -> Iterator[PairBatch]:
        """Pairs of rows from pairs of groups, at most ``limit`` at a time."""
        for i, j, distances in multiply_pairs(self.left, self.right, *batch, limit):
            if self.is_self:
                i, j = np.minimum(i, j), np.maximum(i, j)
            yield PairBatch(i, j, distances)


def join(
    left: CodeArray,
    right: CodeArray | None = None,
    *,
    radius: int,
    n_bits: int | None = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> Iterator[PairBatch]:
    """Find all pairs of codes at a distance of at most ``radius``, exactly.

    Parameters
    ----------
    left : uint8 array of shape (n, bytes)
    right : uint8 array of shape (m, bytes), optional
        By default the left codes are joined with themselves. Then each pair is found once, and no code is paired
        with itself.
    radius : int
        At least 0: equal codes.
    n_bits, n_threads, kernel
        See :func:`top_k`. Padding bits must be 0.

    Yields
    ------
    PairBatch
        About a million pairs at a time, in no particular order; memory does not grow with the number of pairs.

    Notes
    -----
    If the radius is small, codes are sorted by some of their bits and only those that agree on them are compared:
    two codes within the radius agree on at least one of ``radius + 1`` groups of bits. Otherwise all codes are
    compared with all. What is faster is estimated on a sample; the result is the same.

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001], [0b0111]], dtype=np.uint8)
    >>> [batch] = join(codes[:3], radius=1)
    >>> batch.left, batch.right, batch.distances
    (array([0]), array([2]), array([1], dtype=uint16))
    >>> sum(len(batch.left) for batch in join(codes, radius=0))
    1
    """
    return CodeJoin(
        left, right, radius, n_bits=n_bits, n_threads=n_threads, kernel=kernel, caller="join"
    ).pairs()


def unite(parents: Rows, i: Rows, j: Rows, *, kernel: str | None = None) -> None:
    """Join the sets of the elements ``i[p]`` and ``j[p]`` for all p, in place.

    Parameters
    ----------
    parents : int64 array of shape (n,)
        At first ``np.arange(n)``: every element is a set of its own. The parent of an element is an element of the
        same set with a smaller number, or the element itself if it is the first of its set.
    i, j : int64 arrays of the same length

    Examples
    --------
    >>> parents = np.arange(5)
    >>> unite(parents, np.array([3, 0]), np.array([4, 3]))
    >>> first_of_sets(parents)
    array([0, 1, 2, 0, 0])
    """
    dispatch.choose(kernel)[0].unite(parents, np.ascontiguousarray(i), np.ascontiguousarray(j))


def first_of_sets(parents: Rows) -> Rows:
    """The first element of the set of each element, from the parents that :func:`unite` made."""
    while True:
        above = parents[parents]
        if np.array_equal(above, parents):
            return above
        parents = above


def _sorted_by(codes: CodeArray, mask: NDArray[np.uint64]) -> tuple[Rows, CodeArray, NDArray[np.uint64]]:
    """Rows, codes and keys, sorted by key: equal for codes that agree on the mask."""
    if not mask.any():
        return np.arange(len(codes)), codes, np.zeros(len(codes), dtype=np.uint64)
    keys = hash_words(code_words(codes), mask)
    rows = np.argsort(keys, kind="stable")
    return rows, codes[rows], keys[rows]


def _bucket_ends(keys: NDArray[np.uint64]) -> Rows:
    """For each of the sorted keys, the end of the run of keys that are equal to it."""
    ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]) + 1, len(keys))
    return np.repeat(ends, np.diff(ends, prepend=0))
