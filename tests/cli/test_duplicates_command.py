"""``diffhash duplicates``, and ``--radius`` of ``diffhash search``."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import diffhash as dh
from tests.cli.process import run

CODES = np.array([[0b0000], [0b0001], [0b0011], [0b11110000], [0b11110000], [0b01010101]], dtype=np.uint8)


@pytest.fixture
def collection(tmp_path):
    """Codes without a model: a chain of three, two that are equal, and one alone."""
    path = tmp_path / "c.dh"
    with dh.Collection.create(path, n_bits=8, modalities=("image", "text")) as c:
        payloads = [{"caption": f"picture {i}", "_thumbnail": "data:x"} for i in range(6)]
        c.add_codes(CODES, modality="image", ids=list("abcdef"), payloads=payloads)
    return path


def test_clusters_are_shown_with_their_payloads(collection, capsys):
    status, out, err = run(capsys, "duplicates", collection, "--radius", 1)

    assert (status, err) == (0, "")
    assert "3 pairs within 1 bits in image: 5 items in 2 clusters" in out
    assert "picture 2" in out
    assert "picture 5" not in out
    assert out.index("picture 0") < out.index("picture 3")


def test_json_and_a_table_have_everything(collection, tmp_path, capsys):
    table = tmp_path / "pairs.csv"
    status, out, _ = run(capsys, "duplicates", collection, "-r", 1, "--csv", table, "--json", "-k", 1)

    found = json.loads(out)
    assert status == 0
    assert found["pairs_by_distance"] == [1, 2]
    assert (found["pairs"], found["clusters"], found["items"]) == (3, 2, 5)
    assert [[item["id"] for item in cluster] for cluster in found["largest"]] == [["a", "b", "c"]]
    assert found["largest"][0][0]["payload"]["caption"] == "picture 0"
    with table.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["cluster", "first", "second", "distance"],
        ["1", "d", "e", "0"],
        ["0", "a", "b", "1"],
        ["0", "b", "c", "1"],
    ]


def test_a_table_of_fewer_pairs_than_there_are_says_so(collection, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("diffhash.workflows.duplicating.MAX_PAIRS", 2)
    monkeypatch.setattr("diffhash.workflows.duplicating._BLOCK", 1)

    status, out, _ = run(capsys, "duplicates", collection, "-r", 1, "--csv", tmp_path / "pairs.csv")

    assert status == 0
    assert "3 pairs within" in out
    assert "the 2 nearest pairs" in out
    assert (tmp_path / "pairs.csv").read_text().splitlines()[1:] == ["1,d,e,0", "0,a,b,1"]


def test_two_modalities_are_compared(collection, capsys):
    with dh.Collection.open(collection, writable=True) as c:
        c.add_codes(CODES[5:], modality="text", ids=["a"])

    status, out, _ = run(
        capsys, "duplicates", collection, "-r", 0, "--modality", "image", "--into", "text", "--json"
    )

    assert status == 0
    assert [[item["id"] for item in cluster] for cluster in json.loads(out)["largest"]] == [["a", "f"]]


def test_nothing_found_is_said(collection, tmp_path, capsys):
    table = tmp_path / "pairs.csv"
    with dh.Collection.open(collection, writable=True) as c:
        c.delete(list("abcde"))

    status, out, _ = run(capsys, "duplicates", collection, "-r", 8, "--csv", table)

    assert status == 0
    assert "0 pairs within 8 bits in image: 0 items in 0 clusters" in out
    assert table.read_text() == "cluster,first,second,distance\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--radius", "-1"], "--radius"),
        (["--radius", "x"], "--radius"),
        ([], "--radius"),
        (["-r", "1", "--modality", "sound"], "the collection has no 'sound'. It has image, text"),
        (["-r", "1", "--into", "sound"], "the collection has no 'sound'"),
        (["-r", "1", "--count", "-1"], "--count"),
    ],
)
def test_bad_options_are_refused_in_one_line(collection, capsys, arguments, message):
    status, out, err = run(capsys, "duplicates", collection, *arguments)

    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_several_modalities_need_a_choice(collection, capsys):
    with dh.Collection.open(collection, writable=True) as c:
        c.add_codes(CODES[:1], modality="text", ids=["a"])

    status, _, err = run(capsys, "duplicates", collection, "-r", 1)

    assert status == 2
    assert "Say --modality: image, text" in err


def test_no_file_of_another_kind_is_replaced(collection, tmp_path, capsys):
    table = tmp_path / "pairs.csv"
    assert run(capsys, "duplicates", collection, "-r", 1, "--csv", table)[0] == 0
    assert run(capsys, "duplicates", collection, "-r", 1, "--csv", table)[0] == 2
    assert run(capsys, "duplicates", collection, "-r", 1, "--csv", table, "--overwrite")[0] == 0
    before = collection.read_bytes()
    status, _, err = run(capsys, "duplicates", collection, "-r", 1, "--csv", collection, "--overwrite")
    assert status == 2
    assert "is also an input" in err
    assert collection.read_bytes() == before


def test_a_file_that_is_not_a_collection_is_named(tmp_path, capsys):
    path = tmp_path / "codes.npy"
    np.save(path, CODES)

    status, _, err = run(capsys, "duplicates", path, "-r", 1)

    assert status == 1
    assert "A collection (.dh) is needed here" in err


def test_search_by_item_works_without_a_model_and_keeps_to_the_radius(collection, capsys):
    status, out, _ = run(
        capsys, "search", collection, "--item", "a", "--into", "image", "--radius", 1, "--json"
    )

    assert status == 0
    assert [hit["id"] for hit in json.loads(out)["results"][0]] == ["b"]


def test_search_with_words_says_that_there_is_no_model(collection, capsys):
    status, _, err = run(capsys, "search", collection, "a star")

    assert status == 1
    assert "has codes and no model" in err


def test_info_of_a_collection_without_a_model(collection, capsys):
    status, out, _ = run(capsys, "info", collection)

    assert status == 0
    assert "codes from elsewhere" in out
