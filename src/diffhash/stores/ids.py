"""Ids as users give them: whole numbers or strings, one kind in a collection."""

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
    """Ids of one kind; of ``numbers`` and ``strings`` the other one is empty. No ids have no kind."""

    kind: str
    numbers: NDArray[np.int64]
    strings: list[str]

    def __len__(self) -> int:
        return len(self.numbers) + len(self.strings)

    def __getitem__(self, row: int) -> int | str:
        return int(self.numbers[row]) if self.kind == "int" else self.strings[row]


def read_ids(ids: Any, *, caller: str, unique: bool) -> Ids:
    """Check ids; a single one is a list of one.

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
    # Not by NumPy: its strings lose the zeros at their end.
    if isinstance(ids, np.ndarray) and ids.dtype.kind not in "iu":
        ids = ids.tolist()
    if not isinstance(ids, np.ndarray):
        if not isinstance(ids, Iterable):
            raise InputError(f"{caller}: ids must be a list, got {type(ids).__name__}.")
        ids = list(ids)
    if not len(ids):
        return Ids("", np.empty(0, dtype=np.int64), [])
    if isinstance(ids[0], str):
        return _names(ids, caller, unique)
    return _numbers(ids, caller, unique)


def _names(ids: Any, caller: str, unique: bool) -> Ids:
    names: list[str] = []
    for name in ids:
        if not isinstance(name, str):
            raise InputError(f"{caller}: ids must be all strings or all whole numbers, got {name!r}.")
        names.append(str(name))
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{caller}: an id is not valid Unicode ({error.reason}).") from error
    if unique and len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"{caller}: ids must be unique, {twice!r} is there more than once.")
    return Ids("str", np.empty(0, dtype=np.int64), names)


def _numbers(ids: Any, caller: str, unique: bool) -> Ids:
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
            raise InputError(f"{caller}: ids must be unique, {twice[0]} is there more than once.")
    return Ids("int", numbers, [])


def check_kind(ids: Ids, kind: str, *, caller: str) -> None:
    """Refuse ids of another kind than the collection has."""
    if kind and ids.kind and ids.kind != kind:
        raise InputError(
            f"{caller}: the ids of this collection are {KINDS[kind]}, got {ids[0]!r}. "
            "A collection has ids of one kind."
        )
