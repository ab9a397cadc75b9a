"""A hash function that is prepared once and then encodes many arrays, or one row in little time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..codes import code_bytes
from ..native import pack_signs
from ..threads import in_threads, one_blas_thread, thread_count
from ..types import CodeArray, FloatArray
from .mapped_view import MappedView

if TYPE_CHECKING:
    from .feature_map import FeatureMap

__all__ = ["PreparedEncoder"]

#: Numbers in a block of rows: 1 MB of float32, which stays in the cache of a core from the first step to the last.
_BLOCK_SIZE = 1 << 18
#: With at least this many numbers each thread takes a part of the rows. Starting threads takes longer for fewer.
_MIN_THREADED_SIZE = 1 << 24


class PreparedEncoder:
    """``projection @ map(x) + threshold`` and its packed signs, for rows of one dtype.

    Weights are converted to the dtype only once.

    Parameters
    ----------
    feature_map : FeatureMap
    projection : array of shape (n_bits, n_features_out)
    threshold : array of shape (n_bits,)
    dtype : float32 or float64

    Examples
    --------
    >>> from diffhash.maps import LinearMap
    >>> encoder = PreparedEncoder(LinearMap(np.array([1.0, 1.0])), np.eye(2), np.zeros(2), np.float64)
    >>> encoder.encode(np.array([[3.0, 0.0]])), encoder.project(np.array([[3.0, 0.0]]))
    (array([[1]], dtype=uint8), array([[ 2., -1.]]))
    """

    def __init__(
        self, feature_map: FeatureMap, projection: FloatArray, threshold: FloatArray, dtype: DTypeLike
    ) -> None:
        self.dtype = np.dtype(dtype)
        self._function = feature_map, projection, threshold
        self.n_bits = len(projection)
        transform, weights, constant = feature_map.prepared(projection)
        self._transform = transform
        self._weights = np.ascontiguousarray(weights.T, dtype=self.dtype)
        self._add = (threshold + constant).astype(self.dtype)
        width = max(feature_map.n_features_in, feature_map.n_features_out, 1)
        self._block_rows = max(1, _BLOCK_SIZE // width)
        self._threaded_rows = max(2 * self._block_rows, _MIN_THREADED_SIZE // width)

    def project(self, X: Any) -> FloatArray:
        """Values of shape (n, n_bits), in the dtype of the rows."""
        if not isinstance(X, np.ndarray):
            feature_map, projection, threshold = self._function
            return MappedView(X, feature_map, keep_bytes=0).project(projection, threshold)
        result = np.empty((len(X), self.n_bits), dtype=self.dtype)

        def work(part: slice) -> None:
            for rows, values in self._products(X, part):
                np.add(values, self._add, out=result[rows])

        self._run(work, len(X))
        return result

    def encode(self, X: Any) -> CodeArray:
        """Packed signs of :meth:`project`, of shape (n, ceil(n_bits / 8)), of dense or CSR rows."""
        if not isinstance(X, np.ndarray):
            feature_map, projection, threshold = self._function
            return MappedView(X, feature_map, keep_bytes=0).encode(projection, threshold)
        codes = self.encode_usual(X, lambda _: True)
        assert codes is not None
        return codes

    def encode_usual(self, X: NDArray[Any], usual: Callable[[NDArray[Any]], bool]) -> CodeArray | None:
        """The same for dense rows, or None if a function returns False for a block of them.

        The function is called while the block is in the cache, so it takes less time than for all rows before.
        """
        codes = np.empty((len(X), code_bytes(self.n_bits)), dtype=np.uint8)
        unusual: list[slice] = []

        def work(part: slice) -> None:
            end = part.start
            for rows, values in self._products(X, part, lambda block: not unusual and usual(block)):
                codes[rows] = pack_signs(values, self._add, n_threads=1)
                end = rows.stop
            if end < part.stop:
                unusual.append(part)

        self._run(work, len(X))
        return None if unusual else codes

    def _run(self, work: Callable[[slice], None], n_rows: int) -> None:
        """Do the work for all rows; in several threads if there are many rows."""
        n_threads = thread_count(None, caller="encode") if n_rows >= self._threaded_rows else 1
        if n_threads < 2:
            work(slice(0, n_rows))
            return
        step = -(-n_rows // n_threads)
        # Threads of BLAS would speed up only the products.
        with one_blas_thread():
            in_threads(work, [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)])

    def _products(
        self, X: NDArray[Any], part: slice, usual: Callable[[NDArray[Any]], bool] = lambda _: True
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of some rows: where they are, and their products, which the next block overwrites.

        They end before the first block that is not usual.
        """
        step = min(self._block_rows, part.stop - part.start)
        products = np.empty((step, self.n_bits), dtype=self.dtype)
        for start in range(part.start, part.stop, max(step, 1)):
            rows = slice(start, min(start + step, part.stop))
            block = X[rows]
            if not usual(block):
                return
            yield rows, np.matmul(self._transform(block), self._weights, out=products[: len(block)])
