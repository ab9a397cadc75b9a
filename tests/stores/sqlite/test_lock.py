"""The lock of a writer, also as Windows has it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionBusyError
from diffhash.stores.sqlite import lock
from diffhash.stores.sqlite.lock import WriterLock, check_wal

CODES = np.zeros((2, 2), dtype=np.uint8)


@pytest.fixture
def windows(monkeypatch):
    """Locks of Windows: on bytes from where the handle stands, and no open file can be removed."""
    handles: dict[int, str] = {}
    locked: list[int] = []
    opened, closed, unlink = os.open, os.close, Path.unlink

    def open_noted(path, *arguments, **options):
        handle = opened(path, *arguments, **options)
        handles[handle] = os.fspath(path)
        return handle

    def close_noted(handle):
        handles.pop(handle, None)
        closed(handle)

    def unlink_closed(self, missing_ok=False):
        if os.fspath(self) in handles.values():
            raise PermissionError(13, "it is open", os.fspath(self))
        unlink(self, missing_ok=missing_ok)

    def locking(handle, mode, count):
        assert (mode, count) == (2, 1)
        locked.append(os.lseek(handle, 0, os.SEEK_CUR))

    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2), raising=False)
    monkeypatch.setattr(os, "open", open_noted)
    monkeypatch.setattr(os, "close", close_noted)
    monkeypatch.setattr(Path, "unlink", unlink_closed)
    return locked


def test_the_note_can_be_read_while_windows_holds_the_lock(windows, path, hasher):
    with dh.Collection.create(path, hasher) as writer:
        writer.add_codes(CODES, modality="x")
        note = Path(f"{path}-lock").read_text()
        assert note.startswith(f"{path.stat().st_ino} ")
        assert windows
        assert min(windows) > len(note) + 1000
        with dh.Collection.open(path) as reader:
            assert len(reader) == 2
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_note_that_cannot_be_read_is_that_of_a_writer(path, filled, monkeypatch):
    """Others cannot read it, so somebody holds it: reading goes on beside a writer."""
    assert Path(f"{path}-wal").stat().st_size

    def refuse(self, *_):
        raise PermissionError(13, "locked", os.fspath(self))

    monkeypatch.setattr(lock, "_held", {})  # as another process sees it
    monkeypatch.setattr(Path, "read_text", refuse)
    check_wal(path)
    with dh.Collection.open(path) as reader:
        assert len(reader) == 60
    monkeypatch.undo()


def test_releasing_twice_does_not_let_go_of_the_lock_of_the_next(path):
    first = WriterLock(path, 0.0, caller="first")
    first.release()
    second = WriterLock(path, 0.0, caller="second")
    first.release()
    with pytest.raises(CollectionBusyError):
        WriterLock(path, 0.0, caller="third")
    second.release()
    assert list(path.parent.iterdir()) == []
