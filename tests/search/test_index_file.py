"""Files of an index: what is saved is loaded, other files are refused."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash import HammingIndex
from diffhash.errors import IndexFileError
from tests.native.problems import problems


@pytest.fixture
def path(tmp_path):
    return tmp_path / "codes.dhi"


@pytest.fixture
def saved(path):
    """A file with ids in no order and padding bits."""
    codes = np.random.default_rng(0).integers(0, 256, (50, 3), dtype=np.uint8)
    codes[:, -1] &= 0b11
    HammingIndex(codes, np.random.default_rng(1).permutation(50), n_bits=18).save(path)
    return path


def header_of(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@given(problem=problems(max_rows=60))
@settings(max_examples=60, deadline=None)
def test_a_loaded_index_gives_the_same_answers(problem, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "property.dhi"
    index = HammingIndex(problem.codes, problem.ids, n_bits=problem.n_bits)
    index.save(path)

    loaded = HammingIndex.load(path)

    assert repr(loaded) == repr(index)
    np.testing.assert_array_equal(loaded.codes, index.codes)
    np.testing.assert_array_equal(loaded.ids, index.ids)
    for found, expected in zip(
        loaded.search(problem.queries, 5), index.search(problem.queries, 5), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_codes_and_ids_are_mapped_not_read(saved):
    def mapped(array):
        while array is not None and not isinstance(array, np.memmap):
            array = array.base
        return array is not None

    index = HammingIndex.load(saved)

    assert mapped(index.codes)
    assert mapped(index.ids)


def test_a_loaded_index_can_change_and_the_file_does_not(saved):
    before = saved.read_bytes()
    index = HammingIndex.load(saved)

    index.add(np.zeros((2, 3), dtype=np.uint8), [100, 101])
    assert index.remove([0, 1, 100]) == 3

    assert len(index) == 49
    assert saved.read_bytes() == before
    index.save(saved)  # over the file that it is mapped from
    np.testing.assert_array_equal(HammingIndex.load(saved).ids, index.ids)


def test_any_reader_of_safetensors_reads_it(saved):
    tensors = safetensors.numpy.load_file(saved)

    np.testing.assert_array_equal(tensors["codes"], HammingIndex.load(saved).codes)
    np.testing.assert_array_equal(tensors["ids"], HammingIndex.load(saved).ids)


def test_files_of_format_1_can_be_read(path):
    """Written by the first release that saves an index; every later one must read it."""
    header = (
        b'{"__metadata__": {"diffhash_index": "{\\"format_version\\": 1, \\"n_bits\\": 12}"}, '
        b'"ids": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}, '
        b'"codes": {"dtype": "U8", "shape": [2, 2], "data_offsets": [16, 20]}}    '
    )
    ids = (7).to_bytes(8, "little") + (-3).to_bytes(8, "little", signed=True)
    path.write_bytes(len(header).to_bytes(8, "little") + header + ids + bytes([1, 2, 255, 15]))

    index = HammingIndex.load(path)

    assert (index.ids.tolist(), index.codes.tolist(), index.n_bits) == ([7, -3], [[1, 2], [255, 15]], 12)
    before = path.read_bytes()
    index.save(path)
    assert path.read_bytes() == before, (
        "the format changed: increase FORMAT_VERSION and keep reading this one"
    )


def test_row_numbers_take_no_room(path):
    HammingIndex(np.zeros((1000, 8), dtype=np.uint8)).save(path)

    assert path.stat().st_size < 8000 + 300
    assert HammingIndex.load(path).ids.tolist() == list(range(1000))


@pytest.mark.parametrize("n_bits", [12, 4096])
def test_an_empty_index_is_saved_and_loaded(path, n_bits):
    HammingIndex(n_bits=n_bits).save(path)
    assert repr(HammingIndex.load(path)) == f"HammingIndex(n=0, n_bits={n_bits})"


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        HammingIndex(n_bits=8).save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_a_missing_file_is_a_missing_file(path):
    with pytest.raises(FileNotFoundError):
        HammingIndex.load(path)


def test_every_cut_is_noticed(saved):
    data = saved.read_bytes()
    for length in [*range(0, 300, 7), len(data) - 1]:
        saved.write_bytes(data[:length])
        with pytest.raises(
            IndexFileError, match=r"codes.dhi is not an index saved by diffhash, or it is damaged"
        ):
            HammingIndex.load(saved)
    saved.write_bytes(data + b"\0")
    with pytest.raises(IndexFileError, match="bytes, its header describes"):
        HammingIndex.load(saved)


@pytest.mark.parametrize(
    "content",
    [
        b"text",
        b"\xff" * 100,
        bytes(100),
        safetensors.numpy.save({"codes": np.zeros((2, 8), np.uint8)}),
        safetensors.numpy.save({"codes": np.zeros((2, 8), np.uint8)}, {"diffhash_index": "no json"}),
        safetensors.numpy.save({"codes": np.zeros((2, 8), np.uint8)}, {"diffhash_index": "[1]"}),
        safetensors.numpy.save({"a": np.zeros(2)}, {"diffhash_index": '{"format_version": 1, "n_bits": 8}'}),
        (8).to_bytes(8, "little") + b"[" * 8,
    ],
)
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(IndexFileError, match="is not an index saved by diffhash"):
        HammingIndex.load(path)


def metadata(**changes):
    return {"diffhash_index": json.dumps({"format_version": 1, "n_bits": 18} | changes)}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("__metadata__", metadata(n_bits=25)),
        ("__metadata__", metadata(n_bits=17)),  # then there are ones in the padding bits
        ("__metadata__", metadata(n_bits="18")),
        ("__metadata__", metadata(n_bits=-1)),
        ("__metadata__", metadata(format_version=True)),
        ("codes", {"dtype": "I8", "shape": [50, 3], "data_offsets": [400, 550]}),
        ("codes", {"dtype": "U8", "shape": [50, -3], "data_offsets": [400, 550]}),
        ("codes", {"dtype": "U8", "shape": [150], "data_offsets": [400, 550]}),
        ("codes", {"dtype": "U8", "shape": [2**62, 2**62], "data_offsets": [400, 550]}),
        ("codes", {"dtype": "U8", "shape": [51, 3], "data_offsets": [400, 553]}),
        ("codes", {"dtype": "U8", "shape": None, "data_offsets": [400, 550]}),
        ("codes", {"dtype": "U8", "shape": [50, 3], "data_offsets": 5}),
        ("codes", "nothing"),
        ("ids", {"dtype": "I64", "shape": [49], "data_offsets": [0, 392]}),
        ("ids", {"dtype": "I64", "shape": [50, 1], "data_offsets": [0, 400]}),
        ("ids", {"dtype": "I64", "shape": [50.0], "data_offsets": [0, 400]}),
    ],
)
def test_damaged_headers_are_refused(saved, name, change):
    header, data = header_of(saved)
    write(saved, header | {name: change}, data)
    with pytest.raises(IndexFileError, match="is not an index saved by diffhash, or it is damaged"):
        HammingIndex.load(saved)


def test_repeated_ids_are_refused(saved):
    header, data = header_of(saved)
    write(saved, header, data[:8] * 2 + data[16:])
    with pytest.raises(IndexFileError, match="ids must be unique"):
        HammingIndex.load(saved)


def test_a_later_format_is_named(saved):
    header, data = header_of(saved)
    write(saved, header | {"__metadata__": metadata(format_version=2)}, data)
    with pytest.raises(IndexFileError, match="index format 2, this release of diffhash reads up to 1"):
        HammingIndex.load(saved)


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
@settings(max_examples=300, deadline=None)
def test_a_changed_byte_never_gives_another_error_than_ours(place, byte, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "changed.dhi"
    path.unlink(missing_ok=True)  # a file that no longer looks like an index is not replaced
    HammingIndex(np.zeros((5, 2), dtype=np.uint8), [3, 1, 2, 9, 7], n_bits=12).save(path)
    data = bytearray(path.read_bytes())
    data[place % len(data)] = byte
    path.write_bytes(data)
    with contextlib.suppress(IndexFileError):
        width = HammingIndex.load(path).codes.shape[1]
        HammingIndex.load(path).search(np.zeros(width, dtype=np.uint8), 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head["codes"].update(shape=[2**62, 0], data_offsets=[0, 0]),
        lambda head: head["codes"].update(shape=[0] * 100, data_offsets=[0, 0]),
        lambda head: head["codes"].update(shape=[10**30, 0], data_offsets=[0, 0]),
        lambda head: head.update(ids={"dtype": "I64", "shape": [0, 10**30], "data_offsets": [0, 0]}),
        lambda head: head["__metadata__"].update(diffhash_index='{"format_version": true, "n_bits": 16}'),
        lambda head: head["__metadata__"].update(diffhash_index='{"format_version": 0, "n_bits": 16}'),
    ],
)
def test_a_description_that_does_not_fit_the_bytes_is_refused(path, change):
    HammingIndex(np.zeros((3, 2), dtype=np.uint8)).save(path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    change(head)
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])

    with pytest.raises(IndexFileError):
        HammingIndex.load(path)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "."])
def test_a_name_that_cannot_be_read_is_an_index_error(tmp_path, name):
    with pytest.raises(IndexFileError):
        HammingIndex.load(tmp_path / name)
