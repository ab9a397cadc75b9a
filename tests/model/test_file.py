"""Model files: exact round trips, atomic writes, and clear errors about files that are not valid."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import safetensors.numpy

from diffhash.atomic_write import write_atomically
from diffhash.errors import ModelFileError, NewerFormatError
from diffhash.model.file import (
    FORMAT_VERSION,
    MODEL_FILE,
    pack_model,
    read_model,
    unpack_model,
    write_model,
)


@pytest.fixture
def arrays(rng):
    return {
        "plain": rng.normal(size=(3, 4)),
        "fortran": np.asfortranarray(rng.normal(size=(5, 3)).astype(np.float32)),
        "strided": rng.normal(size=(8, 6))[::2, ::3],
        "transposed": rng.normal(size=(4, 2)).T,
        "whole": np.arange(5),
        "empty": np.empty((0, 3)),
    }


@pytest.fixture
def path(tmp_path, arrays):
    path = tmp_path / "model.dhm"
    write_model(path, {"class": "Test", "text": "ä"}, arrays)
    return path


def test_round_trip_is_exact_for_every_memory_order(path, arrays):
    header, read = read_model(path)
    assert header == {"format_version": FORMAT_VERSION, "class": "Test", "text": "ä"}
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)


def test_other_programs_can_read_the_file_as_safetensors(path, arrays):
    np.testing.assert_array_equal(safetensors.numpy.load_file(path)["plain"], arrays["plain"])


def test_every_truncated_file_is_refused(path):
    data = path.read_bytes()
    for length in [0, 1, 7, 8, 9, 50, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(ModelFileError):
            read_model(path)


def test_a_file_with_a_changed_byte_is_refused(path):
    data = path.read_bytes()
    for position in range(0, len(data), 7):
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(ModelFileError):
            read_model(path)


def test_the_error_about_a_newer_format_recommends_an_upgrade(path):
    tensors = {"a": np.zeros(2)}
    header = json.dumps({"format_version": FORMAT_VERSION + 1})
    safetensors.numpy.save_file(tensors, path, {"diffhash": header, "sha256": "0"})
    with pytest.raises(NewerFormatError, match=f"format version {FORMAT_VERSION + 1}.*Upgrade"):
        read_model(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello, this is a text file and no model",
        pickle.dumps({"diffhash": 1}),
        safetensors.numpy.save({"a": np.zeros(2)}),
        safetensors.numpy.save({"a": np.zeros(2)}, {"diffhash": "no json"}),
        safetensors.numpy.save({"a": np.zeros(2)}, {"diffhash": '{"format_version": "x"}'}),
        safetensors.numpy.save({"a": np.zeros(2)}, {"diffhash": "[1]"}),
    ],
)
def test_other_files_are_refused_and_no_code_in_them_runs(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a model saved by diffhash"):
        read_model(path)


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(path, monkeypatch):
    before = path.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new", MODEL_FILE)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.dhm"]


def test_header_must_be_plain_json(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_model(tmp_path / "m", {"x": float("nan")}, {})
    assert not list(tmp_path.iterdir())


def test_the_same_model_gives_the_same_bytes(path, arrays):
    """The order in which safetensors writes its metadata can change from call to call."""
    header = {"class": "Test", "text": "ä"}
    assert {pack_model(header, arrays) for _ in range(20)} == {path.read_bytes()}


def test_arrays_with_unusual_names_are_read_correctly(arrays):
    named = {f'{name} 名\t"\x7f': array for name, array in arrays.items()}
    _, read = unpack_model(pack_model({"class": "Test"}, named), name="test")
    assert set(read) == set(named)
    for name, array in named.items():
        np.testing.assert_array_equal(read[name], array)
