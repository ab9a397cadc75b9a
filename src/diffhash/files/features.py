"""Feature files of all kinds, with one interface."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from .source import FILE_KINDS, Source

__all__ = ["BLOCK_BYTES", "BlockReader", "FeatureFile", "check_matrix", "open_features"]

#: Size of a block of rows: small enough for the cache of a core, large enough for BLAS.
BLOCK_BYTES = 1 << 21
#: The first row of a block, and a function that returns the block.
BlockReader = tuple[int, Callable[[], NDArray[Any]]]


class FeatureFile(ABC):
    """Rows of features in a file, read block by block or as one array.

    Attributes
    ----------
    source : Source
    n_rows : int or None
        None if the whole file would have to be read to know it.
    n_features : int
    """

    source: Source
    n_rows: int | None
    n_features: int

    @abstractmethod
    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:
        """What :meth:`blocks` yields; it may raise any error for a damaged file."""

    def blocks(self, n_rows: int | None = None, *, keep: int = 0) -> Iterator[NDArray[Any]]:
        """Yield all rows in blocks of at most ``n_rows`` rows (by default a few MB).

        A block stays valid while ``keep`` more blocks are read; after that its memory may be reused.
        """
        with self.source.reading():
            yield from self._blocks(n_rows, keep)

    @contextmanager
    def block_readers(self, *, keep: int = 0) -> Iterator[Iterator[BlockReader]]:
        """Context manager: an iterator of functions that return the blocks of :meth:`blocks`.

        With each function comes the first row of its block. Any thread may call a function, once and inside the
        context. A block stays valid until its thread calls another function and ``keep`` more were taken.
        """
        yield self._readers_of_blocks(keep)

    def _readers_of_blocks(self, keep: int) -> Iterator[BlockReader]:
        start = 0
        for block in self.blocks(keep=keep):
            yield start, partial(_same, block)
            start += len(block)

    def array(self) -> NDArray[Any]:
        """All rows as one array: memory-mapped if the kind of file allows it, otherwise in memory."""
        blocks = [block.copy() for block in self.blocks()]
        return np.concatenate(blocks) if blocks else np.empty((0, self.n_features))

    def block_rows(self, itemsize: int) -> int:
        """Number of rows of a block of the default size."""
        return max(1, BLOCK_BYTES // max(self.n_features * itemsize, 1))

    def count(self) -> int:
        """Number of rows; reads the whole file if necessary."""
        return sum(len(block) for block in self.blocks()) if self.n_rows is None else self.n_rows


def _same(block: NDArray[Any]) -> NDArray[Any]:
    return block


def open_features(source: str | os.PathLike[str] | Source) -> FeatureFile:
    """Open a feature file.

    Parameters
    ----------
    source : name of a file, optionally with ``#`` and the part to read
        ``x.npy``; ``x.npz#name`` (the name may be omitted if there is only one array);
        ``x.parquet``, ``x.csv`` and ``x.jsonl``: all columns, some columns (``#a,b,c``), or one
        column of lists (``#embedding``).

    Returns
    -------
    FeatureFile

    Raises
    ------
    InputFileError
        If the file does not exist, is of another kind, is damaged, or contains no features.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.zeros((5, 3), dtype=np.float32))
    >>> file = open_features(path)
    >>> file.n_rows, file.n_features, [block.shape for block in file.blocks(2)]
    (5, 3, [(2, 3), (2, 3), (1, 3)])
    """
    from .arrays import NpyFeatures, NpzFeatures
    from .csv_and_jsonl import CsvFeatures, JsonlFeatures
    from .parquet import ParquetFeatures

    source = source if isinstance(source, Source) else Source.parse(source)
    source.check_kind(FILE_KINDS, "features")
    readers: dict[str, type[FeatureFile]] = {
        ".npy": NpyFeatures,
        ".npz": NpzFeatures,
        ".parquet": ParquetFeatures,
        ".csv": CsvFeatures,
        ".jsonl": JsonlFeatures,
    }
    with source.reading():
        file = readers[source.kind](source)  # type: ignore[call-arg]
    if not file.n_features:
        raise InputFileError(f"{source}: the rows are empty, there are no features.")
    return file


def check_matrix(source: Source, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise InputFileError if an array of this shape and type cannot be features."""
    if dtype.kind not in "fiub":
        raise InputFileError(f"{source}: features must be real numbers, got dtype {dtype}.")
    if len(shape) != 2:
        raise InputFileError(
            f"{source}: features must have two dimensions, (objects, features), got shape {shape}."
        )
