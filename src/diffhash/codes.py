"""Packed codes: bits to bytes and back.

Bit ``b`` of a code is bit ``b % 8`` of its byte ``b // 8`` (little bit order), and the
padding bits of the last byte are zero, so that equal codes are equal bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import CodeError
from .types import BoolArray, CodeArray

__all__ = ["check_padding", "code_bytes", "pack", "unpack"]


def code_bytes(n_bits: int) -> int:
    """Bytes that a code of ``n_bits`` takes.

    Examples
    --------
    >>> code_bytes(64), code_bytes(65)
    (8, 9)
    """
    return -(-n_bits // 8)


def pack(bits: NDArray[Any]) -> CodeArray:
    """Pack truth values into bytes.

    Parameters
    ----------
    bits : array of shape (n, n_bits)
        Boolean, or anything of which non-zero means one.

    Returns
    -------
    uint8 array of shape (n, ceil(n_bits / 8))

    Examples
    --------
    >>> pack(np.array([[True, False, False, True]]))
    array([[9]], dtype=uint8)
    """
    if bits.ndim != 2:
        raise CodeError(f"pack: expected bits of shape (n, n_bits), got {bits.shape}.")
    return np.packbits(bits, axis=1, bitorder="little")


def unpack(codes: CodeArray, n_bits: int) -> BoolArray:
    """Unpack bytes into truth values of shape (n, n_bits), the inverse of :func:`pack`.

    Examples
    --------
    >>> unpack(np.array([[9]], dtype=np.uint8), 4).astype(int)
    array([[1, 0, 0, 1]])
    """
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != code_bytes(n_bits):
        raise CodeError(
            f"unpack: codes of {n_bits} bits are uint8 of shape (n, {code_bytes(n_bits)}), "
            f"got {codes.dtype} of shape {codes.shape}."
        )
    return np.unpackbits(codes, axis=1, count=n_bits, bitorder="little").view(np.bool_)


def check_padding(codes: CodeArray, n_bits: int, *, caller: str) -> None:
    """Refuse codes with ones in their padding bits."""
    if n_bits % 8 and (codes[:, -1] >> (n_bits % 8)).any():
        raise CodeError(
            f"{caller}: codes of {n_bits} bits must have zeros in the padding bits of their last byte. "
            "Pack them with diffhash.codes.pack, or give the right n_bits."
        )
