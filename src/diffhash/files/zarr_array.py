"""Features from Zarr arrays, which are folders of chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError, MissingExtraError
from .features import FeatureFile, check_matrix
from .source import Source

__all__ = ["ZarrFeatures", "is_zarr"]


def is_zarr(name: str) -> bool:
    """Whether the name is that of a Zarr array."""
    return name.rstrip("/").lower().endswith(".zarr")


class ZarrFeatures(FeatureFile):
    """A Zarr array of shape (n, n_features).

    Parameters
    ----------
    path : folder
    """

    def __init__(self, path: Path) -> None:
        try:
            import zarr
        except ImportError:
            raise MissingExtraError(
                f"{path}: reading Zarr arrays needs zarr. Run: pip install 'diffhash[zarr]'"
            ) from None
        self.source = Source(path)
        with self.source.reading():
            found: Any = zarr.open(str(path), mode="r")
        if not isinstance(found, zarr.Array):
            raise InputFileError(f"{path} is a Zarr group, not an array. Name the folder of one array.")
        check_matrix(self.source, found.shape, np.dtype(found.dtype))
        self._array = found
        self.n_rows, self.n_features = (int(n) for n in found.shape)
        self.dtype = np.dtype(found.dtype)

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """The rows of a range."""
        with self.source.reading():
            return np.asarray(self._array[start:stop])

    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:  # noqa: ARG002 - always valid
        # Whole chunks: a chunk is read as a whole, also for one row of it.
        step = n_rows or max(int(self._array.chunks[0]), self.block_rows(self.dtype.itemsize))
        assert self.n_rows is not None
        for start in range(0, self.n_rows, step):
            yield self.rows(start, min(start + step, self.n_rows))
