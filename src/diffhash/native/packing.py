"""From real values to packed bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..codes import code_bytes
from ..errors import InputError
from ..threads import thread_count
from ..types import CodeArray, FloatArray
from . import dispatch

__all__ = ["pack_signs", "project", "project_and_pack"]

#: Rows multiplied at once. Measured: with fewer, starting the threads of BLAS costs more than the
#: cache brings; with these, 64 float32 projections a row take 16 MB.
BLOCK_ROWS = 65_536


def pack_signs(
    projections: Any, offset: Any = None, *, n_threads: int | None = None, kernel: str | None = None
) -> CodeArray:
    """Pack the signs of real values: bit = (value + offset >= 0), so -0.0 gives 1 and NaN gives 0.

    Parameters
    ----------
    projections : float array of shape (n, n_bits)
    offset : float array of shape (n_bits,), optional
        Finite; 0 by default.
    n_threads, kernel : optional
        As in :func:`top_k`.

    Returns
    -------
    uint8 array of shape (n, ceil(n_bits / 8))
        Little bit order, padding bits 0.

    Examples
    --------
    >>> pack_signs(np.array([[0.5, -1.0, 0.0, -2.0]]))
    array([[5]], dtype=uint8)
    """
    values = np.asarray(projections)
    if values.ndim != 2:
        raise InputError(f"pack_signs: expected values of shape (n, n_bits), got {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    values = np.ascontiguousarray(values)
    shift = np.zeros(values.shape[1]) if offset is None else np.asarray(offset)
    if shift.shape != (values.shape[1],):
        raise InputError(f"pack_signs: expected an offset of shape ({values.shape[1]},), got {shift.shape}.")
    codes = np.empty((len(values), code_bytes(values.shape[1])), dtype=np.uint8)
    threads = thread_count(n_threads, caller="pack_signs")
    # A sum has the sign of the exact sum, so value + offset >= 0 just where value >= -offset.
    _pack_into(values, -shift.astype(values.dtype), codes, threads, kernel)
    return codes


def _pack_into(
    values: FloatArray, thresholds: FloatArray, codes: CodeArray, n_threads: int, kernel: str | None
) -> None:
    if not codes.size:
        return
    backend, level = dispatch.choose(kernel)
    pack = backend.pack32 if values.dtype == np.float32 else backend.pack64
    pack(values, thresholds, n_threads, level, codes)


class _Projection(NamedTuple):
    """The matrix product in blocks, as both :func:`project` and :func:`project_and_pack` need it."""

    X: FloatArray
    weights: FloatArray
    offset: FloatArray

    @classmethod
    def of(cls, X: Any, weights: Any, offset: Any, *, caller: str) -> _Projection:
        X, weights = np.asarray(X), np.asarray(weights)
        if X.ndim != 2 or weights.ndim != 2 or X.shape[1] != weights.shape[0]:
            raise InputError(
                f"{caller}: expected X of shape (n, n_features) and weights of shape (n_features, n_bits), "
                f"got {X.shape} and {weights.shape}."
            )
        dtype = np.float32 if X.dtype == weights.dtype == np.float32 else np.float64
        n_bits = weights.shape[1]
        shift: FloatArray = np.zeros(n_bits, dtype=dtype)
        if offset is not None:
            shift = np.asarray(offset).astype(dtype, copy=False)
        if shift.shape != (n_bits,):
            raise InputError(f"{caller}: expected an offset of shape ({n_bits},), got {shift.shape}.")
        return cls(X, weights, shift)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Rows and their products, without the offset; each block is overwritten by the next."""
        n = len(self.X)
        buffer = np.empty((min(BLOCK_ROWS, n), self.weights.shape[1]), dtype=self.offset.dtype)
        for start in range(0, n, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, n))
            block = buffer[: rows.stop - rows.start]
            np.matmul(self.X[rows], self.weights, out=block)
            yield rows, block


def project(X: Any, weights: Any, offset: Any = None) -> FloatArray:
    """Compute ``X @ weights + offset`` in the same blocks as :func:`project_and_pack`.

    A matrix product may round differently for another number of rows; with the same blocks,
    ``project(...) >= 0`` is bit by bit what :func:`project_and_pack` packs.

    Parameters
    ----------
    X : float array of shape (n, n_features)
    weights : float array of shape (n_features, n_bits)
    offset : float array of shape (n_bits,), optional

    Returns
    -------
    float array of shape (n, n_bits)
        float32 if X and weights are, else float64.

    Examples
    --------
    >>> project(np.eye(2), np.array([[1.0, -1.0], [2.0, 0.0]]), np.array([0.0, 0.5]))
    array([[ 1. , -0.5],
           [ 2. ,  0.5]])
    """
    projection = _Projection.of(X, weights, offset, caller="project")
    result = np.empty((len(projection.X), len(projection.offset)), dtype=projection.offset.dtype)
    for rows, block in projection.blocks():
        np.add(block, projection.offset, out=result[rows])
    return result


def project_and_pack(
    X: Any, weights: Any, offset: Any = None, *, n_threads: int | None = None, kernel: str | None = None
) -> CodeArray:
    """Pack the signs of ``X @ weights + offset`` without keeping the product.

    Parameters
    ----------
    X : float array of shape (n, n_features)
    weights : float array of shape (n_features, n_bits)
    offset : float array of shape (n_bits,), optional
        Finite.
    n_threads, kernel : optional
        As in :func:`top_k`; for packing, while the product is up to BLAS.

    Returns
    -------
    uint8 array of shape (n, ceil(n_bits / 8))
        Equal to ``pack_signs(project(X, weights, offset))``.

    Examples
    --------
    >>> project_and_pack(np.eye(2), np.array([[1.0, -1.0], [2.0, 0.0]]))
    array([[1],
           [3]], dtype=uint8)
    """
    projection = _Projection.of(X, weights, offset, caller="project_and_pack")
    threads = thread_count(n_threads, caller="project_and_pack")
    codes = np.empty((len(projection.X), code_bytes(len(projection.offset))), dtype=np.uint8)
    # A sum has the sign of the exact sum, so value + offset >= 0 just where value >= -offset.
    thresholds = -projection.offset
    for rows, block in projection.blocks():
        _pack_into(block, thresholds, codes[rows], threads, kernel)
    return codes
