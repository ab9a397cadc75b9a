"""Checks of what the kernels rely on: types, widths, contiguous memory, padding bits that are 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import check_codes, code_bytes
from ..errors import CodeError, InputError
from ..types import CodeArray
from ..validation import as_array, check_count

MAX_BITS = 4096


def check_kernel_codes(codes: Any, *, caller: str, name: str) -> CodeArray:
    """:func:`~diffhash.codes.check_codes`, with the limits of the kernels on the width."""
    array = check_codes(codes, caller=caller, name=name)
    if not 1 <= array.shape[1] <= MAX_BITS // 8:
        raise CodeError(
            f"{caller}: {name} must have 1 to {MAX_BITS // 8} bytes per code (8 to {MAX_BITS} bits), "
            f"got {array.shape[1]}."
        )
    return array


def check_queries(queries: Any, width: int, n_bits: int, *, caller: str, name: str = "queries") -> CodeArray:
    """Check query codes, which must have ``width`` bytes, and clear their padding bits."""
    array = check_kernel_codes(queries, caller=caller, name=name)
    if array.shape[1] != width:
        raise CodeError(
            f"{caller}: the codes have {width} bytes, {name} has shape {array.shape}. "
            "Encode both with the same model."
        )
    if n_bits % 8:
        array = array.copy()
        array[:, -1] &= (1 << n_bits % 8) - 1
    return array


def check_n_bits(n_bits: int | None, width: int, *, caller: str) -> int:
    """Check the number of bits of a code; by default all bits of its bytes."""
    if n_bits is None:
        return 8 * width
    bits = check_count(n_bits, "n_bits", caller=caller)
    if code_bytes(bits) != width:
        raise CodeError(
            f"{caller}: codes of {bits} bits have {code_bytes(bits)} bytes, got codes of {width} bytes."
        )
    return bits


def check_ids(ids: Any, n: int, *, caller: str, name: str = "ids") -> NDArray[np.int64]:
    """Check the ids of ``n`` codes, and convert them to int64."""
    array = as_array(ids, f"{caller}: {name}")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(
            f"{caller}: {name} must be whole numbers of shape (n,), got {array.dtype} of shape {array.shape}."
        )
    if len(array) != n:
        raise InputError(f"{caller}: {n} codes need {n} {name}, got {len(array)}.")
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise InputError(f"{caller}: {name} must fit int64, got {array.max()}.")
    return np.ascontiguousarray(array, dtype=np.int64)


def check_numbers(values: Any, *, caller: str, name: str, kinds: str = "fiub") -> NDArray[Any]:
    """Check that an array holds real numbers, or whole numbers if ``kinds`` says so."""
    array = as_array(values, f"{caller}: {name}")
    if not array.size:
        # An empty list has a type by chance.
        return np.zeros(array.shape)
    if array.dtype.kind not in kinds:
        what = "real" if "f" in kinds else "whole"
        raise InputError(
            f"{caller}: {name} must be {what} numbers, got {array.dtype} of shape {array.shape}."
        )
    return array


def check_allowed(allowed: Any, n: int, *, caller: str) -> NDArray[np.uint8] | None:
    """Convert a filter to a bitmap: boolean of shape (n,), or already packed in little bit order."""
    if allowed is None:
        return None
    array = as_array(allowed, f"{caller}: allowed")
    if array.dtype == np.bool_ and array.shape == (n,):
        return np.packbits(array, bitorder="little")
    if array.dtype == np.uint8 and array.shape == (code_bytes(n),):
        bitmap = np.ascontiguousarray(array)
        if n % 8:
            bitmap = bitmap.copy()
            bitmap[-1] &= (1 << n % 8) - 1
        return bitmap
    raise InputError(
        f"{caller}: allowed must be bool of shape ({n},), or its bits packed into uint8 of shape "
        f"({code_bytes(n)},), got {array.dtype} of shape {array.shape}."
    )
