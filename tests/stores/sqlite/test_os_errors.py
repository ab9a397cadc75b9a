"""Errors of the operating system, and values that would hang, are errors of diffhash."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionError,
    CollectionNotFoundError,
    CollectionWriteError,
    OutputFileError,
    ParameterError,
    ReadOnlyCollectionError,
)
from diffhash.stores.sqlite import lock

from .helpers import codes, posix


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("call", ["open", "write", "ftruncate"])
@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (errno.ENOSPC, CollectionWriteError, "Make room on the disk"),
        (errno.EDQUOT, CollectionWriteError, "Make room on the disk"),
        (errno.EACCES, ReadOnlyCollectionError, "Open the collection for reading"),
        (errno.EIO, CollectionWriteError, "cannot be written"),
    ],
)
def test_a_disk_that_refuses_the_lock_is_reported(path, filled, monkeypatch, call, number, error, words):
    filled.close()
    monkeypatch.setattr(lock.os, call, failing(number))
    with pytest.raises(error, match=words):
        dh.Collection.open(path, writable=True)
    monkeypatch.undo()
    with dh.Collection.open(path, writable=True) as collection:
        assert len(collection) == 60


@pytest.mark.parametrize("call", ["write", "ftruncate"])
def test_a_collection_that_cannot_be_opened_after_it_was_made_leaves_no_file(path, hasher, monkeypatch, call):
    monkeypatch.setattr(lock.os, call, failing(errno.ENOSPC))
    with pytest.raises(CollectionWriteError, match="Make room on the disk"):
        dh.Collection.create(path, hasher)
    monkeypatch.undo()
    assert list(path.parent.iterdir()) == []
    dh.Collection.create(path, hasher).close()


@pytest.mark.parametrize("timeout", [None, float("nan"), -1, "1", True])
def test_a_timeout_that_is_not_a_number_is_refused(path, filled, hasher, timeout):
    """NaN would wait for ever."""
    for act in (
        lambda: dh.Collection.open(path, timeout=timeout),
        lambda: dh.Collection.open(path, writable=True, timeout=timeout),
        lambda: dh.Collection.create(path, hasher, overwrite=True, timeout=timeout),
    ):
        with pytest.raises(ParameterError, match="timeout must be a number"):
            act()


@pytest.mark.parametrize("length", [252, 255, 256, 5000])
def test_a_name_that_is_too_long_is_reported(tmp_path, hasher, length):
    path = tmp_path / ("n" * (length - 3) + ".dh")
    for act in (
        lambda: dh.Collection.open(path),
        lambda: dh.Collection.open(path, writable=True),
        lambda: dh.Collection.create(path, hasher),
        lambda: dh.Collection.create(path / "c.dh", hasher),
    ):
        with pytest.raises(CollectionError):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_entered_is_reported(path, monkeypatch):
    monkeypatch.setattr(Path, "is_file", failing(errno.EACCES))
    with pytest.raises(CollectionNotFoundError, match="cannot be opened"):
        dh.Collection.open(path)


def test_a_full_disk_during_an_export_leaves_nothing(filled, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", failing(errno.ENOSPC))
    for form in ("parquet", "npy", "faiss"):
        with pytest.raises(OutputFileError, match="Make room on the disk"):
            filled.export(tmp_path / f"out.{form}", form, modality="x")
    assert not list(tmp_path.glob("*out*"))


@posix
def test_a_full_disk_during_an_export_and_a_save_is_reported(tiny_disk, collection, hasher):
    """The errors of the libraries that write the files, and not only of the sync at the end."""
    collection.add_codes(codes(200_000), modality="x")
    (tiny_disk / "ballast").write_bytes(os.urandom(900_000))
    for form in ("parquet", "npy", "faiss"):
        with pytest.raises(OutputFileError, match="cannot be written"):
            collection.export(tiny_disk / f"out.{form}", form, modality="x")
    (tiny_disk / "more").write_bytes(os.urandom(140_000))
    with pytest.raises(OutputFileError, match="Make room on the disk"):
        hasher.save(tiny_disk / "m.dhm")
    with pytest.raises(OutputFileError, match="cannot be written"):
        dh.HammingIndex(codes(200_000)).save(tiny_disk / "i.dhi")
    with pytest.raises(CollectionWriteError, match="Make room on the disk"):
        dh.Collection.create(tiny_disk / "c.dh", hasher)
    assert {path.name for path in tiny_disk.iterdir()} == {"ballast", "more"}
