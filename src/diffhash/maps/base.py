"""What every feature map can do, and the blocks in which rows are worked through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..types import FloatArray

__all__ = ["FeatureMap", "block_rows", "map_from_state"]

#: Numbers in a block of features: 16 MB of float32, large for BLAS and small beside the data.
_BLOCK_SIZE = 1 << 22


def block_rows(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices of rows that together hold all of them, each a few MB of features.

    Examples
    --------
    >>> list(block_rows(3, 10**7))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(1, _BLOCK_SIZE // max(n_features, 1))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


class FeatureMap(ABC):
    """A fitted map from the raw features of a modality to those that are projected.

    Maps are made by a class method that learns from the rows of one view; afterwards they hold
    only arrays and plain values (:meth:`state`), so that a model file can keep them.
    """

    kind: ClassVar[str]
    n_features_in: int
    n_features_out: int

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """Features of a block of rows, (n, n_features_out); sparse only where centring is left out.

        See :attr:`offset`.
        """

    @property
    def offset(self) -> FloatArray | None:
        """What is still to be subtracted from :meth:`transform` of sparse rows, None for nothing.

        Subtracting the mean would fill a sparse array, so sums and projections do it afterwards.
        """
        return None

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain parameters and arrays from which :func:`map_from_state` makes the map again."""

    @classmethod
    @abstractmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Inverse of :meth:`state`."""

    def project(self, X: Any, projection: FloatArray, threshold: FloatArray) -> FloatArray:
        """``projection @ map(x) + threshold`` for every row, in blocks.

        Parameters
        ----------
        X : array of shape (n, n_features_in)
        projection : array of shape (n_bits, n_features_out)
        threshold : array of shape (n_bits,)

        Returns
        -------
        float array of shape (n, n_bits)
        """
        dtype = X.dtype
        weights = np.ascontiguousarray(projection.T, dtype=dtype)
        result = np.empty((X.shape[0], len(projection)), dtype=dtype)
        for rows in block_rows(X.shape[0], max(self.n_features_in, self.n_features_out)):
            block = self.transform(X[rows])
            constant = threshold
            if self.offset is not None and not isinstance(block, np.ndarray):
                constant = threshold - projection @ self.offset
            result[rows] = block @ weights
            result[rows] += constant.astype(dtype)
        return result


def map_from_state(kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FeatureMap:
    """Make a map from what a model file holds."""
    kinds = {subclass.kind: subclass for subclass in FeatureMap.__subclasses__()}
    if kind not in kinds:
        raise ModelFileError(f"load: unknown feature map {kind!r}. Known: {', '.join(sorted(kinds))}.")
    return kinds[kind].from_state(parameters, arrays)
