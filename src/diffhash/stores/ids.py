"""Ids as users give them: whole numbers or strings. A store has only one of the two kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

__all__ = ["Ids", "check_kind", "read_ids"]

KINDS = {"int": "whole numbers", "str": "strings"}


@dataclass(frozen=True)
class Ids:
    """Ids of one kind: "int" with ``numbers``, or "str" with ``strings``. The kind of no ids is ""."""

    kind: str
    numbers: NDArray[np.int64]
    strings: list[str]

    def __len__(self) -> int:
        return len(self.numbers) + len(self.strings)

    def take(self, rows: NDArray[np.int64]) -> Ids:
        """The ids of some rows."""
        if self.kind == "str":
            return Ids(self.kind, self.numbers, [self.strings[row] for row in rows.tolist()])
        return Ids(self.kind, self.numbers[rows], self.strings)

    def __getitem__(self, row: int) -> int | str:
        return int(self.numbers[row]) if self.kind == "int" else self.strings[row]


def read_ids(ids: Any, *, caller: str, unique: bool) -> Ids:
    """Check ids. A single id is treated as a list of one.

    Examples
    --------
    >>> read_ids(["sun", "moon"], caller="get", unique=True).strings
    ['sun', 'moon']
    """
    if isinstance(ids, str | int | np.integer):
        ids = [ids]
    if isinstance(ids, bytes | bytearray | memoryview):
        raise InputError(
            f"{caller}: ids are whole numbers or strings, got {type(ids).__name__}. Decode it first."
        )
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise InputError(f"{caller}: ids must have one dimension, got an array of shape {ids.shape}.")
    # NumPy strings lose NUL characters at their end: convert to Python strings.
    if isinstance(ids, np.ndarray) and ids.dtype.kind not in "iu":
        ids = ids.tolist()
    if not isinstance(ids, np.ndarray):
        if not isinstance(ids, Iterable):
            raise InputError(f"{caller}: ids must be a list, got {type(ids).__name__}.")
        ids = list(ids)
    if not len(ids):
        return Ids("", np.empty(0, dtype=np.int64), [])
    if isinstance(ids[0], str):
        return _read_strings(ids, caller, unique)
    return _read_numbers(ids, caller, unique)


def _read_strings(ids: Any, caller: str, unique: bool) -> Ids:
    strings: list[str] = []
    for item in ids:
        if not isinstance(item, str):
            raise InputError(f"{caller}: ids must be all strings or all whole numbers, got {item!r}.")
        strings.append(str(item))
    try:
        "".join(strings).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{caller}: an id is not valid Unicode ({error.reason}).") from error
    if unique and len(set(strings)) != len(strings):
        seen: set[str] = set()
        twice = next(item for item in strings if item in seen or seen.add(item))  # type: ignore[func-returns-value]
        raise InputError(f"{caller}: ids must be unique, {twice!r} is given more than once.")
    return Ids("str", np.empty(0, dtype=np.int64), strings)


def _read_numbers(ids: Any, caller: str, unique: bool) -> Ids:
    if not isinstance(ids, np.ndarray):
        for number in ids:
            if isinstance(number, bool) or not isinstance(number, int | np.integer):
                raise InputError(f"{caller}: ids must be whole numbers or strings, got {number!r}.")
    try:
        if isinstance(ids, np.ndarray) and ids.dtype.kind == "u" and int(ids.max()) >= 2**63:
            raise OverflowError
        numbers = np.array(ids, dtype=np.int64)
    except OverflowError as error:
        raise InputError(f"{caller}: ids must fit 64 bits.") from error
    # Most ids come in order: only others need a sort.
    if unique and np.any(numbers[1:] <= numbers[:-1]):
        ordered = np.sort(numbers)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            raise InputError(f"{caller}: ids must be unique, {twice[0]} is given more than once.")
    return Ids("int", numbers, [])


def check_kind(ids: Ids, kind: str, *, caller: str) -> None:
    """Raise an error if the kind of the ids differs from the kind of the collection."""
    if kind and ids.kind and ids.kind != kind:
        raise InputError(
            f"{caller}: the ids of this collection are {KINDS[kind]}, got {ids[0]!r}. "
            "A collection cannot have both kinds."
        )
