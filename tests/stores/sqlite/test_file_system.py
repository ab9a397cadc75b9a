"""Read-only folders, full disks, and files that are removed or replaced: clear errors, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionError,
    CollectionFileError,
    CollectionNotFoundError,
    CollectionWriteError,
)
from diffhash.stores.sqlite import segments
from diffhash.stores.sqlite.lock import check_wal

from .helpers import codes, posix, sql


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_file_that_is_removed_or_replaced_while_open(path, filled, hasher, how):
    """A write to a file that nobody can find any more is not acknowledged."""
    other = path.with_name("other.dh")
    with dh.Collection.create(other, hasher) as made:
        made.add_codes(codes(3), modality="x")
    reader = dh.Collection.open(path)
    if how == "removed":
        path.unlink()
    elif how == "replaced":
        other.replace(path)
    else:
        path.rename(path.with_name("moved.dh"))

    error = CollectionFileError if how == "replaced" else CollectionNotFoundError
    for act in (
        lambda: filled.add_codes(codes(1), modality="x"),
        lambda: filled.delete([1]),
        lambda: filled.search_arrays(codes(1), into="x"),
        lambda: reader.search_codes(codes(1), into="x"),
        lambda: len(reader),
    ):
        with pytest.raises(error, match=r"Open it again|no file"):
            act()
    if how == "replaced":  # the log still belongs to the old file
        with pytest.raises(CollectionFileError, match="was not written for the file"):
            dh.Collection.open(path)
    reader.close()
    filled.close()
    if how == "replaced":
        with dh.Collection.open(path) as collection:
            assert len(collection) == 3
            assert collection.verify().ok
    elif how == "moved":
        assert not path.exists()


def test_a_write_to_a_file_that_is_removed_meanwhile_is_not_acknowledged(path, filled, monkeypatch):
    """The file can disappear between the check before a transaction and its end."""
    append = segments.append

    def append_and_lose(*arguments):
        append(*arguments)
        path.unlink(missing_ok=True)

    monkeypatch.setattr(segments, "append", append_and_lose)
    with pytest.raises(CollectionError):
        filled.add_codes(codes(2), modality="x")


@posix
def test_closing_keeps_the_log_and_the_lock_of_a_file_that_replaced_ours(path, filled, hasher):
    """They are found by name only, and belong to the new file now."""
    other = path.with_name("other.dh")
    dh.Collection.create(other, hasher).close()
    for suffix in ("-wal", "-shm", "-lock"):  # as a program does that replaces all files of a collection
        Path(f"{path}{suffix}").unlink()
    other.replace(path)
    beside = [Path(f"{path}{suffix}") for suffix in ("-wal", "-lock")]
    for file in beside:
        file.write_bytes(b"of another writer")

    filled.close()

    assert [file.read_bytes() for file in beside] == [b"of another writer"] * 2


KILLED = """
import os, signal, sys
import numpy as np
import diffhash as dh

collection = dh.Collection.open(sys.argv[1], writable=True)
collection.add_codes(np.zeros((5, 2), np.uint8), modality="x")
os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_the_log_of_a_killed_writer_is_not_read_into_another_file(path, filled, tmp_path):
    """A backup that replaces a file whose writer was killed is not changed."""
    filled.close()
    backup, all_of_it = tmp_path / "backup", tmp_path / "copied"
    all_of_it.mkdir()
    shutil.copy(path, backup)
    subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=60)
    for file in path.parent.glob("objects.dh*"):
        shutil.copy(file, all_of_it / file.name)
    before = backup.read_bytes()
    backup.replace(path)

    for writable in (False, True):
        with pytest.raises(CollectionFileError, match="was not written for the file"):
            dh.Collection.open(path, writable=writable)
    assert path.read_bytes() == before
    for suffix in ("-wal", "-shm", "-lock"):
        Path(f"{path}{suffix}").unlink()
    with dh.Collection.open(path) as collection:
        assert (len(collection), collection.verify().problems) == (60, ())
    (all_of_it / "objects.dh-lock").unlink()
    with dh.Collection.open(all_of_it / "objects.dh") as collection:
        assert (len(collection), collection.verify().problems) == (65, ())


@posix
def test_the_log_of_a_killed_writer_is_read_after_a_restart(path, filled, monkeypatch):
    """The device number may have changed then; the file is the same."""
    filled.close()
    subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=60)
    stat = Path.stat

    def stat_elsewhere(self, **options):
        found = stat(self, **options)
        fields = list(found)
        fields[2] += 1
        return os.stat_result(fields)

    assert Path(f"{path}-wal").stat().st_size
    monkeypatch.setattr(Path, "stat", stat_elsewhere)
    check_wal(path)
    monkeypatch.undo()
    with dh.Collection.open(path) as collection:
        assert (len(collection), collection.verify().problems) == (65, ())


@posix
def test_another_collection_in_a_file_with_the_same_inode_is_refused(path, filled, hasher):
    """For example on another disk, or when the inode of a removed file is used again."""
    filled.close()
    subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=60)
    other = path.with_name("other.dh")
    dh.Collection.create(other, hasher).close()
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()
    with pytest.raises(CollectionFileError, match=r"remove \S+-lock and nothing else") as told:
        dh.Collection.open(path)
    assert str(told.value).index("objects.dh-lock") < str(told.value).rindex("objects.dh-wal")


LIMITED = """
import resource, sys
import numpy as np
import diffhash as dh
from diffhash.errors import CollectionWriteError

path = sys.argv[1]
codes = np.random.default_rng(0).integers(0, 256, (5000, 2), dtype=np.uint8)
collection = dh.Collection.open(path, writable=True)
acknowledged = len(collection)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
try:
    for _ in range(1000):
        acknowledged += len(collection.add_codes(codes, modality="x", payloads=[{"a": 1}] * 5000))
except CollectionWriteError as error:
    print(error)
else:
    raise SystemExit("nothing was refused")
assert len(collection) == acknowledged, (len(collection), acknowledged)
collection.search_codes(codes[:2], into="x", where={"a": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
acknowledged += len(collection.add_codes(codes, modality="x"))
collection.close()
print(acknowledged)
"""


@posix
def test_a_limit_on_the_size_of_files_loses_nothing(path, filled):
    filled.close()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    message, acknowledged = done.stdout.strip().split("\n")
    assert "could not be written" in message
    with dh.Collection.open(path) as collection:
        assert len(collection) == int(acknowledged)
        assert collection.verify().problems == ()


@posix
def test_a_full_disk_loses_nothing(tiny_disk, hasher):
    path = tiny_disk / "c.dh"
    collection = dh.Collection.create(path, hasher)
    acknowledged = 0
    with pytest.raises(CollectionWriteError, match="Make room on the disk"):  # noqa: PT012
        while True:
            batch = collection.add_codes(codes(2000), modality="x", payloads=[{"text": "x" * 50}] * 2000)
            acknowledged += len(batch)
    assert acknowledged
    assert len(collection) == acknowledged
    with pytest.raises(CollectionWriteError):
        collection.add_codes(codes(50_000), modality="x", payloads=[{"text": "y" * 50}] * 50_000)
    with pytest.raises(CollectionWriteError):
        collection.index_payload("text")
    assert len(collection.search_codes(codes(3), into="x", where={"text": "x" * 50})) == 3
    try:
        collection.close()
    except CollectionWriteError:
        assert Path(f"{path}-wal").exists()
    with dh.Collection.open(path) as reader:
        assert len(reader) == acknowledged
        assert reader.verify().problems == ()
    with pytest.raises(CollectionError):  # noqa: PT012
        for number in range(100):
            dh.Collection.create(tiny_disk / f"{number}.dh", hasher).close()
    assert not list(tiny_disk.glob("*.part"))


AS_NOBODY = """
import os, sys
import numpy as np
import diffhash as dh
import diffhash.model.serialization
from diffhash.errors import CollectionError, ReadOnlyCollectionError

dh.Collection  # imported now: the user "nobody" may not be able to read the library
path, expected = sys.argv[1], sys.argv[2]
if os.getuid() == 0:  # root can write everywhere
    os.setgid(65534)
    os.setuid(65534)
try:
    open(path + ".new", "w")
    raise SystemExit("the folder can be written to")
except PermissionError:
    pass
codes = np.zeros((1, 2), dtype=np.uint8)
for writable, act in ((True, None), (False, lambda c: c.delete([1]))):
    try:
        collection = dh.Collection.open(path, writable=writable)
        act(collection)
    except ReadOnlyCollectionError as error:
        print(error)
    else:
        raise SystemExit("it could be written to")
if expected == "log":
    try:
        dh.Collection.create(path + ".other", collection.hasher)
    except ReadOnlyCollectionError as error:
        print(error)
with dh.Collection.open(path) as collection:
    assert len(collection) == 60
    assert len(collection.search_codes(codes, into="x", where={"n": {"lt": 9}})[0]) == 9
    assert collection.verify().ok
"""


@pytest.fixture
def open_folder():
    """A folder that everybody can read, unlike the folders of pytest."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def run_as_nobody(folder, path, expected):
    folder.chmod(0o555)
    return subprocess.run(
        [sys.executable, "-c", AS_NOBODY, path, expected],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@posix
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_one_file_in_a_read_only_folder_can_be_read(path, filled, open_folder, mode):
    """A closed collection is one file: a copy of it can be opened in a read-only folder."""
    filled.close()
    if mode == "wal":  # as the file is if others were reading when the writer closed it
        sql(path, "PRAGMA journal_mode = WAL")
    copy = open_folder / "copy.dh"
    shutil.copy(path, copy)
    copy.chmod(0o444)
    before = copy.read_bytes()

    done = run_as_nobody(open_folder, copy, "plain")

    assert done.returncode == 0, done.stderr
    assert copy.read_bytes() == before
    assert [file.name for file in open_folder.iterdir()] == ["copy.dh"]


@posix
def test_a_log_in_a_read_only_folder_is_read_or_reported(path, filled, open_folder):
    """A copy of a file that was being written to has a log, which must not be ignored."""
    copy = open_folder / "copy.dh"
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        Path(f"{copy}{suffix}").chmod(0o444)

    done = run_as_nobody(open_folder, copy, "plain")

    assert done.returncode == 0 or "cannot be written to or opened" in done.stderr
    if done.returncode:
        assert "copy.dh-wal, copy both files" in done.stderr
