"""Codes and ids in memory that can grow while other threads search."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import check_padding, code_bytes
from ..errors import CodeError, ParameterError
from ..native import argument_checks
from ..native.search import IndexedCodes, increasing
from ..types import CodeArray
from ..validation import check_count
from .id_rows import check_unique, given_ids, largest_id, new_ids, rows_of

__all__ = ["CodeBuffer"]

# Spare room when the arrays grow. With it an index takes at most 1.1 times the memory of codes and ids.
_SPARE = 0.06


class CodeBuffer:
    """Codes and ids. ``current`` is what a search reads; it is replaced, never changed.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes), or None for no codes
        Not copied if contiguous.
    ids : int array of shape (n,), or None for the row numbers
    n_bits : int, or None for all bits of the bytes
    """

    def __init__(self, codes: CodeArray | None, ids: Any, n_bits: int | None, *, caller: str) -> None:
        if codes is None:
            codes = _no_codes(n_bits, caller)
        array = argument_checks.check_kernel_codes(codes, caller=caller, name="codes")
        bits = argument_checks.check_n_bits(n_bits, array.shape[1], caller=caller)
        check_padding(array, bits, caller=caller)
        numbers = None if ids is None else argument_checks.check_ids(ids, len(array), caller=caller)
        ordered = numbers is None or increasing(numbers)
        if numbers is not None and not ordered:
            check_unique(np.sort(numbers), caller=caller)
        self.current = IndexedCodes(array, bits, numbers, ordered)
        self._lock = threading.Lock()
        # Allocated memory; the codes and ids in use are its first rows.
        self._codes: CodeArray = array
        self._ids: NDArray[np.int64] | None = numbers

    @property
    def nbytes(self) -> int:
        """Allocated memory in bytes."""
        return self._codes.nbytes + (0 if self._ids is None else self._ids.nbytes)

    def append(self, codes: Any, ids: Any, *, caller: str) -> None:
        """Check new codes and their ids, and append them."""
        with self._lock:
            old = self.current
            n, width = old.codes.shape
            new = argument_checks.check_kernel_codes(codes, caller=caller, name="codes")
            if new.shape[1] != width:
                raise CodeError(f"{caller}: the index has codes of {width} bytes, got shape {new.shape}.")
            check_padding(new, old.n_bits, caller=caller)
            numbers = new_ids(old, ids, len(new), caller=caller)
            if len(new) == 0:
                return
            ordered = old.increasing and increasing(numbers) and (not n or numbers[0] > largest_id(old))
            # No array of ids is needed while the ids are the row numbers.
            plain = old.ids is None and ordered and numbers[0] == n and numbers[-1] == n + len(new) - 1
            self._codes = _grown(self._codes, old.codes, new)
            if not plain:
                self._ids = _grown(self._ids, np.arange(n) if old.ids is None else old.ids, numbers)
            ids_in_use = None if self._ids is None else self._ids[: n + len(new)]
            self.current = IndexedCodes(self._codes[: n + len(new)], old.n_bits, ids_in_use, ordered)

    def remove(self, ids: Any, *, caller: str) -> int:
        """Remove the codes with these ids; returns how many there were."""
        with self._lock:
            old = self.current
            removed = rows_of(old, np.unique(given_ids(ids, caller=caller)))
            count = int(np.count_nonzero(removed))
            if count:
                keep = ~removed
                self._codes = old.codes[keep]
                self._ids = np.flatnonzero(keep) if old.ids is None else old.ids[keep]
                self.current = IndexedCodes(self._codes, old.n_bits, self._ids, old.increasing)
            return count


def _no_codes(n_bits: int | None, caller: str) -> CodeArray:
    if n_bits is None:
        raise ParameterError(f"{caller}: pass codes, or n_bits for an empty index.")
    bits = check_count(n_bits, "n_bits", caller=caller, maximum=argument_checks.MAX_BITS)
    return np.empty((0, code_bytes(bits)), dtype=np.uint8)


def _grown(buffer: NDArray[Any] | None, used: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Append ``new`` to ``used``: in the same buffer if it has room, otherwise in a larger one.

    Rows after those in use may be written during a search, because a search reads only the rows
    that existed when it began.
    """
    n, total = len(used), len(used) + len(new)
    own = buffer is not None and buffer.base is None and buffer.flags.writeable and len(buffer) > n
    if not own or buffer is None or len(buffer) < total:
        buffer = np.empty((total + int(_SPARE * total), *used.shape[1:]), dtype=used.dtype)
        buffer[:n] = used
    buffer[n:total] = new
    return buffer
