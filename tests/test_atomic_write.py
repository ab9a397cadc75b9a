"""Files are replaced whole: an interrupted write leaves the old file and nothing else."""

from __future__ import annotations

import os

import pytest

from diffhash.atomic_write import remove_stale_parts, replacing, write_atomically


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a[1].txt"
    path.write_bytes(b"old")
    return path


def only_file(path):
    return [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_new_content_replaces_the_old(path):
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert only_file(path)


def test_the_old_file_stays_until_the_block_ends(path):
    with replacing(path) as part:
        part.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_block_leaves_the_old_file(path, error):
    def interrupted():
        with replacing(path) as part:
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
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert only_file(path)


def test_files_beside_the_temporary_one_are_removed_too(path):
    """SQLite keeps its write-ahead log and its lock in files beside the database."""
    with replacing(path) as part:
        part.write_bytes(b"new")
        part.with_name(f"{part.name}-wal").write_bytes(b"log")
    assert only_file(path)


def test_the_content_and_the_folder_are_synced(path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr("os.fsync", lambda handle: (synced.append(handle), fsync(handle)))
    write_atomically(path, b"new")
    assert len(synced) == (2 if os.name == "posix" else 1)


def test_a_block_that_writes_nothing_is_an_error(path):
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing"):
        write_atomically(tmp_path / "missing" / "a.txt", b"")


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

    with pytest.raises(RuntimeError, match="the cause"), replacing(path) as part:
        fail(part, remove=False)
    with pytest.raises(RuntimeError, match="the cause"), replacing(folder / "file") as part:
        fail(part, remove=True)
