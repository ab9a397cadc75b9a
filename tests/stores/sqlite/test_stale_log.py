"""A log is never read into a file that it was not written for, and is never lost unnoticed."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import diffhash as dh
from diffhash.errors import CollectionBusyError, CollectionFileError
from diffhash.stores.sqlite.database import Database

from .helpers import codes, posix


@contextlib.contextmanager
def reading(path):
    """Another program that reads an older version of the file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM meta").fetchone()
    yield
    connection.close()


@pytest.fixture
def quick(monkeypatch):
    """Do not wait ten seconds for readers."""
    monkeypatch.setattr("diffhash.stores.sqlite.database._BUSY_TIMEOUT", 0.01)


@posix
def test_a_log_that_a_writer_leaves_is_not_read_into_a_file_that_replaced_its_own(path, hasher, quick):
    other = path.with_name("other.dh")
    with dh.Collection.create(other, hasher) as made:
        made.add_codes(codes(3), modality="x")
    expected = other.read_bytes()
    writer = dh.Collection.create(path, hasher)
    writer.add_codes(codes(40), modality="x")
    with reading(path):
        writer.add_codes(codes(50), modality="x", payloads=[{"n": n} for n in range(50)])
        other.replace(path)
        with pytest.raises(CollectionBusyError, match="still reading"):
            writer.close()
    assert Path(f"{path}-wal").stat().st_size

    for writable in (False, True):
        with pytest.raises(CollectionFileError, match="was not written for the file"):
            dh.Collection.open(path, writable=writable)

    assert path.read_bytes() == expected


def test_a_log_that_a_writer_leaves_is_read_by_the_next_one(path, collection, quick):
    """The note beside it is about the same file."""
    collection.add_codes(codes(40), modality="x")
    with reading(path):
        collection.add_codes(codes(50), modality="x")
        with pytest.raises(CollectionBusyError, match="still reading"):
            collection.close()
        assert Path(f"{path}-lock").read_text()
        with dh.Collection.open(path) as reader:
            assert len(reader) == 90

    with dh.Collection.open(path, writable=True) as writer:
        assert len(writer) == 90
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@posix
def test_a_write_to_a_log_that_was_removed_is_not_acknowledged(path, filled):
    """SQLite goes on writing to the removed file; a crash would lose what was acknowledged."""
    filled.add_codes(codes(5), modality="x")
    Path(f"{path}-wal").unlink()

    with pytest.raises(CollectionFileError, match=r"-wal was removed .*Close it now"):
        filled.add_codes(codes(7), modality="x")

    filled.close()
    with dh.Collection.open(path) as collection:
        assert len(collection) == 65
        assert collection.verify().ok


@posix
def test_a_reader_without_the_log_is_told_about_the_log(path, filled):
    Path(f"{path}-wal").unlink()
    with pytest.raises(
        CollectionFileError, match="the log was removed, or the file is open under another name"
    ):
        dh.Collection.open(path)


@posix
def test_a_hard_link_to_an_open_collection_is_called_so(path, filled):
    link = path.with_name("link.dh")
    link.hardlink_to(path)
    for writable in (False, True):
        with pytest.raises(CollectionFileError, match=r"another name \(a hard link\)"):
            dh.Collection.open(link, writable=writable)


INTERRUPTED = """
import os, sqlite3, sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute("UPDATE payloads SET payload = '{}'")
connection.execute("UPDATE segments SET crc = 0")
connection.execute("CREATE TABLE more (x)")
os._exit(0)
"""


@posix
def test_a_journal_is_not_read_into_a_file_that_replaced_its_own(path, filled, tmp_path):
    """A process that is killed while it opens or closes the file leaves a journal in place of a log."""
    filled.add_codes(codes(500), modality="x", payloads=[{"text": "x" * 500}] * 500)
    note = Path(f"{path}-lock").read_text()
    filled.close()
    backup = tmp_path / "backup.dh"
    shutil.copy(path, backup)
    subprocess.run([sys.executable, "-c", INTERRUPTED, path], check=True, timeout=60)
    Path(f"{path}-lock").write_text(note)
    expected = backup.read_bytes()
    backup.replace(path)

    for writable in (False, True):
        with pytest.raises(CollectionFileError, match=r"objects\.dh-journal was not written for the file"):
            dh.Collection.open(path, writable=writable)

    assert path.read_bytes() == expected


@posix
def test_the_note_is_there_before_the_file_is_opened_for_writing(path, filled, monkeypatch):
    """Opening changes the mode of the log, which needs a journal."""
    filled.close()
    notes = []
    connect = Database._connect

    def look(self):
        notes.append(Path(f"{path}-lock").read_text())
        return connect(self)

    monkeypatch.setattr(Database, "_connect", look)
    dh.Collection.open(path, writable=True).close()
    assert notes[0].startswith(f"{path.stat().st_ino} ")
    assert len(notes[0].split()[1]) == 32


@posix
def test_replacing_a_collection_removes_its_journal(path, filled, hasher):
    filled.close()
    path.write_bytes(path.read_bytes()[:5000])
    Path(f"{path}-journal").write_bytes(b"of the old file")
    with dh.Collection.create(path, hasher, overwrite=True) as collection:
        assert len(collection) == 0
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@posix
@pytest.mark.parametrize("writable", [False, True])
def test_a_change_that_was_interrupted_is_undone_when_the_file_is_opened(path, filled, writable):
    """Also by a reader, which must not read half of a change."""
    filled.add_codes(codes(500), modality="x", payloads=[{"text": "x" * 500}] * 500)
    filled.close()
    before = path.read_bytes()
    subprocess.run([sys.executable, "-c", INTERRUPTED, path], check=True, timeout=60)
    assert path.read_bytes() != before
    assert Path(f"{path}-journal").stat().st_size

    with dh.Collection.open(path, writable=writable) as collection:
        assert (len(collection), collection.verify().problems) == (560, ())
    assert [file.name for file in path.parent.iterdir()] == [path.name]
