"""``diffhash export``: Parquet, NumPy and FAISS files of a collection."""

from __future__ import annotations

import json

import faiss
import numpy as np
import pyarrow.parquet
import pytest

import diffhash as dh
from diffhash.cli.export import FormatName
from diffhash.stores.sqlite.export import FORMATS, output_kind
from diffhash.workflows.exporting import EXPORT_FORMATS
from tests.cli.process import run


@pytest.fixture
def collection(files, tmp_path):
    with dh.Collection.create(tmp_path / "c.dh", files.hasher) as c:
        payloads = [{"row": row} for row in range(20)]
        c.add(files.data.test.views["x"][:20], modality="x", payloads=payloads)
        c.add(files.data.test.views["y"][:20], modality="y", ids=list(range(20)))
    return tmp_path / "c.dh"


def test_the_command_offers_the_formats_of_the_collection():
    assert tuple(FormatName) == FORMATS
    assert tuple(EXPORT_FORMATS.values()) == FORMATS
    assert all(output_kind(name).name for name in FORMATS)


def test_parquet_has_all_modalities(collection, tmp_path, capsys):
    status, out, err = run(capsys, "export", collection, "-o", tmp_path / "c.parquet", "--json")

    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "files": [str(tmp_path / "c.parquet")],
        "format": "parquet",
        "modality": None,
        "codes": 40,
    }
    table = pyarrow.parquet.read_table(tmp_path / "c.parquet")
    assert table.column_names == ["id", "modality", "code", "payload"]
    assert table.num_rows == 40


def test_npy_has_the_codes_and_the_ids_of_one_modality(collection, files, tmp_path, capsys):
    status, out, _ = run(capsys, "export", collection, "--modality", "y", "-o", tmp_path / "y.npy")

    assert status == 0
    assert "y.ids.npy" in out
    expected = files.hasher.encode(files.data.test.views["y"][:20], modality="y")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)
    assert np.load(tmp_path / "y.ids.npy").tolist() == list(range(20))


def test_faiss_finds_what_the_collection_finds(collection, files, tmp_path, capsys):
    path = tmp_path / "index"
    assert run(capsys, "export", collection, "--modality", "x", "--format", "faiss", "-o", path)[0] == 0

    index = faiss.read_index_binary(str(path))

    codes = files.hasher.encode(files.data.test.views["x"][:20], modality="x")
    assert (index.search(codes, 1)[0] == 0).all()


def test_string_ids_are_in_a_second_file(shapes, tmp_path, capsys):
    path = tmp_path / "image.faiss"

    status, out, _ = run(capsys, "export", shapes, "--modality", "image", "-o", path, "--json")

    assert status == 0
    assert json.loads(out)["files"] == [str(path), str(tmp_path / "image.faiss.ids.npy")]
    assert "discs/05.png" in np.load(tmp_path / "image.faiss.ids.npy").tolist()


REFUSED = {
    "which modality": (["{c}", "-o", "a.npy"], 2, "Say --modality: x, y"),
    "unknown modality": (["{c}", "-o", "a.npy", "--modality", "z"], 2, "no 'z'"),
    "unknown ending": (["{c}", "-o", "a.txt"], 2, "--format must be one of parquet, npy, faiss"),
    "no collection": (["none.dh", "-o", "a.npy"], 1, "there is no such file"),
    "over the collection": (["{c}", "-o", "{c}", "--format", "npy", "--overwrite"], 2, "is also an input"),
    "over a file": (["{c}", "-o", "mine.npy", "--modality", "x", "--overwrite"], 1, "mine.npy is not a file"),
    "over ids": (["{c}", "-o", "b.npy", "--modality", "x"], 2, "b.ids.npy already exists"),
    "without the word": (["{c}", "-o", "codes.npy", "--modality", "x"], 2, "--overwrite"),
}


@pytest.mark.parametrize(("arguments", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_one_line_and_changes_nothing(
    arguments, status, words, collection, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.npy").write_text("mine")
    np.save(tmp_path / "b.ids.npy", np.arange(3))
    np.save(tmp_path / "codes.npy", np.zeros((2, 2), dtype=np.uint8))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    found, out, err = run(capsys, "export", *(a.replace("{c}", str(collection)) for a in arguments))

    assert (found, out) == (status, ""), err
    assert err.count("\n") == 1
    assert words in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_of_the_same_kind_are_replaced(collection, tmp_path, capsys):
    for name in ("a.npy", "a.parquet", "a.faiss"):
        arguments = ["export", collection, "--modality", "x", "-o", tmp_path / name]
        assert run(capsys, *arguments)[0] == 0
        assert run(capsys, *arguments, "--overwrite")[0] == 0
