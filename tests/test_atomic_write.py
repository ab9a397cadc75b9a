"""Files are replaced whole: an interrupted write leaves the old file and nothing else."""

from __future__ import annotations

import errno
import os

import pytest

from diffhash.atomic_write import remove_stale_parts, replacing, write_atomically
from diffhash.errors import InputError, OutputFileError, OutputFolderError
from diffhash.output_files import OutputKind, text_file

TEXT = OutputKind("text", text_file(".txt", ""))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a[1].txt"
    path.write_bytes(b"old")
    return path


def only_file(path):
    return [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_new_content_replaces_the_old(path):
    write_atomically(path, b"new", TEXT)
    assert path.read_bytes() == b"new"
    assert only_file(path)


def test_the_old_file_stays_until_the_block_ends(path):
    with replacing(path, TEXT) as part:
        part.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_block_leaves_the_old_file(path, error):
    def interrupted():
        with replacing(path, TEXT) as part:
            part.write_bytes(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_bytes() == b"old"
    assert only_file(path)


@pytest.mark.parametrize("name", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_old_file(path, monkeypatch, name):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(name, fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new", TEXT)
    assert path.read_bytes() == b"old"
    assert only_file(path)


def test_files_beside_the_temporary_one_are_removed_too(path):
    """SQLite keeps its write-ahead log and its lock in files beside the database."""
    with replacing(path, TEXT) as part:
        part.write_bytes(b"new")
        part.with_name(f"{part.name}-wal").write_bytes(b"log")
    assert only_file(path)


def test_the_content_and_the_folder_are_synced(path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr("os.fsync", lambda handle: (synced.append(handle), fsync(handle)))
    write_atomically(path, b"new", TEXT)
    assert len(synced) == (2 if os.name == "posix" else 1)


def test_a_block_that_writes_nothing_is_an_error(path):
    with pytest.raises(OutputFileError, match="No such file"), replacing(path, TEXT):
        pass
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(OutputFolderError, match=r"there is no folder .*missing"):
        write_atomically(tmp_path / "missing" / "a.txt", b"", TEXT)


def test_stale_parts_of_this_path_only_are_removed(path):
    kept = [".a[1].txt.gz.0123abcd.part", ".a[1].txt.part", ".a1.txt.0123abcd.part", "other.part"]
    for name in (*kept, ".a[1].txt.0123abcd.part", ".a[1].txt.0123abcd.part-wal"):
        (path.parent / name).touch()
    remove_stale_parts(path)
    assert {p.name for p in path.parent.iterdir()} == {*kept, path.name}


def test_stale_parts_of_a_part_are_removed(path):
    """A collection is itself written atomically to the temporary file of a build."""
    (path.parent / f"..{path.name}.0123abcd.part.4567cdef.part").touch()
    of_a_hidden_file = path.parent / f"..{path.name}.0123abcd.part"
    of_a_hidden_file.touch()

    remove_stale_parts(path)

    assert set(path.parent.iterdir()) - {path} == {of_a_hidden_file}


def test_the_error_of_the_block_is_not_hidden_by_the_cleaning(path):
    """The temporary file may be a folder by now, or its own folder may be gone."""
    folder = path.parent / "gone"
    folder.mkdir()

    def fail(part, *, remove):
        folder.rmdir() if remove else part.mkdir()
        raise RuntimeError("the cause")

    with pytest.raises(RuntimeError, match="the cause"), replacing(path, TEXT) as part:
        fail(part, remove=False)
    with pytest.raises(RuntimeError, match="the cause"), replacing(folder / "file", TEXT) as part:
        fail(part, remove=True)


def test_a_file_of_another_kind_is_not_replaced(path):
    path.write_bytes(b"SQLite format 3\0 and more")

    with pytest.raises(OutputFileError, match=r"a\[1\]\.txt is not a text, so it is not replaced"):
        write_atomically(path, b"new", TEXT)

    assert path.read_bytes() == b"SQLite format 3\0 and more"
    assert only_file(path)


def test_a_file_of_another_kind_that_appears_during_the_work_is_not_replaced(path):
    def write_slowly():
        with replacing(path, TEXT) as part:
            part.write_bytes(b"new")
            path.write_bytes(b"binary \0")

    with pytest.raises(OutputFileError, match="is not a text"):
        write_slowly()
    assert path.read_bytes() == b"binary \0"
    assert only_file(path)


def test_an_empty_file_is_replaced(tmp_path):
    (tmp_path / "a.gif").touch()
    write_atomically(tmp_path / "a.gif", b"new", TEXT)
    assert (tmp_path / "a.gif").read_bytes() == b"new"


def test_a_folder_or_a_device_is_not_replaced(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    for path in (tmp_path / "folder.txt", os.devnull):
        with pytest.raises(OutputFileError, match="is not a file, so it cannot be replaced"):
            write_atomically(path, b"new", TEXT)


@pytest.mark.parametrize("length", [245, 255, 300])
def test_a_name_that_is_too_long_is_an_error_of_diffhash(tmp_path, length):
    with pytest.raises(OutputFileError, match=r"cannot be written: .*Choose a shorter name"):
        write_atomically(tmp_path / ("a" * (length - 4) + ".txt"), b"new", TEXT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "Make room on the disk and try again"),
        (errno.EACCES, "Choose a folder that you may write to"),
        (errno.EIO, "cannot be written: "),
    ],
)
def test_errors_of_the_disk_say_what_to_do(path, monkeypatch, number, words):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OutputFileError, match=words) as caught:
        write_atomically(path, b"new", TEXT)
    assert caught.value.errno == number
    assert path.read_bytes() == b"old"


def test_the_error_of_a_file_that_the_block_reads_is_not_changed(path):
    def read_another():
        with replacing(path, TEXT):
            (path.parent / "missing").read_bytes()

    with pytest.raises(FileNotFoundError) as caught:
        read_another()
    assert not isinstance(caught.value, OutputFileError)


@pytest.mark.parametrize("name", [3, None, "a\0b", "a\udc80\ud800"])
def test_what_is_not_the_name_of_a_file_is_refused(name):
    with pytest.raises(InputError):
        write_atomically(name, b"new", TEXT)
