"""A disk that forgets: what may be on it after a power cut, given the changes that a process made.

A write is safe once its file is synced; a name is safe once its folder is synced. Of everything else any
part may be there: writes are dropped, torn at sectors of 512 bytes, and reordered. Changes of names keep
their order, as file systems keep a journal of them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Change", "Disk", "read_changes"]

CREATE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, SYNC_FOLDER = range(1, 8)
_SECTOR = 512
_HEAD = struct.Struct("=5q")


@dataclass(frozen=True)
class Change:
    """One system call. ``offset`` is the new length of a truncation; ``data`` the new name of a renaming."""

    kind: int
    inode: int
    offset: int
    name: str
    data: bytes


def read_changes(log: Path) -> list[Change]:
    """The changes that the library has recorded."""
    return list(_changes(log.read_bytes()))


def _changes(data: bytes) -> Iterator[Change]:
    at = 0
    while at + _HEAD.size <= len(data):
        kind, inode, offset, n_name, n_data = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield Change(
            kind, inode, offset, data[at : at + n_name].decode(), data[at + n_name : at + n_name + n_data]
        )
        at += n_name + n_data


@dataclass
class _File:
    safe: bytes = b""
    waiting: list[Change] = field(default_factory=list)


class Disk:
    """Files before the first change, and the changes since then."""

    def __init__(self, files: dict[str, tuple[int, bytes]]) -> None:
        self._files = {inode: _File(data) for inode, data in files.values()}
        self._names = {name: inode for name, (inode, _) in files.items()}
        self._waiting: list[Change] = []

    def apply(self, change: Change) -> None:
        """Make one more change."""
        file = self._files.setdefault(change.inode, _File())
        if change.kind == CREATE:
            # The number of a removed file may be used again.
            self._files[change.inode] = _File()
            self._waiting.append(change)
        elif change.kind in (WRITE, TRUNCATE):
            file.waiting.append(change)
        elif change.kind == SYNC:
            file.safe, file.waiting = change.data, []
        elif change.kind in (RENAME, UNLINK):
            self._waiting.append(change)
        else:
            self._names = _after(self._names, self._waiting)
            self._waiting = []

    def after_power_cut(self, rng: random.Random) -> dict[str, tuple[int, bytes]]:
        """Files that may be there if the power fails now: inode and content by name."""
        way = rng.choice(["nothing more", "everything", "some", "some", "last only", "torn"])
        kept = len(self._waiting) if way == "everything" else rng.randrange(len(self._waiting) + 1)
        names = _after(self._names, [] if way == "nothing more" else self._waiting[:kept])
        return {name: (inode, self._content(inode, way, rng)) for name, inode in names.items()}

    def _content(self, inode: int, way: str, rng: random.Random) -> bytes:
        file = self._files.setdefault(inode, _File())
        data = bytearray(file.safe)
        for number, change in enumerate(file.waiting):
            last = number == len(file.waiting) - 1
            keep = {"nothing more": False, "everything": True, "last only": last}.get(way, rng.random() < 0.5)
            if not keep:
                continue
            if change.kind == TRUNCATE:
                data[:] = data[: change.offset].ljust(change.offset, b"\0")
                continue
            for start in range(0, len(change.data), _SECTOR):
                if way == "torn" and rng.random() < 0.5:
                    continue
                part = change.data[start : start + _SECTOR]
                at = change.offset + start
                data[len(data) :] = bytes(max(0, at - len(data)))
                data[at : at + len(part)] = part
        return bytes(data)


def _after(names: dict[str, int], changes: list[Change]) -> dict[str, int]:
    names = dict(names)
    for change in changes:
        if change.kind == CREATE:
            names[change.name] = change.inode
        else:
            inode = names.pop(change.name, None)
            if change.kind == RENAME:
                names[change.data.decode()] = change.inode if inode is None else inode
    return names
