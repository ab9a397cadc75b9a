"""Views whose rows are read in blocks by the tasks of a cluster: Dask arrays, and folders of shards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..types import IntArray

__all__ = ["ArrayBlocks", "Blocks", "Places", "read_block"]


@dataclass(frozen=True)
class Places:
    """Where the rows of a view come from, for messages.

    Attributes
    ----------
    starts : tuple of int
        Number of the first row of each part.
    unit : str
        What a part is called.
    names : tuple of str
        Names of the parts; empty if they have none.
    """

    starts: tuple[int, ...]
    unit: str = "block"
    names: tuple[str, ...] = ()

    def of_row(self, row: int) -> str:
        """Words for a row.

        Examples
        --------
        >>> Places((0, 10, 10, 30)).of_row(12)
        'row 2 of block 2'
        """
        part = bisect_right(self.starts, row) - 1
        name = f" ({self.names[part]})" if self.names else ""
        return f"row {row - self.starts[part]} of {self.unit} {part}{name}"

    def of_part(self, row: int) -> str:
        """Words for the part of a row."""
        return self.of_row(row).partition(" of ")[2]


class Blocks(Protocol):
    """A view whose rows are split into blocks.

    ``sizes`` are the numbers of rows of the blocks. What :meth:`block` and :meth:`take` return is an argument of a
    task, which gets the rows with :func:`read_block`.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sparse: bool
    sizes: tuple[int, ...]
    places: Places

    def split(self, sizes: tuple[int, ...]) -> Self:
        """The same rows in other blocks."""

    def block(self, number: int) -> Any:
        """The rows of a block."""

    def take(self, rows: IntArray) -> Any:
        """Any rows, by their numbers."""


class Readable(Protocol):
    """An argument of a task that reads its rows there."""

    def read(self) -> Any:
        """The rows."""


def read_block(given: Any) -> Any:
    """Rows of a block inside a task."""
    return given.read() if hasattr(given, "read") else given


class ArrayBlocks:
    """A Dask array of shape (n, n_features)."""

    def __init__(self, X: Any, places: Places | None = None) -> None:
        import scipy.sparse

        self._X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        self.shape = int(X.shape[0]), int(X.shape[1])
        self.dtype: np.dtype[Any] = X.dtype
        self.sparse = scipy.sparse.issparse(X._meta)
        self.sizes: tuple[int, ...] = tuple(map(int, X.chunks[0]))
        self.places = places or Places(starts_of(self.sizes))
        self._delayed: Any = None

    def split(self, sizes: tuple[int, ...]) -> ArrayBlocks:
        """The same rows in other blocks."""
        return self if sizes == self.sizes else ArrayBlocks(self._X.rechunk({0: sizes}), self.places)

    def block(self, number: int) -> Any:
        """The rows of a block."""
        if self._delayed is None:
            self._delayed = self._X.to_delayed()[:, 0]
        return self._delayed[number]

    def take(self, rows: IntArray) -> Any:
        """Any rows, by their numbers."""
        return self._X[rows].rechunk(-1).to_delayed()[0, 0]


def starts_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Number of the first row of each block.

    Examples
    --------
    >>> starts_of([3, 0, 2])
    (0, 3, 3)
    """
    return tuple(int(start) for start in np.cumsum([0, *sizes])[:-1])
