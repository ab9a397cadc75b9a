"""Rows of a feature file, read in blocks again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from ..types import IntArray
from .arrays import NpyFeatures
from .features import FeatureFile

__all__ = ["FileRows"]

#: So many blocks are in use at a time: one in work, one that waits, one that is read, and one that was just left.
_BLOCKS_IN_USE = 4


class FileRows:
    """Rows of a feature file, as a source of blocks reads them.

    Only ``.npy`` files give any rows quickly; of other kinds :meth:`take` loads the whole file into memory.

    Parameters
    ----------
    file : FeatureFile

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from diffhash.files import open_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.arange(10.0).reshape(5, 2))
    >>> rows = FileRows(open_features(path))
    >>> rows.read(slice(0, 3)).sum(), rows.read(slice(3, 5)).sum(), rows.take(np.array([4, 0]))[:, 0]
    (np.float64(15.0), np.float64(30.0), array([8., 0.]))
    """

    def __init__(self, file: FeatureFile) -> None:
        self._file = file
        self.shape = file.count(), file.n_features
        first = next(file.blocks(1), None)
        self.dtype: np.dtype[Any] = np.dtype(np.float32) if first is None else first.dtype
        self._blocks: Iterator[NDArray[Any]] = iter(())
        self._next, self._step = 0, 0
        self._whole: NDArray[Any] | None = None

    def read(self, rows: slice) -> NDArray[Any]:
        """The rows of a slice; slices come in the order of the rows, and from the first one again."""
        n = rows.stop - rows.start
        if rows.start == 0:
            self._step = max(n, 1)
            self._blocks, self._next = _whole_blocks(self._file, self._step), 0
        if n == 0:
            return np.empty((0, self.shape[1]), self.dtype)
        if rows.start != self._next:
            raise AssertionError("rows are read in their order")
        block = next(self._blocks, None)
        if block is None or len(block) != n:
            raise InputFileError(f"{self._file.source} was changed while it was read. Read it again.")
        self._next = rows.stop
        return block

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Some rows, by their numbers."""
        if isinstance(self._file, NpyFeatures):
            # The mapping is dropped at once: mapped pages count as memory of the process.
            return np.array(self._file.array()[rows])
        if self._whole is None:
            self._whole = self._file.array()
        return self._whole[rows]


def _whole_blocks(file: FeatureFile, n_rows: int) -> Iterator[NDArray[Any]]:
    """Blocks of exactly so many rows, except the last: some readers give smaller ones."""
    parts: list[NDArray[Any]] = []
    have = 0
    for block in file.blocks(n_rows, keep=_BLOCKS_IN_USE):
        if not parts and len(block) == n_rows:
            yield block
            continue
        parts.append(block.copy())
        have += len(block)
        while have >= n_rows:
            joined = np.concatenate(parts)
            yield joined[:n_rows]
            parts, have = [joined[n_rows:]], have - n_rows
            if not have:
                parts = []
    if have:
        yield np.concatenate(parts)
