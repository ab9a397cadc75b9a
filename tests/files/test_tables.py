"""Tables, pairs, labels, codes and folders of pictures."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from diffhash.errors import InputFileError
from diffhash.files import (
    CodesWriter,
    list_pictures,
    open_table,
    read_codes,
    read_ids,
    read_labels,
    read_pairs,
)

ROWS = [
    {"file": "a.png", "caption": 'a "quoted", text', "year": 1990, "share": 0.5},
    {"file": "b.png", "caption": "two\nlines", "year": None, "share": 2.0},
]


def write_table(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        import csv

        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if "tab" in path.name else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("name", ["t.csv", "tabs.csv", "t.jsonl", "t.parquet"])
def test_tables_of_every_kind_give_plain_values(name, tmp_path):
    table = open_table(write_table(tmp_path / name, ROWS))

    assert table.columns == ["file", "caption", "year", "share"]
    assert list(table.rows()) == ROWS


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-20", "0"], [1, -20, 0]),
        (["1", "2.5", "-1e3"], [1.0, 2.5, -1000.0]),
        (["007", "8"], ["007", "8"]),
        (["1", "x"], ["1", "x"]),
        (["nan", "1"], ["nan", "1"]),
        (["1e999", "1"], ["1e999", "1"]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["1_0", "1"], ["1_0", "1"]),
        (["١", "1"], ["١", "1"]),
    ],
)
def test_numbers_in_csv_are_numbers_only_if_they_can_be_nothing_else(cells, values, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["v", *cells]), encoding="utf-8")

    found = open_table(path).column()

    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", "", "empty"),
        ("t.csv", "a,b\n1\n", "line 2: expected 2 columns"),
        ("t.csv", "a,a\n1,2\n", "same name"),
        ("t.jsonl", "[1]\n", "expected an object"),
        ("t.jsonl", "", "empty"),
        ("t.npy", "", ".csv, .jsonl, .parquet"),
    ],
)
def test_bad_tables_are_named(name, content, words, tmp_path):
    (tmp_path / name).write_text(content)

    with pytest.raises(InputFileError, match=words):
        open_table(tmp_path / name).column()


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("image,text\n0,2\n1,0\n", {}),
        ("text,image\n2,0\n0,1\n", {}),
        ("a,b\n0,2\n1,0\n", {}),
        ("text,note,image\nz,x,0\nx,y,1\n", {"text": ["x", "y", "z"]}),
        ("image,text\n007,30\n8,10\n", {"image": ["007", "8"], "text": [10, 20, 30]}),
        # Without a header line.
        ("0,2\n1,0\n", {}),
        ("a,z\nb,x\n", {"image": ["a", "b"], "text": ["x", "y", "z"]}),
        ("0,z\n1,x\n", {"text": ["x", "y", "z"]}),
        ("7,30\n8,10\n", {"image": [7, 8], "text": [10, 20, 30]}),
    ],
)
def test_pairs_by_row_number_or_id(content, ids, tmp_path):
    (tmp_path / "p.csv").write_text(content)

    i, j = read_pairs(tmp_path / "p.csv", ["image", "text"], ids)

    assert (i.tolist(), j.tolist()) == ([0, 1], [2, 0])


def test_the_first_pair_may_have_equal_numbers_and_no_header_line_before_it(tmp_path):
    (tmp_path / "p.csv").write_text("0,0\n1,1\n")

    i, j = read_pairs(tmp_path / "p.csv", ["image", "text"])

    assert (i.tolist(), j.tolist()) == ([0, 1], [0, 1])


def test_modalities_may_have_numbers_as_names(tmp_path):
    (tmp_path / "p.csv").write_text("1,0\n5,6\n")

    i, j = read_pairs(tmp_path / "p.csv", ["0", "1"])

    assert (i.tolist(), j.tolist()) == ([6], [5])


@pytest.mark.parametrize(("content", "part"), [("a,b,c\n9,0,2\n9,1,0\n", "b,c"), ("9,0,2\n9,1,0\n", "1,2")])
def test_two_of_several_columns_can_be_selected(content, part, tmp_path):
    (tmp_path / "p.csv").write_text(content)

    i, j = read_pairs(f"{tmp_path / 'p.csv'}#{part}", ["image", "text"])

    assert (i.tolist(), j.tolist()) == ([0, 1], [2, 0])
    with pytest.raises(InputFileError, match="two columns"):
        read_pairs(f"{tmp_path / 'p.csv'}#{part[0]}", ["image", "text"])


def test_pairs_from_an_array(tmp_path):
    np.save(tmp_path / "p.npy", np.array([[0, 2], [1, 0]]))

    i, j = read_pairs(tmp_path / "p.npy", ["image", "text"])

    assert (i.tolist(), j.tolist()) == ([0, 1], [2, 0])


@pytest.mark.parametrize(
    ("content", "ids", "words"),
    [
        ("a,b,c\n1,2,3\n", {}, "named 'image' and 'text'"),
        ("a,b,c\n1,2,3\n", {}, r"selected: p\.csv#FIRST,SECOND\. Columns: 'a', 'b', 'c'"),
        ("1,2,3\n4,5,6\n", {}, "Columns: '0', '1', '2'"),
        ("0.5,1\n4,5\n", {}, "row numbers of 'image', counted from 0; got 0.5"),
        ("0,1\n2,3\n", {"image": ["a"], "text": ["b"]}, "id '0'"),
        ("image,text\na,0\n", {}, "--ids image="),
        ("image,text\n0,1.5\n", {}, "1.5"),
        ("image,text\nq,0\n", {"image": ["a"]}, "id 'q'"),
    ],
)
def test_bad_pairs_are_named(content, ids, words, tmp_path):
    (tmp_path / "p.csv").write_text(content)

    with pytest.raises(InputFileError, match=words):
        read_pairs(tmp_path / "p.csv", ["image", "text"], ids)


def test_ids_must_differ_and_be_there(tmp_path):
    (tmp_path / "a.csv").write_text("id\nx\ny\nx\n")
    (tmp_path / "b.csv").write_text("id,name\nx,1\n,2\n")

    with pytest.raises(InputFileError, match="'x' occurs more than once"):
        read_ids(tmp_path / "a.csv")
    with pytest.raises(InputFileError, match=r"line 3: there is no value"):
        read_ids(f"{tmp_path / 'b.csv'}#id")


def test_labels_of_two_files_are_comparable(tmp_path):
    """Numbers on one side and words on the other become words; lists become sets of labels."""
    (tmp_path / "a.csv").write_text("class\n1\n2\n")
    (tmp_path / "b.csv").write_text("class\n2\ncat\n")
    (tmp_path / "s.jsonl").write_text('{"tags": ["sky", "sea"]}\n{"tags": []}\n')
    (tmp_path / "t.jsonl").write_text('{"tags": ["sea", "sand"]}\n')

    plain = read_labels({"image": tmp_path / "a.csv", "text": tmp_path / "b.csv"})
    sets = read_labels({"image": tmp_path / "s.jsonl", "text": tmp_path / "t.jsonl"})

    assert plain["image"].tolist() == ["1", "2"]
    assert plain["text"].tolist() == ["2", "cat"]
    assert sets["image"].tolist() == [[False, True, True], [False, False, False]]
    assert sets["text"].tolist() == [[True, True, False]]


def test_codes_are_written_whole_or_not_at_all(tmp_path, rng):
    path = tmp_path / "codes.npy"
    codes = rng.integers(0, 256, (1000, 3), dtype=np.uint8)
    with CodesWriter(path, 3) as writer:
        for start in range(0, 1000, 99):
            writer.write(codes[start : start + 99])

    np.testing.assert_array_equal(np.load(path), codes)
    np.testing.assert_array_equal(read_codes(path), codes)

    def interrupted():
        with CodesWriter(path, 3) as writer:
            writer.write(codes[:5])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    np.testing.assert_array_equal(np.load(path), codes)
    assert [file.name for file in tmp_path.iterdir()] == ["codes.npy"]


def test_what_is_no_codes_file_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))

    with pytest.raises(InputFileError, match="diffhash encode"):
        read_codes(tmp_path / "x.npy")


def test_pictures_are_listed_and_nothing_else(tmp_path):
    (tmp_path / "sub" / ".hidden").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.png").mkdir()
    for name in ("b.PNG", "sub/a.jpg", "sub/.hidden/c.png", "notes.txt", ".d.png"):
        (tmp_path / name).touch()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")

    assert list(list_pictures(tmp_path)) == ["b.PNG", "sub/a.jpg"]
    with pytest.raises(InputFileError, match="no picture"):
        list_pictures(tmp_path / "empty")
    with pytest.raises(InputFileError, match="no such folder"):
        list_pictures(tmp_path / "gone")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_pictures_whose_names_are_no_text_are_named_or_left_out(tmp_path):
    (tmp_path / "a.png").touch()
    broken = tmp_path / os.fsdecode(b"caf\xe9.png")
    broken.touch()

    with pytest.raises(InputFileError, match=r"caf\\xe9.png.*--skip") as caught:
        list_pictures(tmp_path)
    str(caught.value).encode()
    left_out = []
    assert list(list_pictures(tmp_path, left_out)) == ["a.png"]
    assert left_out == [broken]
