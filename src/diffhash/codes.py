"""Packed codes: pack bits into bytes, unpack them, and check arrays of codes.

Bit ``b`` of a code is bit ``b % 8`` of its byte ``b // 8`` (little bit order), and the
padding bits of the last byte are zero, so that equal codes are equal bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import CodeError
from .types import BoolArray, CodeArray
from .validation import as_array

__all__ = ["check_codes", "check_padding", "code_bytes", "pack", "unpack"]


def code_bytes(n_bits: int) -> int:
    """Number of bytes of a code with ``n_bits`` bits.

    Examples
    --------
    >>> code_bytes(64), code_bytes(65)
    (8, 9)
    """
    return -(-n_bits // 8)


def pack(bits: NDArray[Any]) -> CodeArray:
    """Pack bits into bytes.

    Parameters
    ----------
    bits : array of shape (n, n_bits)
        Boolean or numbers; everything but zero becomes a one.

    Returns
    -------
    uint8 array of shape (n, ceil(n_bits / 8))

    Examples
    --------
    >>> pack(np.array([[True, False, False, True]]))
    array([[9]], dtype=uint8)
    """
    array = as_array(bits, "pack: bits")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise CodeError(
            f"pack: expected bits of shape (n, n_bits), got {array.dtype} of shape {array.shape}."
        )
    return np.packbits(array.astype(np.bool_, copy=False), axis=1, bitorder="little")


def unpack(codes: CodeArray, n_bits: int) -> BoolArray:
    """Unpack bytes into a boolean array of shape (n, n_bits). This is the inverse of :func:`pack`.

    Examples
    --------
    >>> unpack(np.array([[9]], dtype=np.uint8), 4).astype(int)
    array([[1, 0, 0, 1]])
    """
    array = check_codes(codes, caller="unpack", n_bits=n_bits)
    return np.unpackbits(array, axis=1, count=n_bits, bitorder="little").view(np.bool_)


def check_codes(codes: Any, *, caller: str, name: str = "codes", n_bits: int | None = None) -> CodeArray:
    """Check that an array holds packed codes, and return it with its rows contiguous in memory.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes)
        Copied only if it is not contiguous.
    caller, name : str
        The function and its parameter, for error messages.
    n_bits : int, optional
        If given, the codes must have the width of this number of bits.

    Raises
    ------
    CodeError
        If the type, the number of dimensions or the width is wrong.

    Examples
    --------
    >>> check_codes(np.zeros((2, 1), dtype=np.uint8), caller="search", n_bits=9)
    Traceback (most recent call last):
    diffhash.errors.CodeError: search: codes must be packed codes of 9 bits, uint8 of shape (n, 2),
    got uint8 of shape (2, 1). Encode them with the same model, or pack bits with diffhash.codes.pack.
    """
    array = as_array(codes, f"{caller}: {name}")
    width = "bytes" if n_bits is None else code_bytes(n_bits)
    if array.dtype != np.uint8 or array.ndim != 2 or (n_bits is not None and array.shape[1] != width):
        bits = "" if n_bits is None else f" of {n_bits} bits"
        raise CodeError(
            f"{caller}: {name} must be packed codes{bits}, uint8 of shape (n, {width}), got {array.dtype} of "
            f"shape {array.shape}. Encode them with the same model, or pack bits with diffhash.codes.pack."
        )
    return np.ascontiguousarray(array)


def check_padding(codes: CodeArray, n_bits: int, *, caller: str) -> None:
    """Raise :class:`~diffhash.errors.CodeError` if a padding bit of a code is one.

    Examples
    --------
    >>> check_padding(np.array([[0b0011]], dtype=np.uint8), 2, caller="add")
    """
    if n_bits % 8 and (codes[:, -1] >> (n_bits % 8)).any():
        raise CodeError(
            f"{caller}: codes of {n_bits} bits must have zeros in the padding bits of their last byte. "
            "Pack them with diffhash.codes.pack, or give the right n_bits."
        )
