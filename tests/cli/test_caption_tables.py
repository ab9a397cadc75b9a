"""Tables of captions: encodings, absolute names, second captions, unreadable pictures, and interrupted builds."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.workflows import InterruptedBuild, LearningOptions
from diffhash.workflows.kept_work import kept_path
from tests.cli.process import QUICK, run


@pytest.fixture
def table(photos, tmp_path):
    """Write a table of captions; gives the arguments of a build."""

    def write(rows, encoding="utf-8", name="c.csv"):
        with (tmp_path / name).open("w", newline="", encoding=encoding) as file:
            csv.writer(file).writerows([["file", "caption"], *rows])
        return [
            "build",
            "--images",
            photos / "pictures",
            "--captions",
            tmp_path / name,
            *QUICK,
            "-o",
            tmp_path / "o.dh",
        ]

    return write


def rows_of(photos):
    with (photos / "captions.csv").open(newline="") as file:
        return [row[:2] for row in csv.reader(file)][1:]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_the_encoding_is_guessed_and_said(photos, table, tmp_path, capsys, encoding):
    rows = rows_of(photos)
    rows[0][1] = "ein grüner Würfel"
    status, out, err = run(capsys, *table(rows, encoding))
    assert status == 0
    assert f"c.csv is not UTF-8 text. It was read as {encoding}, which is a guess. Say --encoding" in err
    status, out, _ = run(capsys, "search", tmp_path / "o.dh", "gruner wurfel", "-k", 1, "--json")
    assert json.loads(out)["results"][0][0]["payload"]["caption"] == "ein grüner Würfel"

    status, out, err = run(capsys, *table(rows, encoding), "--encoding", encoding, "--overwrite", "--json")
    assert (status, json.loads(out)["notes"]) == (0, [])


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("klingon", "there is no encoding 'klingon'"),
        ("base64", "there is no encoding"),
        ("ascii", "is not text of the"),
    ],
)
def test_a_wrong_encoding_is_an_error(photos, table, capsys, encoding, message):
    rows = [*rows_of(photos)[1:], [rows_of(photos)[0][0], "grün"]]
    status, out, err = run(capsys, *table(rows), "--encoding", encoding)
    assert (status, out) == (1, "")
    assert message in err


def test_bytes_that_are_no_text_are_an_error(photos, table, tmp_path, capsys):
    arguments = table(rows_of(photos))
    with (tmp_path / "c.csv").open("ab") as file:
        file.write(b"\x81\x8d\n")
    status, _, err = run(capsys, *arguments)
    assert (status, "its encoding cannot be guessed. Say --encoding" in err) == (1, True)


def test_absolute_names_and_second_captions_keep_the_ids(photos, table, tmp_path, capsys):
    rows = rows_of(photos)
    rows = [[str((photos / "pictures" / name).absolute()), text] for name, text in rows[:30]] + [
        [f"./{name}", text] for name, text in rows[30:]
    ]
    rows.append([rows[4][0], "a second caption"])
    status, out, err = run(capsys, *table(rows), "--json")
    assert status == 0, err
    assert json.loads(out)["objects"] == 61
    with dh.Collection.open(tmp_path / "o.dh") as collection:
        ids = [item.id for block in collection.iterate() for item in block]
        first = rows_of(photos)[4][0]
        assert set(ids) == {name for name, _ in rows_of(photos)} | {f"{first}#2"}
        assert collection.get(first)[0].modalities == ("image", "text")
        found = collection.search_words(["second"], into="image")[0]
        assert [hit.id for hit in found] == [first]

    rows[0][0] = "/elsewhere/a.png"
    status, _, err = run(capsys, *table(rows), "--overwrite")
    assert (status, "1 of its pictures is not in" in err) == (1, True)


def test_pictures_without_a_caption_are_counted(photos, table, capsys):
    status, out, _ = run(capsys, *table(rows_of(photos)[:40]))
    assert status == 0
    assert "without caption  20" in out


def test_places_in_text_files_are_lines(photos, table, capsys):
    rows = rows_of(photos)
    rows[5][1] = " "
    status, _, err = run(capsys, *table(rows))
    assert status == 1
    assert "1 rows have no caption, the first is line 7" in err


def interrupted(step_name, count=1):
    """A progress callback that raises KeyboardInterrupt at a step."""

    def progress(step):
        if step.name == step_name and step.done >= count:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(
    ("step", "kept"),
    [("reading pictures", "60 pictures;"), ("adding pictures", "60 pictures and the learned model;")],
)
def test_an_interrupted_build_continues(photos, tmp_path, step, kept):
    learning = LearningOptions("diff", 4)
    arguments = photos / "pictures", photos / "captions.csv", tmp_path / "o.dh"
    with pytest.raises(
        InterruptedBuild, match=rf"o\.dh was not written.*keeps {kept} the same command continues"
    ):
        workflows.build_folder(*arguments, learning=learning, progress=interrupted(step))
    assert not arguments[2].exists()
    assert kept_path(arguments[2]).exists()

    result = workflows.build_folder(*arguments, learning=learning)

    assert "Continued an interrupted build" in result.notes[0]
    assert not kept_path(arguments[2]).exists()
    whole = workflows.build_folder(*arguments[:2], tmp_path / "whole.dh", learning=learning)
    assert whole.notes == ()
    with dh.Collection.open(result.path) as a, dh.Collection.open(whole.path) as b:
        contents = [
            [
                (i.id, {m: c.tolist() for m, c in i.codes.items()}, i.payload)
                for block in c.iterate()
                for i in block
            ]
            for c in (a, b)
        ]
    assert contents[0] == contents[1]


def test_kept_work_stays_after_an_error(photos, tmp_path, monkeypatch):
    learning = LearningOptions("diff", 4)
    arguments = photos / "pictures", photos / "captions.csv", tmp_path / "o.dh"
    with pytest.raises(InterruptedBuild):
        workflows.build_folder(*arguments, learning=learning, progress=interrupted("adding pictures"))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("diffhash.workflows.build_target.new_collection", full)
        with pytest.raises(OSError, match="No space"):
            workflows.build_folder(*arguments, learning=learning)
    assert "and the learned model were kept" in workflows.build_folder(*arguments, learning=learning).notes[0]


def test_kept_work_of_other_data_or_damaged_is_not_used(photos, tmp_path):
    learning = LearningOptions("diff", 4)
    arguments = photos / "pictures", photos / "captions.csv", tmp_path / "o.dh"
    for change in ("settings", "damage"):
        with pytest.raises(InterruptedBuild):
            workflows.build_folder(
                *arguments, learning=learning, overwrite=True, progress=interrupted("reading pictures")
            )
        if change == "damage":
            path = kept_path(arguments[2])
            path.write_bytes(path.read_bytes()[:-200])
        other = LearningOptions("diff", 5) if change == "settings" else learning
        assert workflows.build_folder(*arguments, learning=other, overwrite=True).notes == ()


def test_an_interrupt_says_that_nothing_was_kept(photos, tmp_path):
    shutil.copy(photos / "captions.csv", tmp_path / "c.csv")
    with pytest.raises(InterruptedBuild, match=r"Nothing was kept, and .* was not written"):
        workflows.build_folder(
            photos / "pictures",
            tmp_path / "c.csv",
            tmp_path / "o.dh",
            progress=interrupted("reading pictures", 0),
        )


def test_an_interrupted_build_of_features_keeps_the_model(files, tmp_path):
    views = {m: files.folder / f"train_{m}.npy" for m in "xy"}
    with pytest.raises(InterruptedBuild, match=r"o\.dh\.resume\.dhm keeps the learned model"):
        workflows.build_features(
            views, tmp_path / "o.dh", learning=LearningOptions("diff", 4), progress=interrupted("adding x", 0)
        )
    result = workflows.build_features(views, tmp_path / "o.dh", model=tmp_path / "o.dh.resume.dhm")
    assert result.objects == len(files.data.train.views["x"])
