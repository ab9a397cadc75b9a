"""Pack the signs of real values into bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codes import code_bytes
from ..errors import InputError
from ..threads import thread_count
from ..types import CodeArray
from . import dispatch
from .argument_checks import check_numbers

__all__ = ["pack_signs"]


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
    values = check_numbers(projections, caller="pack_signs", name="projections")
    if values.ndim != 2:
        raise InputError(f"pack_signs: expected values of shape (n, n_bits), got {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    values = np.ascontiguousarray(values)
    if offset is None:
        offset = np.zeros(values.shape[1])
    shift = check_numbers(offset, caller="pack_signs", name="offset")
    if shift.shape != (values.shape[1],):
        raise InputError(f"pack_signs: expected an offset of shape ({values.shape[1]},), got {shift.shape}.")
    codes = np.empty((len(values), code_bytes(values.shape[1])), dtype=np.uint8)
    threads = thread_count(n_threads, caller="pack_signs")
    if codes.size:
        backend, level = dispatch.choose(kernel)
        pack = backend.pack32 if values.dtype == np.float32 else backend.pack64
        # Rounding keeps the sign of a sum, so value + offset >= 0 if and only if value >= -offset.
        pack(values, -shift.astype(values.dtype), threads, level, codes)
    return codes
