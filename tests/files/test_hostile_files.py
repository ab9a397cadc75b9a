"""Files that are damaged or made to harm: every reader raises InputFileError, and allocates nothing first."""

from __future__ import annotations

import io
import os
import random
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from diffhash import workflows
from diffhash.errors import DiffhashError, InputFileError
from diffhash.files import (
    Source,
    is_codes_file,
    list_pictures,
    open_features,
    open_table,
    read_codes,
    read_ids,
    read_labels,
    read_pairs,
)
from diffhash.files.arrays import load_array

BIG = "9" * 400

READERS = {
    "features": lambda name: list(open_features(name).blocks()),
    "array": lambda name: open_features(name).array(),
    "rows": lambda name: list(open_table(name).rows()),
    "column": lambda name: open_table(name).column("a"),
    "labels": lambda name: read_labels({"x": name}),
    "ids": lambda name: read_ids(name),
    "pairs": lambda name: read_pairs(name, ["x", "y"]),
    "codes": lambda name: read_codes(name),
    "info": lambda name: workflows.info(name),
    "verify": lambda name: workflows.verify(name),
}


def foreign_errors(name):
    """Readers that raise an error of another library for this file."""
    found = []
    for reader, read in READERS.items():
        try:
            read(name)
        except DiffhashError:
            pass
        except Exception as error:
            found.append((reader, error))
    return found


def npy_bytes(header):
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def described(shape, dtype="'<f4'"):
    return f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}"


HEADERS = {
    "open brackets": described("(2, 2)") + "(" * 5000,
    "only brackets": "(" * 9000,
    "400 digits": described(f"(2, {BIG})"),
    "too large for C": described("(0, 99999999999999999999999999)"),
    "wide and empty": described("(0, 99999999999)"),
    "bool": described("(True, 2)"),
    "one number": described("2"),
    "no bytes": described("(2000000000, 2)", "'|V0'"),
    "100 dimensions": described("(0,) * 100"),
    "odd type": described("(2, 2)", "'<f2000'"),
    "nested type": described("(0, 2)", "('<f4', (1000000000,))"),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
@pytest.mark.parametrize("kind", [".npy", ".npz"])
def test_a_hostile_npy_header_is_an_input_file_error(header, kind, tmp_path):
    path = tmp_path / f"x{kind}"
    if kind == ".npy":
        path.write_bytes(npy_bytes(header))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", npy_bytes(header))

    for read in (open_features, lambda path: load_array(Source.parse(path))):
        with pytest.raises(InputFileError):
            read(path)
    assert not foreign_errors(path)
    assert not is_codes_file(path)


def patched(offsets, value):
    """An archive in which one byte of the entry is changed, in its local and its central header."""
    content = io.BytesIO()
    np.savez(content, a=np.zeros((3, 4), dtype=np.float32))
    data = bytearray(content.getvalue())
    for signature, offset in offsets.items():
        data[data.find(signature) + offset] = value
    return bytes(data)


def packed_by(method):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        archive.writestr("a.npy", npy_bytes(described("(2, 8)")))
    return content.getvalue()


def with_size(size):
    """An archive that claims that its entry is ``size`` bytes long when it is unpacked."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.npy", npy_bytes(described(f"({size // 4 - 100}, 1)")))
    data = bytearray(content.getvalue())
    for signature, offset in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        start = data.find(signature) + offset
        data[start : start + 4] = size.to_bytes(4, "little")
    return bytes(data)


ARCHIVES = {
    "encrypted": patched({b"PK\1\2": 8, b"PK\3\4": 6}, 1),
    "unknown method": patched({b"PK\1\2": 10, b"PK\3\4": 8}, 99),
    "wrong method": patched({b"PK\1\2": 10, b"PK\3\4": 8}, 8),
    "bzip2": packed_by(zipfile.ZIP_BZIP2),
    "lzma": packed_by(zipfile.ZIP_LZMA),
    "too long": with_size(2**32 - 8),
}


@pytest.mark.parametrize("content", ARCHIVES.values(), ids=ARCHIVES.keys())
def test_an_odd_archive_is_an_input_file_error(content, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(content)

    with pytest.raises(InputFileError):
        load_array(Source.parse(path))
    with pytest.raises(InputFileError):
        list(open_features(path).blocks())
    assert not foreign_errors(path)


def test_sparse_features_may_be_packed_very_tightly(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros((1000, 1000), dtype=np.float32))

    assert load_array(Source.parse(tmp_path / "x.npz")).shape == (1000, 1000)


def twice_a():
    return pyarrow.table([pyarrow.array([1.0]), pyarrow.array([2.0])], names=["a", "a"])


TABLES = {
    "duplicate columns": (twice_a(), "two columns have the same name, 'a'"),
    "far date": (pyarrow.table({"a": pyarrow.array([2**30], pyarrow.date32())}), "cannot be read"),
    "far time": (pyarrow.table({"a": pyarrow.array([2**60], pyarrow.timestamp("us"))}), "cannot be read"),
    "time zone": (pyarrow.table({"a": pyarrow.array([0], pyarrow.timestamp("us", "Mars/Base"))}), "Mars"),
    "not UTF-8": (
        pyarrow.table(
            {"a": pyarrow.Array.from_buffers(pyarrow.string(), 1, pyarrow.array([b"\xff\xfe"]).buffers())}
        ),
        "column 'a'",
    ),
}


@pytest.mark.parametrize(("table", "words"), TABLES.values(), ids=TABLES.keys())
def test_an_odd_parquet_table_is_an_input_file_error(table, words, tmp_path):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(table, path)

    with pytest.raises(InputFileError, match=words):
        list(open_table(path).rows())
    assert not foreign_errors(path)


def test_damaged_parquet_files_and_archives_raise_nothing_else(tmp_path):
    """Random bytes are changed; most changes hit the metadata."""
    rng = random.Random(5)
    pyarrow.parquet.write_table(
        pyarrow.table({"a": np.arange(30.0), "e": [[1.0, 2.0]] * 30, "s": ["text"] * 30}),
        tmp_path / "good.parquet",
        row_group_size=10,
    )
    np.savez_compressed(tmp_path / "good.npz", a=np.arange(60.0).reshape(20, 3))
    for kind in (".parquet", ".npz"):
        good = (tmp_path / f"good{kind}").read_bytes()
        for _ in range(40):
            data = bytearray(good)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            (tmp_path / f"x{kind}").write_bytes(data)
            assert not foreign_errors(tmp_path / f"x{kind}"), bytes(data)


TEXTS = {
    "x.jsonl": [
        f"[{BIG}, 1]\n",
        f"[1, 2]\n[1, {BIG}]\n",
        f'{{"a": {BIG}}}\n{{"a": 1}}\n',
        f"[{'9' * 5000}]\n",
        '{"a": "\\ud800"}\n',
        '{"a": {"b": 1}}\n',
        '{"x": [1, "a"], "y": 2}\n{"x": 3, "y": null}\n',
        "[]\n[]\n",
        "[" * 100_000 + "\n",
    ],
    "x.csv": ["a,a\n1,2\n", f"a,b\n{BIG},1\n", "\0\n", "a\n" + "x" * 200_000 + "\n"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_odd_text_raises_nothing_else(name, text, tmp_path):
    (tmp_path / name).write_text(text)

    assert not foreign_errors(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.jsonl", f"[1, 2]\n[1, {BIG}]\n", "line 2: number 2 contains 999"),
        ("x.jsonl", "[]\n", "no features"),
        ("x.csv", "a,a\n1,2\n", "two columns have the same name"),
    ],
)
def test_features_that_are_no_numbers_are_named(name, text, words, tmp_path):
    (tmp_path / name).write_text(text)

    with pytest.raises(InputFileError, match=words):
        list(open_features(tmp_path / name).blocks())


def test_half_a_character_is_not_text(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": "\\ud83d\\ude00"}\n{"a": "\\ud83d"}\n')

    rows = open_table(tmp_path / "x.jsonl").rows()

    assert next(rows) == {"a": "😀"}
    with pytest.raises(InputFileError, match="line 2"):
        next(rows)


def test_large_whole_numbers_are_different_labels(tmp_path):
    (tmp_path / "x.jsonl").write_text(f'{{"a": {2**64}}}\n{{"a": {2**64 + 1}}}\n')

    assert read_labels({"x": tmp_path / "x.jsonl"})["x"].tolist() == [str(2**64), str(2**64 + 1)]


def test_labels_that_are_objects_are_refused(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": {"b": 1}}\n')

    with pytest.raises(InputFileError, match="labels must be numbers, strings or lists"):
        read_labels({"x": tmp_path / "x.jsonl"})


@pytest.mark.parametrize("name", ["x" * 300 + ".npy", "a\0b.csv", "a#b\0", ".", "x.npy/y.npy", "x" * 5000])
def test_names_that_the_system_refuses_raise_nothing_else(name, tmp_path):
    (tmp_path / "x.npy").touch()
    readers = READERS | {
        "pictures": list_pictures,
        "search": lambda name: workflows.search(name, text="a"),
        "encode": lambda name: workflows.encode(name, name, tmp_path / "out.npy"),
    }
    for reader, read in readers.items():
        with pytest.raises(DiffhashError):
            read(os.fspath(tmp_path / name) + ("/none" if reader == "pictures" else ""))


def test_a_file_without_read_permission_is_named(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    for read in (open_features, read_codes, workflows.info):
        with pytest.raises(InputFileError, match=r"x\.npy cannot be read \(Permission denied\)"):
            read(tmp_path / "x.npy")
    assert not is_codes_file(tmp_path / "x.npy")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.csv")

    with pytest.raises(InputFileError, match="a pipe or a device"):
        open_table(tmp_path / "x.csv")


def test_a_disk_that_fails_while_a_file_is_read_is_an_input_file_error(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    file = open_features(tmp_path / "x.npy")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("diffhash.files.arrays._fill", fail)
    with pytest.raises(InputFileError, match="Input/output error"):
        next(file.blocks())


def test_ids_with_characters_that_do_not_exist_are_an_input_file_error(tmp_path):
    np.save(tmp_path / "ids.npy", np.full((2, 3), 0x7FFFFFFF, dtype=np.uint32).view("<U3").reshape(2))
    with pytest.raises(InputFileError, match="not valid Unicode"):
        read_ids(tmp_path / "ids.npy")
