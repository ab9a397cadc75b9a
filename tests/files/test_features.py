"""Feature files: every kind gives the same rows, whole or in blocks, and bad ones are named."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from numpy.lib import format as npy

import diffhash as dh
from diffhash.errors import InputFileError, MissingExtraError, NonFiniteError
from diffhash.files import Source, encode_file, open_features
from diffhash.files.arrays import load_array


@pytest.fixture
def rows(rng):
    return rng.standard_normal((23, 5)).astype(np.float32)


def write(folder, name, rows):
    """One matrix as a file of any kind; gives what to open."""
    names = [f"f{i}" for i in range(rows.shape[1])]
    path = folder / name.partition("#")[0]
    if name.endswith(".npy"):
        np.save(path, np.asfortranarray(rows) if "fortran" in name else rows)
    elif path.suffix == ".npz":
        (np.savez_compressed if "packed" in name else np.savez)(path, images=rows, other=np.zeros((2, 2)))
    elif path.suffix == ".csv":
        lines = [",".join(map(repr, map(float, row))) for row in rows]
        if "plain" not in name:
            lines = ["id," + ",".join(names), *(f"row {i},{line}" for i, line in enumerate(lines))]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".jsonl":
        values = rows.astype(float).tolist()
        if "plain" not in name:
            values = [{"id": i, "embedding": row} for i, row in enumerate(values)]
        path.write_text("\n".join(map(json.dumps, values)) + "\n")
    else:
        columns = {"id": [str(i) for i in range(len(rows))]}
        if "fixed" in name:
            flat = pyarrow.array(rows.ravel())
            columns["embedding"] = pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        elif "lists" in name:
            columns["embedding"] = list(rows)
        else:
            columns |= dict(zip(names, rows.T, strict=True))
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=7)
    return folder / name


KINDS = [
    "c.npy",
    "fortran.npy",
    "plain.npz#images",
    "packed.npz#images",
    "named.csv#f0:f4",
    "named.csv#f0,f1,f2,f3,f4",
    "plain.csv",
    "named.jsonl",
    "named.jsonl#embedding",
    "plain.jsonl",
    "columns.parquet#f0:f4",
    "lists.parquet",
    "fixed.parquet#embedding",
]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_gives_the_rows(name, rows, tmp_path):
    file = open_features(write(tmp_path, name, rows))

    assert file.n_features == 5
    assert file.count() == 23
    np.testing.assert_allclose(file.array(), rows, rtol=1e-6)
    blocks = [block.copy() for block in file.blocks(6)]
    assert max(map(len, blocks)) <= 6
    np.testing.assert_allclose(np.concatenate(blocks), rows, rtol=1e-6)


def test_npy_is_mapped_and_keeps_its_type(rows, tmp_path):
    file = open_features(write(tmp_path, "c.npy", rows))

    assert isinstance(file.array(), np.memmap)
    assert next(file.blocks()).dtype == np.float32


def test_blocks_stay_as_long_as_promised(rows, tmp_path):
    """With keep=2 the two blocks before the current one are still whole."""
    path = write(tmp_path, "c.npy", rows)
    seen = []
    for number, block in enumerate(open_features(path).blocks(2, keep=2)):
        seen.append(block)
        for back in range(min(3, number + 1)):
            start = 2 * (number - back)
            np.testing.assert_array_equal(seen[number - back], rows[start : start + 2])


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.int8, np.uint32, ">f4"])
def test_types_that_encode_knows(kind, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12).reshape(4, 3).astype(kind))

    assert np.concatenate([b.copy() for b in open_features(tmp_path / "x.npy").blocks(3)]).tolist() == (
        np.arange(12).reshape(4, 3).tolist()
    )


def test_a_name_with_a_hash_is_a_file_if_there_is_one(rows, tmp_path):
    np.save(tmp_path / "a#b.npy", rows)

    assert open_features(tmp_path / "a#b.npy").n_rows == 23


def save(value, **options):
    return lambda path: np.save(path, value, **options)


def text(content):
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def parquet(columns):
    return lambda path: pyarrow.parquet.write_table(pyarrow.table(columns), path)


def truncated_npy(path):
    np.save(path, np.zeros((100, 4)))
    path.write_bytes(path.read_bytes()[:-8])


def broken_zip(path):
    np.savez(path, images=np.arange(4000.0).reshape(100, 40))
    data = bytearray(path.read_bytes())
    data[2000] ^= 255
    path.write_bytes(data)


def two_arrays(path):
    np.savez(path, images=np.zeros((2, 2)), texts=np.zeros((2, 2)))


def crafted(shape):
    """A header that describes more data than the file has."""

    def make(path):
        content = io.BytesIO()
        npy.write_array_header_1_0(content, {"descr": "<f4", "fortran_order": False, "shape": shape})
        content.write(bytes(64))
        if path.suffix == ".npy":
            path.write_bytes(content.getvalue())
            return
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", content.getvalue())

    return make


def no_arrays(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no array")


BAD = {
    "missing": ("x.npy", None, "no such file"),
    "kind": ("x.mat", text("data"), ".npy, .npz"),
    "truncated": ("x.npy", truncated_npy, "truncated"),
    "too many for a number": ("x.npy", crafted((2**62, 4)), "header describes"),
    "too many in npz": ("x.npz", crafted((2**62, 4)), "header describes"),
    "too wide in npz": ("x.npz", crafted((1, 2**44)), "header describes"),
    "negative": ("x.npy", crafted((-1, 4)), "damaged"),
    "not npy": ("x.npy", text("not an array"), "not an .npy array"),
    "empty npy": ("x.npy", text(""), "not an .npy array"),
    "objects": ("x.npy", save(np.array([["a", None]], dtype=object), allow_pickle=True), "Python objects"),
    "strings": ("x.npy", save(np.array([["a", "b"]])), "real numbers"),
    "one dimension": ("x.npy", save(np.zeros(5)), "two dimensions"),
    "no features": ("x.npy", save(np.zeros((5, 0))), "empty"),
    "part of npy": ("x.npy#a", save(np.zeros((5, 1))), "no named parts"),
    "no name": ("x.npz", two_arrays, "'images', 'texts'"),
    "wrong name": ("x.npz#image", two_arrays, "'images', 'texts'"),
    "damaged zip": ("x.npz", broken_zip, "damaged"),
    "not a zip": ("x.npz", text("no zip"), "not an .npz file"),
    "no arrays": ("x.npz", no_arrays, "0 arrays"),
    "empty csv": ("x.csv", text(""), "is empty"),
    "word in csv": ("x.csv", text("a,b\n1,2\n3,four\n"), "line 3: column 'b' contains 'four'"),
    "short line": ("x.csv", text("a,b\n1,2\n3\n"), "line 3: expected 2 columns, got 1"),
    "no column": ("x.csv#c", text("a,b\n1,2\n"), "'a', 'b'"),
    "not text": ("x.csv", text(b"a,b\n1,\xff\xfe\n"), "UTF-8"),
    "open quote": ("x.csv", text('a,b\n1,"2\n'), "not a readable CSV"),
    "not json": ("x.jsonl", text("[1, 2]\n[3,\n"), "line 2"),
    "short row": ("x.jsonl", text("[1, 2]\n[3]\n"), "line 2: expected 2 numbers, got 1"),
    "nested": ("x.jsonl", text("[1, 2]\n[[3], 4]\n"), "line 2"),
    "field gone": ("x.jsonl", text('{"e": [1]}\n{"f": [1]}\n'), "line 2: expected an object with 'e'"),
    "two lists": ("x.jsonl", text('{"e": [1], "f": [2]}\n'), "2 fields"),
    "scalar": ("x.jsonl", text("1\n"), "expected an array"),
    "not parquet": ("x.parquet", text("PAR1"), "not a Parquet"),
    "text column": ("x.parquet", parquet({"a": [1.0], "b": ["x"]}), "'b' contains string"),
    "null": ("x.parquet", parquet({"a": [1.0, None]}), "no value in row 1"),
    "ragged": ("x.parquet", parquet({"e": [[1.0, 2.0], [3.0]]}), "row 1: expected 2 numbers, got 1"),
    "null in list": ("x.parquet", parquet({"e": [[1.0, 2.0], [3.0, None]]}), "contains a null"),
}


@pytest.mark.parametrize(("name", "make", "words"), BAD.values(), ids=BAD.keys())
def test_bad_files_are_named_with_what_is_wrong(name, make, words, tmp_path):
    if make is not None:
        make(tmp_path / name.partition("#")[0])

    with pytest.raises(InputFileError) as caught:
        list(open_features(tmp_path / name).blocks())

    assert words in str(caught.value)
    assert name.partition("#")[0] in str(caught.value)


@pytest.mark.parametrize("kind", [".npy", ".npz"])
def test_a_whole_array_is_no_larger_than_its_file(kind, tmp_path):
    crafted((2**44,))(tmp_path / f"x{kind}")

    with pytest.raises(InputFileError, match="truncated"):
        load_array(Source.parse(tmp_path / f"x{kind}"))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputFileError, match="is a folder"):
        open_features(tmp_path)


def test_parquet_without_pyarrow_prints_the_install_line(tmp_path, rows, monkeypatch):
    path = write(tmp_path, "lists.parquet", rows)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'diffhash\[parquet\]'"):
        open_features(path)


@pytest.fixture(scope="module")
def hasher(small_data, small_pairs):
    return dh.DiffHash(n_bits=12).fit(small_data.train.views, small_pairs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_encoding_a_file_keeps_the_order_of_the_rows(hasher, small_data, tmp_path, monkeypatch, n_threads):
    monkeypatch.setattr("diffhash.files.features.BLOCK_BYTES", 128 * 4 * 7)
    x = small_data.test.views["x"].astype(np.float32)
    np.save(tmp_path / "x.npy", x)

    blocks = list(encode_file(hasher, open_features(tmp_path / "x.npy"), "x", n_threads=n_threads))

    assert len(blocks) == -(-len(x) // 7)
    values = hasher.project(x, modality="x")
    same = dh.codes.unpack(np.concatenate(blocks), 12) == (values >= 0)
    assert same[np.abs(values) > 1e-3].all()


def test_a_bad_row_is_named_with_its_file(hasher, small_data, tmp_path, monkeypatch):
    monkeypatch.setattr("diffhash.files.features.BLOCK_BYTES", 128 * 4 * 7)
    x = small_data.test.views["x"].astype(np.float32)
    x[30, 2] = np.nan
    np.save(tmp_path / "x.npy", x)

    with pytest.raises(NonFiniteError, match=r"x\.npy, block of rows from 28: .* row 2, feature 2"):
        list(encode_file(hasher, open_features(tmp_path / "x.npy"), "x"))
