"""Ids and payloads of ``build --view``: which object they belong to. Bad ones are found before any work."""

from __future__ import annotations

import datetime
import decimal
import os
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import diffhash as dh
from diffhash.cli.app import run_app
from diffhash.errors import InputFileError
from diffhash.files import read_ids
from diffhash.workflows.captions import read_captions

N = 400


def run(capsys, *arguments):
    """In this process: status, stderr."""
    status = run_app([str(argument) for argument in arguments])
    return status, capsys.readouterr().err


@pytest.fixture
def build(files, tmp_path):
    """Arguments of build."""
    f = files.folder
    views = ["--view", f"x={f / 'train_x.npy'}", "--view", f"y={f / 'train_y.npy'}"]
    return ["build", *views, "--method", "diff", "--bits", "4", "-o", tmp_path / "c.dh"]


@pytest.fixture
def idle(monkeypatch):
    """Fails where anything is learned."""
    monkeypatch.setattr("diffhash.workflows.learn_model.learn", lambda *_, **__: pytest.fail("worked"))


def table(path, names, rows):
    path.write_text("\n".join([names, *rows]) + "\n")
    return path


def test_payloads_of_aligned_views_are_merged(build, tmp_path, capsys):
    a = table(tmp_path / "a.csv", "title,year", [f"t{i},{i}" for i in range(N)])
    b = table(tmp_path / "b.csv", "year,tag", [f"{i},g{i % 3}" for i in range(N)])

    assert run(capsys, *build, "--payload", f"x={a}", "--payload", f"y={b}") == (0, "")

    with dh.Collection.open(tmp_path / "c.dh") as c:
        assert len(c) == N
        assert c.get([5])[0].payload == {"title": "t5", "year": 5, "tag": "g2"}


def test_payloads_that_contradict_each_other_are_named(build, idle, tmp_path, capsys):
    a = table(tmp_path / "a.csv", "year", map(str, range(N)))
    b = table(tmp_path / "b.csv", "year", [str(i + (i == 7)) for i in range(N)])

    status, err = run(capsys, *build, "--payload", f"x={a}", "--payload", f"y={b}")

    assert status == 1
    assert f"{b}, line 9: 'year' is 8 here and 7" in err


@pytest.mark.parametrize("relation", ["pairs", "labels"])
def test_equal_ids_of_two_views_are_two_objects(relation, build, files, tmp_path, capsys):
    """Numbers that count the rows of each view do not say that picture 3 is text 3."""
    a = table(tmp_path / "a.csv", "id", map(str, range(N)))
    b = table(tmp_path / "b.csv", "id", map(str, range(N)))
    f = files.folder
    by = {
        "pairs": ["--pairs", f / "pairs.csv"],
        "labels": ["--labels", f"x={f / 'train_x.csv'}#class", "--labels", f"y={f / 'train_y.csv'}#class"],
    }

    assert run(capsys, *build, *by[relation], "--ids", f"x={a}", "--ids", f"y={b}") == (0, "")

    with dh.Collection.open(tmp_path / "c.dh") as c:
        assert len(c) == 2 * N
        assert [item.modalities for item in c.get(["x-3", "y-3"])] == [("x",), ("y",)]


def test_one_file_of_ids_makes_rows_one_object(build, files, tmp_path, capsys):
    ids = table(tmp_path / "a.csv", "id", [f"n{i}" for i in range(N)])
    labels = ["--labels", f"{files.folder / 'train_x.csv'}#class"]

    assert run(capsys, *build, *labels, "--ids", ids) == (0, "")

    with dh.Collection.open(tmp_path / "c.dh") as c:
        assert len(c) == N
        assert c.get(["n3"])[0].modalities == ("x", "y")


def test_aligned_rows_with_ids_of_their_own_keep_their_payloads(build, files, tmp_path, capsys):
    f = files.folder
    ids = ["--ids", f"x={f / 'train_x.csv'}#id", "--ids", f"y={f / 'train_y.csv'}#id"]
    payload = table(tmp_path / "p.csv", "title", [f"t{i}" for i in range(N)])

    assert run(capsys, *build, *ids, "--aligned", "--payload", payload) == (0, "")

    with dh.Collection.open(tmp_path / "c.dh") as c:
        assert [item.payload for item in c.get(["train-x-3", "train-y-3"])] == [{"title": "t3"}] * 2


def test_parquet_payloads_become_what_json_can_hold(build, tmp_path, capsys):
    day = datetime.date(2024, 2, 29)
    columns = {
        "day": [day] * N,
        "time": pyarrow.array(np.full(N, "2024-02-29T12:30:00.000000001", dtype="M8[ns]")),
        "score": [float("nan"), 0.5] * (N // 2),
        "parts": [[1.0, float("nan")]] * N,
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "p.parquet")

    assert run(capsys, *build, "--payload", tmp_path / "p.parquet") == (0, "")

    with dh.Collection.open(tmp_path / "c.dh") as c:
        first, second = (item.payload for item in c.get([0, 1]))
    assert first == {"day": "2024-02-29", "time": "2024-02-29T12:30:00", "score": None, "parts": [1.0, None]}
    assert second["score"] == 0.5


@pytest.mark.parametrize("value", [b"raw", decimal.Decimal("1.5")], ids=["bytes", "decimal"])
def test_parquet_payloads_that_json_cannot_hold_are_named(value, build, idle, tmp_path, capsys):
    columns = {"title": ["t"] * N, "price": [None] * 9 + [value] * (N - 9)}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "p.parquet")

    status, err = run(capsys, *build, "--payload", tmp_path / "p.parquet")

    assert status == 1
    assert "p.parquet: column 'price' contains a value of type" in err
    assert "in row 9" in err
    ids = pyarrow.table({"id": [f"n{i}" for i in range(N)], **columns})
    pyarrow.parquet.write_table(ids, tmp_path / "i.parquet")
    assert read_ids(f"{tmp_path / 'i.parquet'}#id")[3] == "n3"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            ['{"a": 1}'] * 11 + ['{"a": NaN}'] + ['{"a": 1}'] * (N - 12),
            "p.jsonl, line 12: this cannot be stored",
        ),
        (
            ['{"a": 1}'] * 11 + ['{"a": 1%s}' % ("0" * 30)] * (N - 11),
            "p.jsonl, line 12: this cannot be stored",
        ),
        (['{"a": 1}'] * (N - 1), "fewer rows of payload (399) than of features (400"),
        (['{"a": 1}'] * (N + 1), "more rows of payload (401) than of features (400"),
    ],
    ids=["nan", "too large", "too few", "too many"],
)
def test_bad_payloads_are_named_before_the_work(rows, words, build, idle, tmp_path, capsys):
    (tmp_path / "p.jsonl").write_text("\n".join(rows) + "\n")

    status, err = run(capsys, *build, "--payload", tmp_path / "p.jsonl")

    assert status == 1
    assert words in err
    assert err.count("\n") == 1


def test_captions_with_a_row_that_cannot_be_kept_are_named(photos, tmp_path, capsys):
    names = sorted((photos / "pictures" / "discs").iterdir())
    rows = [f'{{"file": "discs/{p.name}", "caption": "a disc", "n": {i}}}' for i, p in enumerate(names)]
    rows[4] = rows[4].replace('"n": 4', '"n": Infinity')
    (tmp_path / "c.jsonl").write_text("\n".join(rows))

    status, err = run(
        capsys,
        "build",
        "--images",
        photos / "pictures",
        "--captions",
        tmp_path / "c.jsonl",
        "-o",
        tmp_path / "c",
    )

    assert status == 1
    assert "c.jsonl, line 5: this cannot be stored" in err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_pictures_whose_names_are_not_valid_text_are_counted(tmp_path):
    (tmp_path / "p").mkdir()
    for name in (b"a.png", b"caf\xe9.png"):
        (tmp_path / "p" / os.fsdecode(name)).touch()
    (tmp_path / "c.csv").write_text("file,caption\na.png,one\n")
    columns = {"file_column": None, "caption_column": None}

    with pytest.raises(InputFileError, match="not valid UTF-8"):
        read_captions(tmp_path / "p", str(tmp_path / "c.csv"), **columns, skip=False)
    assert read_captions(tmp_path / "p", str(tmp_path / "c.csv"), **columns, skip=True).n_left_out == 1
