"""Encoding a feature file: order, number of threads, errors."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from diffhash.errors import InputError, InputFileError, ParameterError
from diffhash.files import encode_file, open_features

#: Linux has a link to each open file there.
OPEN_FILES = Path("/proc/self/fd")


class SlowFirst:
    """Encodes a row to its own number; remembers the threads and the largest number at work at once."""

    def __init__(self, pause=0.02):
        self.pause, self.lock = pause, threading.Lock()
        self.at_work = self.most = 0

    def encode(self, X, modality=None):  # noqa: ARG002 - encode_file passes it
        with self.lock:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        time.sleep(self.pause if X[0, 0] % 2 else 2 * self.pause)
        with self.lock:
            self.at_work -= 1
        if (X < 0).any():
            raise InputError("a number is negative")
        return X[:, :1].astype(np.uint8)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Twelve rows in blocks of one row."""
    monkeypatch.setattr("diffhash.files.features.BLOCK_BYTES", 1)
    np.save(tmp_path / "x.npy", np.arange(12.0)[:, None])
    return open_features(tmp_path / "x.npy")


@pytest.mark.parametrize("n_threads", [1, 3, None])
def test_codes_come_in_the_order_of_the_rows(file, n_threads):
    blocks = list(encode_file(SlowFirst(), file, n_threads=n_threads))
    assert np.concatenate(blocks).ravel().tolist() == list(range(12))


def test_the_environment_limits_the_threads(file, monkeypatch):
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "2")
    hasher = SlowFirst()
    list(encode_file(hasher, file))
    assert hasher.most == 2


def test_the_affinity_of_the_process_limits_the_threads(file, monkeypatch):
    """As `taskset -c 0` sets it, or a container."""
    monkeypatch.delenv("DIFFHASH_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    hasher = SlowFirst()
    list(encode_file(hasher, file))
    assert hasher.most == 1


def test_a_wrong_number_of_threads_is_an_error(file):
    with pytest.raises(ParameterError, match="encode_file: n_threads must be a whole number"):
        next(encode_file(SlowFirst(), file, n_threads=0))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_names_the_file_and_the_block(tmp_path, monkeypatch, n_threads):
    monkeypatch.setattr("diffhash.files.features.BLOCK_BYTES", 1)
    np.save(tmp_path / "x.npy", np.array([[1.0], [2.0], [-1.0], [3.0]]))
    with pytest.raises(InputError, match=r"x\.npy, block of rows from 2: a number is negative"):
        list(encode_file(SlowFirst(), open_features(tmp_path / "x.npy"), n_threads=n_threads))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_file_that_shrinks_while_it_is_encoded_is_an_error(file, n_threads):
    """The size was right when the file was opened; the error is that of the file, without a block."""
    with file.source.path.open("rb+") as content:
        content.truncate(file.source.path.stat().st_size - 8)

    with pytest.raises(InputFileError, match=r"^[^,]*x\.npy is truncated: it ends before its last row"):
        list(encode_file(SlowFirst(), file, n_threads=n_threads))


def handles_of(path):
    """How many open files of this process are this file."""
    found = 0
    for handle in OPEN_FILES.iterdir():
        with suppress(OSError):  # the handle of the folder itself is closed again
            found += handle.samefile(path)
    return found


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system does not list the open files of a process")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_codes_that_are_not_taken_leave_no_open_file(file, n_threads):
    """The threads end before the file is closed, also if the caller stops after the first block."""
    hasher = SlowFirst()
    codes = encode_file(hasher, file, n_threads=n_threads)
    next(codes)
    assert handles_of(file.source.path) == 1

    codes.close()

    assert hasher.at_work == 0
    assert handles_of(file.source.path) == 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_arrays_in_fortran_order_give_the_same_codes(tmp_path, monkeypatch, n_threads):
    """They cannot be read row by row, so another way leads to the same blocks."""
    monkeypatch.setattr("diffhash.files.features.BLOCK_BYTES", 1)
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(12.0).reshape(6, 2)))

    blocks = list(encode_file(SlowFirst(0), open_features(tmp_path / "x.npy"), n_threads=n_threads))

    assert np.concatenate(blocks).ravel().tolist() == [0, 2, 4, 6, 8, 10]
