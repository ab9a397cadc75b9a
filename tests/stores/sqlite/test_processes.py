"""Several processes: many read, one writes, and a forked process must open its own collection."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionBusyError

posix = pytest.mark.skipif(os.name != "posix", reason="forks of POSIX")

WRITER = """
import sys
import numpy as np
import diffhash as dh

with dh.Collection.open(sys.argv[1], writable=True) as collection:
    print("open", flush=True)
    for number in range(int(sys.argv[2])):
        sys.stdin.readline()
        ids = [f"{number} {row}" for row in range(10)]
        collection.add_codes(
            np.full((10, 2), number, np.uint8), modality="x", ids=ids, payloads=[{"batch": number}] * 10
        )
        if number % 5 == 4:
            collection.delete([f"{number - 1} {row}" for row in range(10)])
        if number % 8 == 7:
            collection.compact()
        print(number, flush=True)
"""


class Writer:
    """A process that keeps the collection open and adds ten objects at every step."""

    def __init__(self, path, steps):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(steps)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "open\n"  # from now on it can write

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def test_a_reader_sees_each_write_when_it_is_acknowledged(path, collection):
    collection.close()
    query = np.zeros((1, 2), np.uint8)
    with dh.Collection.open(path) as reader, Writer(path, 17) as writer:
        expected = set()
        for _ in range(17):
            number = writer.step()
            expected |= {f"{number} {row}" for row in range(10)}
            if number % 5 == 4:
                expected -= {f"{number - 1} {row}" for row in range(10)}

            ids, _ = reader.search_arrays(query, into="x", k=1000)

            assert set(ids[0]) == expected
            assert len(reader) == len(expected)
            (hits,) = reader.search_codes(query, into="x", k=1000, where={"batch": number})
            assert {hit.id for hit in hits} == {f"{number} {row}" for row in range(10)}
        assert writer.process.stdin.close() is None
        assert writer.process.wait(60) == 0
        assert len(reader) == len(expected)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_reader_always_sees_whole_batches(path, collection):
    """While another process adds, removes and compacts, no search sees a part of one write."""
    collection.close()
    with dh.Collection.open(path) as reader, Writer(path, 60) as writer:
        stepping = threading.Thread(target=lambda: [writer.step() for _ in range(60)])
        stepping.start()
        seen = 0
        while stepping.is_alive():
            (hits,) = reader.search_codes(np.zeros((1, 2), np.uint8), into="x", k=10_000)
            assert len(hits) % 10 == 0
            assert all(hit.payload["batch"] == int(hit.id.split()[0]) for hit in hits)
            seen += 1
        stepping.join()
    assert seen > 0
    with dh.Collection.open(path) as reader:
        assert len(reader) == 480
        assert reader.verify().ok


def test_a_second_writer_gets_an_error_or_waits(path, collection, hasher):
    collection.close()
    with Writer(path, 1) as writer:
        with pytest.raises(CollectionBusyError, match="being written to by another process"):
            dh.Collection.open(path, writable=True)
        with pytest.raises(CollectionBusyError):
            dh.Collection.create(path, hasher, overwrite=True, timeout=0.1)
        with dh.Collection.open(path) as reader:
            assert len(reader) == 0
        threading.Timer(0.3, writer.step).start()
        with dh.Collection.open(path, writable=True, timeout=60) as second:
            assert len(second) == 10
            assert second.delete(["0 3"]) == 1


def test_a_second_writer_in_the_same_process_gets_an_error(path, collection):
    link = path.with_name("link.dh")
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(CollectionBusyError, match="another Collection"):
            dh.Collection.open(name, writable=True)
    collection.add_codes(np.zeros((1, 2), np.uint8), modality="x")
    with dh.Collection.open(link) as reader:
        assert len(reader) == 1


RACE = """
import sys
import numpy as np
import diffhash as dh

for _ in range(int(sys.argv[2])):
    with dh.Collection.open(sys.argv[1], writable=True, timeout=120) as collection:
        collection.add_codes(np.zeros((1, 2), np.uint8), modality="x")
"""


def test_writers_that_take_turns_lose_nothing(path, collection):
    """Each of them removes the lock file: none may lock a file that was removed."""
    collection.close()
    racers = [subprocess.Popen([sys.executable, "-c", RACE, path, "25"]) for _ in range(3)]
    assert [racer.wait(240) for racer in racers] == [0, 0, 0]
    with dh.Collection.open(path) as reader:
        assert len(reader) == 75
        assert reader.verify().ok
    assert [file.name for file in path.parent.iterdir()] == [path.name]


FORK = """
import os, sys
import numpy as np
import diffhash as dh
from diffhash.errors import CollectionBusyError, CollectionError

collection = dh.Collection.open(sys.argv[1], writable=True)
child = os.fork()
if child == 0:
    try:
        for act in (lambda: len(collection), lambda: collection.delete([1]), lambda: collection.get(1)):
            try:
                act()
                os._exit(2)
            except CollectionError as error:
                assert "Open it again here" in str(error)
        collection.close()
        try:
            dh.Collection.open(sys.argv[1], writable=True)
            os._exit(3)
        except CollectionBusyError:
            pass
        with dh.Collection.open(sys.argv[1]) as own:
            os._exit(0 if len(own) == 60 else 4)
    finally:
        os._exit(5)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
collection.add_codes(np.zeros((1, 2), np.uint8), modality="x")
assert len(collection) == 61
collection.close()
"""


@posix
def test_a_forked_child_must_open_its_own_collection(path, filled):
    filled.close()
    done = subprocess.run(
        [sys.executable, "-c", FORK, path], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    with dh.Collection.open(path) as reader:
        assert len(reader) == 61
