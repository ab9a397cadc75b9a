"""Model files that describe more than they hold, or that the system does not let us read."""

from __future__ import annotations

import json
import os
import tracemalloc

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import ModelFileError, ModelNotFoundError
from diffhash.model import FitReport, load_model
from diffhash.model.file import is_model_file, pack_model, read_model, unpack_model, write_model


@pytest.fixture
def saved(small_data, small_pairs, tmp_path):
    path = tmp_path / "model.dhm"
    dh.KernelDiffHash(n_bits=3, n_landmarks=20).fit(small_data.train.views, small_pairs).save(path)
    return path


@pytest.fixture
def peak():
    """Gives the largest memory, in bytes, that was allocated since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def with_header(data, change):
    """A packed model whose outer header was changed; its arrays stay as they are."""
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    change(head)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def test_an_array_without_bytes_cannot_ask_for_memory(saved, peak):
    """The mean of landmarks of shape (0, 2 * 10 ** 9) would have 16 GB."""
    header, arrays = read_model(saved)
    arrays["map/0/landmarks"] = np.empty((0, 2 * 10**9), dtype=np.float32)
    write_model(saved, header, arrays)

    with pytest.raises(ModelFileError, match="arrays of another size"):
        dh.load(saved)
    assert peak() < 10_000_000


def test_a_side_that_is_a_list_cannot_ask_for_memory(saved, peak):
    """A list times a number is the list repeated."""

    def repeat(head):
        described = next(value for name, value in head.items() if name != "__metadata__")
        described["shape"] = [50_000_000, [1, 2, 3]]

    saved.write_bytes(with_header(saved.read_bytes(), repeat))

    with pytest.raises(ModelFileError, match="arrays of another size"):
        dh.load(saved)
    assert peak() < 10_000_000


def test_a_small_file_may_hold_an_array_without_rows():
    data = pack_model({"class": "Test"}, {"a": np.empty((0, 5000))})

    assert unpack_model(data, name="test")[1]["a"].shape == (0, 5000)


def test_a_kernel_map_without_landmarks_is_refused(saved):
    header, arrays = read_model(saved)
    arrays["map/0/landmarks"] = arrays["map/0/landmarks"][:0]
    write_model(saved, header, arrays)

    with pytest.raises(ModelFileError, match="kernel map"):
        dh.load(saved)


def test_a_huge_tail_is_not_read(saved, peak):
    """The file is sparse: it has six gigabytes and takes a few kilobytes on the disk."""
    with saved.open("rb+") as file:
        file.truncate(6 * 10**9)

    with pytest.raises(ModelFileError, match="6,000,000,000 bytes"):
        dh.load(saved)
    assert peak() < 10_000_000


@pytest.mark.parametrize(
    "described",
    [
        {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]},
        {"dtype": "F32", "shape": [0, 10**30], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]},
        {"dtype": "F32", "shape": None, "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": ["a"], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 6]},
        {"dtype": "F32", "shape": [1], "data_offsets": ["0", "4"]},
        {"dtype": "F32", "shape": [1], "data_offsets": []},
        {"dtype": "F32", "shape": [1]},
        {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "Z9", "shape": [1], "data_offsets": [0, 4]},
        {},
        None,
    ],
)
def test_a_description_that_does_not_fit_the_bytes_is_refused(described):
    data = with_header(
        pack_model({"class": "Test"}, {"a": np.zeros(1, dtype=np.float32)}),
        lambda head: head.update(a=described),
    )
    with pytest.raises(ModelFileError):
        unpack_model(data, name="test")


@pytest.mark.parametrize("version", [True, 0, -1, 1.0, "1", None])
def test_the_version_must_be_a_whole_number(version):
    data = pack_model({"format_version": version}, {})
    with pytest.raises(ModelFileError, match="is not a model"):
        unpack_model(data, name="test")


def test_text_that_is_not_valid_unicode_is_refused():
    def change(head):
        head["__metadata__"]["diffhash"] = '{"format_version": 1, "class": "\ud800"}'

    with pytest.raises(ModelFileError, match="damaged"):
        unpack_model(with_header(pack_model({}, {}), change), name="test")


def inconsistent(**changes):
    def change(header, arrays):
        for key, value in changes.items():
            header[key] = value

    return change


def no_bits(header, arrays):
    header["parameters"]["n_bits"] = 0
    for number in (0, 1):
        arrays[f"projection/{number}"] = arrays[f"projection/{number}"][:0]
        arrays[f"threshold/{number}"] = arrays[f"threshold/{number}"][:0]


@pytest.mark.parametrize(
    "change",
    [
        no_bits,
        inconsistent(n_features=[128.0, 64]),
        inconsistent(modalities=["\ud800", "y"]),
        inconsistent(modalities=[["x"], "y"]),
        inconsistent(parameters={"n_bits": 3, "gamma": {"float": 10**400}}),
        inconsistent(parameters=[]),
        inconsistent(maps=5),
        inconsistent(featurizers={"x": 1}),
        inconsistent(featurizers=[1]),
    ],
)
def test_every_contradiction_is_a_model_file_error(saved, change):
    header, arrays = read_model(saved)
    change(header, arrays)
    write_model(saved, header, arrays)
    with pytest.raises(ModelFileError):
        dh.load(saved)


@pytest.mark.parametrize("array", [np.array([1.5, np.nan]), np.frombuffer(b"[" * 50_000, dtype=np.uint8)])
def test_a_report_that_is_not_one_is_refused(array):
    with pytest.raises(ModelFileError, match="report"):
        FitReport.from_array(array)


def test_a_missing_model_is_both_a_model_error_and_a_missing_file(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"no\.dhm: there is no such file"):
        dh.load(tmp_path / "no.dhm")
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "no.dhm")


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "."])
def test_a_name_that_cannot_be_read_is_a_model_error(tmp_path, name):
    with pytest.raises(ModelFileError, match="load: "):
        dh.load(tmp_path / name)
    assert not is_model_file(tmp_path / name)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="a pipe or a device, not a file"):
        dh.load(tmp_path / "pipe")


def test_a_model_without_read_permission_is_a_model_error(saved, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(saved))

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(ModelFileError, match=r"cannot be read \(Permission denied\)"):
        dh.load(saved)
