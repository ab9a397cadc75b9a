"""From real values to packed bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..codes import code_bytes
from ..errors import InputError
from ..types import CodeArray, FloatArray
from . import dispatch

__all__ = ["pack_signs", "project", "project_and_pack"]

#: Rows multiplied at once: their projections stay in cache until they are packed.
BLOCK_ROWS = 8192


def pack_signs(projections: Any, *, kernel: str | None = None) -> CodeArray:
    """Pack the signs of real values: bit = (value >= 0), so -0.0 gives 1 and NaN gives 0.

    Parameters
    ----------
    projections : float array of shape (n, n_bits)

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
    codes = np.empty((len(values), code_bytes(values.shape[1])), dtype=np.uint8)
    _pack_into(np.ascontiguousarray(values), codes, kernel)
    return codes


def _pack_into(values: FloatArray, codes: CodeArray, kernel: str | None) -> None:
    if not codes.size:
        return
    backend, level = dispatch.choose(kernel)
    pack = backend.pack32 if values.dtype == np.float32 else backend.pack64
    pack(values, level, codes)


def _projected_blocks(
    X: FloatArray, weights: FloatArray, offset: FloatArray | None, *, caller: str
) -> Iterator[tuple[slice, FloatArray]]:
    """Blocks of ``X @ weights + offset``; each is overwritten by the next."""
    if X.ndim != 2 or weights.ndim != 2 or X.shape[1] != weights.shape[0]:
        raise InputError(
            f"{caller}: expected X of shape (n, n_features) and weights of shape (n_features, n_bits), "
            f"got {X.shape} and {weights.shape}."
        )
    if offset is not None and offset.shape != (weights.shape[1],):
        raise InputError(f"{caller}: expected an offset of shape ({weights.shape[1]},), got {offset.shape}.")
    dtype = np.float32 if X.dtype == weights.dtype == np.float32 else np.float64
    shift = None if offset is None else offset.astype(dtype, copy=False)
    buffer = np.empty((min(BLOCK_ROWS, len(X)), weights.shape[1]), dtype=dtype)
    for start in range(0, len(X), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(X)))
        block = buffer[: rows.stop - rows.start]
        np.matmul(X[rows], weights, out=block)
        if shift is not None:
            block += shift
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
    X, weights = np.asarray(X), np.asarray(weights)
    shift = None if offset is None else np.asarray(offset)
    dtype = np.float32 if X.dtype == weights.dtype == np.float32 else np.float64
    result = np.empty((len(X), weights.shape[-1]), dtype=dtype)
    for rows, block in _projected_blocks(X, weights, shift, caller="project"):
        result[rows] = block
    return result


def project_and_pack(X: Any, weights: Any, offset: Any = None, *, kernel: str | None = None) -> CodeArray:
    """Pack the signs of ``X @ weights + offset`` without keeping the product.

    Parameters
    ----------
    X : float array of shape (n, n_features)
    weights : float array of shape (n_features, n_bits)
    offset : float array of shape (n_bits,), optional
    kernel : str, optional
        As in :func:`top_k`.

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
    X, weights = np.asarray(X), np.asarray(weights)
    shift = None if offset is None else np.asarray(offset)
    codes = np.empty((len(X), code_bytes(weights.shape[-1])), dtype=np.uint8)
    for rows, block in _projected_blocks(X, weights, shift, caller="project_and_pack"):
        _pack_into(block, codes[rows], kernel)
    return codes
