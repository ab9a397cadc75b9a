"""Two views with what belongs together, split into objects to learn from and objects to ask with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..errors import InputError, PairsError
from ..pairs import Pairs
from ..types import BoolArray, IntArray, PairIndex

__all__ = ["Part", "split"]

#: Objects that are learned from and asked with at most: all methods compare all test items with each other.
_MOST_TRAIN, _MOST_TEST = 20_000, 5_000
_FEWEST = 10


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of two views, and which of them belong together: listed pairs, or labels.

    Attributes
    ----------
    X, Y : arrays, dense or sparse
    positive : (i, j) or None
    labels : two arrays, or None
    """

    X: Any
    Y: Any
    positive: PairIndex | None = None
    labels: tuple[NDArray[Any], NDArray[Any]] | None = None

    @property
    def n_rows(self) -> tuple[int, int]:
        """Number of rows of both views."""
        return self.X.shape[0], self.Y.shape[0]

    @property
    def measure(self) -> str:
        """What is measured: mAP with labels, otherwise the recall among the first ten."""
        return "recall@10" if self.labels is None else "mAP"

    def rows(self, x: IntArray, y: IntArray) -> Part:
        """Some rows of both views."""
        if self.labels is not None:
            return Part(self.X[x], self.Y[y], labels=(self.labels[0][x], self.labels[1][y]))
        assert self.positive is not None, "without labels pairs are listed"
        i, j = self.positive
        kept = np.isin(i, x) & np.isin(j, y)
        return Part(self.X[x], self.Y[y], (np.searchsorted(x, i[kept]), np.searchsorted(y, j[kept])))

    def pairs(self) -> Pairs:
        """As a hasher learns from them."""
        if self.labels is not None:
            return Pairs.from_labels(*self.labels)
        assert self.positive is not None, "without labels pairs are listed"
        i, j = self.positive
        if len(set(self.n_rows)) == 1 and len(i) == self.n_rows[0] and np.array_equal(i, j):
            return Pairs.aligned(len(i))
        return Pairs((i, j))

    def row_pairs(self, rng: np.random.Generator) -> PairIndex:
        """Rows of both views side by side, for methods that know only pairs.

        With labels these are the rows of the same objects if the views have as many; otherwise each row gets a random
        partner with a common label.
        """
        if self.labels is None:
            assert self.positive is not None, "without labels pairs are listed"
            return self.positive
        if len(set(self.n_rows)) == 1:
            rows = np.arange(self.n_rows[0])
            return rows, rows
        found = []
        relevant = self.relevant()
        for row in range(self.n_rows[0]):
            partners = np.flatnonzero(relevant[row])
            if len(partners):
                found.append((row, int(rng.choice(partners))))
        if not found:
            raise PairsError("compare: no label occurs in both views.")
        return np.array([i for i, _ in found]), np.array([j for _, j in found])

    def relevant(self) -> BoolArray:
        """Of shape (rows of X, rows of Y): which rows belong together."""
        if self.labels is not None:
            a, b = self.labels
            if a.ndim == 2:
                return np.asarray((a.astype(np.float32) @ b.astype(np.float32).T) > 0)
            return np.asarray(a[:, None] == b[None, :])
        found = np.zeros(self.n_rows, dtype=np.bool_)
        assert self.positive is not None, "without labels pairs are listed"
        found[self.positive] = True
        return found


def split(
    part: Part, share: float, rng: np.random.Generator, test: BoolArray | None = None
) -> tuple[Part, Part]:
    """Training and test part; all rows of an object are in the same one.

    Parameters
    ----------
    part : Part
    share : float
        Share of the objects that are held out.
    rng : Generator
    test : bool array, optional
        Which rows to hold out, of views with equal numbers of rows. By default objects are drawn.
    """
    n_x, n_y = part.n_rows
    if test is not None:
        if n_x != n_y or test.shape != (n_x,):
            raise InputError(
                f"compare: test must have a truth value for each row of both views, which have {n_x:,} and {n_y:,} "
                f"rows; it has shape {test.shape}."
            )
        held_x = held_y = test
    else:
        held_x, held_y = _draw(part, share, rng)
    parts = []
    for x, y, most in ((~held_x, ~held_y, _MOST_TRAIN), (held_x, held_y, _MOST_TEST)):
        rows_x: IntArray = np.flatnonzero(x)
        rows_y: IntArray = np.flatnonzero(y)
        if len(rows_x) > most or len(rows_y) > most:
            rows_x, rows_y = _fewer(part, rows_x, rows_y, most, rng)
        parts.append(part.rows(rows_x, rows_y))
    train, held_out = parts
    if min(*train.n_rows, *held_out.n_rows) < _FEWEST or not held_out.relevant().any():
        raise InputError(
            f"compare: at least {_FEWEST} objects are needed to learn from and to ask with, got {train.n_rows} and "
            f"{held_out.n_rows} rows. Give more objects, or hold out another share."
        )
    return train, held_out


def _draw(part: Part, share: float, rng: np.random.Generator) -> tuple[BoolArray, BoolArray]:
    numbers_x, numbers_y = _object_numbers(part)
    n = int(max(numbers_x.max(initial=0), numbers_y.max(initial=0))) + 1
    held_out = rng.permutation(n) < round(share * n)
    return held_out[numbers_x], held_out[numbers_y]


def _object_numbers(part: Part) -> tuple[IntArray, IntArray]:
    n_x, n_y = part.n_rows
    if part.labels is not None:
        # Views with as many rows are views of the same objects.
        return np.arange(n_x), np.arange(n_y) if n_x == n_y else n_x + np.arange(n_y)
    assert part.positive is not None, "without labels pairs are listed"
    i, j = part.positive
    links = scipy.sparse.coo_array((np.ones(len(i), bool), (i, n_x + j)), shape=(n_x + n_y, n_x + n_y))
    numbers = connected_components(links, directed=False)[1].astype(np.int64)
    return numbers[:n_x], numbers[n_x:]


def _fewer(
    part: Part, rows_x: IntArray, rows_y: IntArray, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Whole objects, drawn at random, of at most so many rows."""
    numbers_x, numbers_y = (n[rows] for n, rows in zip(_object_numbers(part), (rows_x, rows_y), strict=True))
    known = rng.permutation(np.unique(np.concatenate([numbers_x, numbers_y])))
    largest = max(len(rows_x), len(rows_y))
    kept = known[: max(1, int(len(known) * most / largest))]
    return rows_x[np.isin(numbers_x, kept)], rows_y[np.isin(numbers_y, kept)]
