"""Pack the signs of real values into bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codes import code_bytes
from ..errors import InputError
from ..threads import thread_count
from ..types import CodeArray, FloatArray
from ..validation import as_array
from . import dispatch

__all__ = ["pack_signs", "project_and_pack"]

#: Rows per matrix product. Measured: with smaller blocks, starting the threads of BLAS costs more
#: time than the cache saves. With 64 float32 projections per row a block takes 16 MB.
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
    values = as_array(projections, "pack_signs: projections")
    if values.ndim != 2:
        raise InputError(f"pack_signs: expected values of shape (n, n_bits), got {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    values = np.ascontiguousarray(values)
    shift = np.zeros(values.shape[1]) if offset is None else as_array(offset, "pack_signs: offset")
    if shift.shape != (values.shape[1],):
        raise InputError(f"pack_signs: expected an offset of shape ({values.shape[1]},), got {shift.shape}.")
    codes = np.empty((len(values), code_bytes(values.shape[1])), dtype=np.uint8)
    threads = thread_count(n_threads, caller="pack_signs")
    # Rounding keeps the sign of a sum, so value + offset >= 0 if and only if value >= -offset.
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


def project_and_pack(
    X: Any, weights: Any, offset: Any = None, *, n_threads: int | None = None, kernel: str | None = None
) -> CodeArray:
    """Pack the signs of ``X @ weights + offset``. The product is made in blocks and not kept.

    Parameters
    ----------
    X : float array of shape (n, n_features)
    weights : float array of shape (n_features, n_bits)
    offset : float array of shape (n_bits,), optional
        Finite.
    n_threads, kernel : optional
        As in :func:`top_k`. They apply to the packing; the product is computed by BLAS.

    Returns
    -------
    uint8 array of shape (n, ceil(n_bits / 8))
        Little bit order, padding bits 0.

    Examples
    --------
    >>> project_and_pack(np.eye(2), np.array([[1.0, -1.0], [2.0, 0.0]]))
    array([[1],
           [3]], dtype=uint8)
    """
    X, weights = np.asarray(X), np.asarray(weights)
    if X.ndim != 2 or weights.ndim != 2 or X.shape[1] != weights.shape[0]:
        raise InputError(
            "project_and_pack: expected X of shape (n, n_features) and weights of shape (n_features, n_bits), "
            f"got {X.shape} and {weights.shape}."
        )
    n, n_bits = len(X), weights.shape[1]
    dtype = np.float32 if X.dtype == weights.dtype == np.float32 else np.float64
    shift: FloatArray = np.zeros(n_bits) if offset is None else np.asarray(offset)
    if shift.shape != (n_bits,):
        raise InputError(f"project_and_pack: expected an offset of shape ({n_bits},), got {shift.shape}.")
    threads = thread_count(n_threads, caller="project_and_pack")
    codes = np.empty((n, code_bytes(n_bits)), dtype=np.uint8)
    buffer = np.empty((min(BLOCK_ROWS, n), n_bits), dtype=dtype)
    thresholds: FloatArray = np.negative(shift, dtype=dtype)
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, n))
        block = buffer[: rows.stop - rows.start]
        np.matmul(X[rows], weights, out=block)
        _pack_into(block, thresholds, codes[rows], threads, kernel)
    return codes
