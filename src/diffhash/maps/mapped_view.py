"""The mapped features of a view, processed in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse

from ..codes import code_bytes
from ..native import pack_signs
from ..native.column_moments import column_sums
from ..threads import in_runs
from ..types import CodeArray, FloatArray

if TYPE_CHECKING:
    from .feature_map import FeatureMap

T = TypeVar("T")

__all__ = ["KEEP_BYTES", "MappedView", "block_rows", "feature_mean"]

#: Numbers in a block of features: 16 MB of float32, large enough for BLAS and small compared to the data.
_BLOCK_SIZE = 1 << 22
#: Blocks that are copied are this many times smaller: 1 MB of float32, which stays in the cache of a core.
_CACHED_PARTS = 16
#: Largest size of the results of all threads of :meth:`MappedView.over_blocks` together.
_RESULT_BYTES = 1 << 28
#: Mapped features of a view are cached if they take at most this many bytes.
KEEP_BYTES = 1 << 28


def block_rows(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices that cover all rows; each has a few MB of features.

    Examples
    --------
    >>> list(block_rows(3, 10**7))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(1, _BLOCK_SIZE // max(n_features, 1))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


class MappedView:
    """The mapped features of one view, computed block by block.

    Parameters
    ----------
    X : array of shape (n, n_features_in), dense or CSR
    feature_map : FeatureMap
    keep_bytes : int
        Cache the features of the whole view if they take at most this many bytes. Several passes then
        compute them only once.

    Attributes
    ----------
    whitening : symmetric array of shape (n_features, n_features), or None
        A matrix by which the features must still be multiplied, see :meth:`whitened`.
    """

    def __init__(self, X: Any, feature_map: FeatureMap, keep_bytes: int = KEEP_BYTES) -> None:
        self.X = X
        self.map = feature_map
        self.whitening: FloatArray | None = None
        self.n_rows: int = X.shape[0]
        self.n_features = feature_map.n_features_out
        self.dtype = X.dtype
        self._keep = self.n_rows * self.n_features * X.dtype.itemsize <= keep_bytes
        self._whole: Any = None

    def whole(self) -> Any:
        """Features of all rows at once."""
        if self._whole is None:
            slices = list(self._slices())
            if len(slices) <= 1:
                self._whole = self.map.transform(self.X)
            elif self.stays_sparse():
                blocks = [self.map.transform(self.X[rows]) for rows in slices]
                self._whole = scipy.sparse.vstack(blocks, format="csr")
            else:
                if self.map.own_function is None:
                    # Each block is copied while it is in the cache. A function of the user may be slow to call.
                    width = max(self._width_of_rows(), self.n_features)
                    slices = list(block_rows(self.n_rows, _CACHED_PARTS * width))
                first = self.map.transform(self.X[slices[0]])
                found = np.empty((self.n_rows, first.shape[1]), dtype=first.dtype)
                found[slices[0]] = first
                for rows in slices[1:]:
                    found[rows] = self.map.transform(self.X[rows])
                self._whole = found
        return self._whole

    def rows(self, rows: slice) -> Any:
        """Features of some rows."""
        whole = self.whole() if self._keep else self._whole
        return self.map.transform(self.X[rows]) if whole is None else whole[rows]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Iterate over all rows: slices of rows and their features."""
        return ((rows, self.rows(rows)) for rows in self._slices())

    def prepare(self) -> None:
        """Compute the features that will be kept, so that several threads do not do it."""
        if self._keep:
            self.whole()

    def over_blocks(
        self,
        function: Callable[[Iterator[tuple[slice, Any]]], T],
        *,
        bytes_each: int = 0,
        partner: MappedView | None = None,
    ) -> list[T]:
        """Results of a function for runs of consecutive :meth:`blocks`; large views are shared by several threads.

        Parameters
        ----------
        function : function of an iterator of (rows, features)
        bytes_each : int
            Size of a result: large results are few.
        partner : MappedView, optional
            Another view whose rows the function reads.
        """
        slices = list(self._slices())
        # Threads would all compute the features that are kept.
        if self._keep or self._calls_user() or (partner is not None and partner._calls_user()):
            return [function(self.blocks())]
        most_runs = max(1, _RESULT_BYTES // max(1, bytes_each))
        return in_runs(
            lambda run: function((rows, self.rows(rows)) for rows in run), slices, most_runs=most_runs
        )

    def _calls_user(self) -> bool:
        """Whether reading rows calls a function of the user, which may not be made for threads."""
        return self.map.own_function is not None and self._whole is None

    def _slices(self) -> Iterator[slice]:
        return block_rows(self.n_rows, self._width())

    def _width(self) -> int:
        """Largest number of values of a row."""
        if self.stays_sparse():
            return self._width_of_rows()
        return max(self.map.n_features_in, self.n_features)

    def _width_of_rows(self) -> int:
        """Number of values of a row before the map; zeros of sparse rows do not count."""
        sparse = scipy.sparse.issparse(self.X)
        return int(self.X.nnz // max(self.n_rows, 1)) + 1 if sparse else self.map.n_features_in

    def stays_sparse(self) -> bool:
        """Whether the mapped features are sparse."""
        return bool(scipy.sparse.issparse(self.X) and scipy.sparse.issparse(self.map.transform(self.X[:1])))

    def whitened(self, matrix: FloatArray) -> MappedView:
        """The same features with another :attr:`whitening`.

        Whitening every row costs a matrix product per row. Instead, sums and projections are whitened,
        which costs one product for all rows.
        """
        result = MappedView(self.X, self.map)
        result.whitening, result._keep, result._whole = matrix, self._keep, self._whole
        return result

    def folded(self, projection: FloatArray) -> FloatArray:
        """The projection of the features that gives what ``projection`` gives of the whitened features."""
        return projection if self.whitening is None else np.asarray(projection @ self.whitening)

    def centred_rows(self, rows: Any = None) -> FloatArray:
        """Features of some rows (all by default) as a dense float64 array, :attr:`offset` subtracted."""
        if rows is None:
            found = self.rows(slice(None))
        else:
            found = self.map.transform(self.X[rows]) if self._whole is None else self._whole[rows]
        array = np.asarray(found.toarray() if scipy.sparse.issparse(found) else found, dtype=np.float64)
        return array - self.offset if self.offset.any() else array

    @property
    def offset(self) -> FloatArray:
        """The vector that remains to be subtracted from sparse features; zeros for dense features."""
        if self.map.offset is None or not self.stays_sparse():
            return np.zeros(self.n_features)
        return self.map.offset

    def project(self, projection: FloatArray, threshold: FloatArray | None = None) -> FloatArray:
        """``projection @ map(x) + threshold`` for every row.

        Parameters
        ----------
        projection : array of shape (n_bits, n_features_out)
        threshold : array of shape (n_bits,), optional

        Returns
        -------
        float array of shape (n, n_bits), in the dtype of X
        """
        result = np.empty((self.n_rows, len(projection)), dtype=self.dtype)

        def project(blocks: Iterator[tuple[slice, Any]]) -> None:
            for rows, values, add in self._projected(projection, threshold, blocks):
                np.add(values, add, out=result[rows])

        self.over_blocks(project)
        return result

    def encode(self, projection: FloatArray, threshold: FloatArray) -> CodeArray:
        """Packed signs of :meth:`project`; only one block of values is in memory at a time.

        Returns
        -------
        uint8 array of shape (n, ceil(n_bits / 8))
        """
        result = np.empty((self.n_rows, code_bytes(len(projection))), dtype=np.uint8)
        for rows, values, add in self._projected(projection, threshold, self.blocks()):
            # Packing a block takes less time than starting a second thread.
            result[rows] = pack_signs(values, add, n_threads=1)
        return result

    def _projected(
        self, projection: FloatArray, threshold: FloatArray | None, blocks: Iterator[tuple[slice, Any]]
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """For each block: the rows, their products (the next block overwrites them), and the vector to add."""
        if not self.n_rows:
            return
        weights = np.ascontiguousarray(projection.T, dtype=self.dtype)
        constant = np.broadcast_to(0.0 if threshold is None else threshold, len(projection))
        add = (constant - projection @ self.offset).astype(self.dtype)
        buffer = np.empty((0, len(projection)), dtype=self.dtype)
        for rows, block in blocks:
            if scipy.sparse.issparse(block):
                yield rows, np.asarray(block @ weights, dtype=self.dtype), add
                continue
            n = rows.stop - rows.start
            if len(buffer) < n:
                buffer = np.empty((n, len(projection)), dtype=self.dtype)
            yield rows, np.matmul(block, weights, out=buffer[:n]), add


def feature_mean(view: MappedView) -> FloatArray:
    """Mean of the features of a view over its rows, in float64."""
    total = np.zeros(view.n_features)
    for _, block in view.blocks():
        total += (
            np.asarray(block.sum(axis=0, dtype=np.float64)).reshape(-1)
            if scipy.sparse.issparse(block)
            else column_sums(block)
        )
    return total / view.n_rows
