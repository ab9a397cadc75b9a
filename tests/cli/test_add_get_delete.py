"""``add``, ``get`` and ``delete``, with good and bad input."""

from __future__ import annotations

import json
import shutil

import numpy as np
import PIL.Image
import pytest

import diffhash as dh
from tests.cli.process import run


@pytest.fixture
def copy(shapes, tmp_path):
    """A collection of pictures that may be changed."""
    return shutil.copy(shapes, tmp_path / "shapes.dh")


@pytest.fixture
def more(tmp_path):
    """A folder of four more pictures, three with captions."""
    folder = tmp_path / "more"
    folder.mkdir()
    for n in range(4):
        PIL.Image.fromarray(np.full((30, 30, 3), 60 * n, dtype=np.uint8)).save(folder / f"new{n}.png")
    rows = [
        "file,caption,number",
        "new0.png,a black tile,100",
        "new1.png,a grey tile,101",
        "new2.png,light tiles,102",
    ]
    (tmp_path / "more.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def numbered(files, tmp_path):
    """A collection whose ids are numbers, with five objects."""
    with dh.Collection.create(tmp_path / "n.dh", files.hasher) as c:
        c.add(files.data.test.views["x"][:5], modality="x", payloads=[{"n": i} for i in range(5)])
    return tmp_path / "n.dh"


def test_pictures_and_captions_are_added_and_found(copy, more, tmp_path, capsys):
    status, out, err = run(
        capsys, "add", copy, "--images", more, "--captions", tmp_path / "more.csv", "--json"
    )
    facts = json.loads(out)
    assert (status, err) == (0, "")
    assert (facts["added"], facts["objects"], facts["without caption"]) == (4, 64, 1)
    _, out, _ = run(capsys, "search", copy, "tile", "-k", 3, "--json")
    assert {hit["id"] for hit in json.loads(out)["results"][0]} == {"new0.png", "new1.png", "new2.png"}
    assert run(capsys, "verify", copy)[0] == 0

    status, out, err = run(capsys, "add", copy, "--images", more)
    assert (status, out) == (1, "")
    assert "4 of the objects exist already, for example 'new0.png'. Nothing was added. Use --replace" in err
    status, out, _ = run(capsys, "add", copy, "--images", more, "--replace")
    assert status == 0
    assert "replaced" in out


def test_replaced_pictures_lose_the_captions_that_they_had(copy, more, tmp_path, capsys):
    table = tmp_path / "more.csv"
    add = ["add", copy, "--images", more, "--captions", table, "--json"]
    with table.open("a") as file:
        file.write("new0.png,a night,100\nnew0.png,a cellar,100\n")
    _, out, _ = run(capsys, *add)
    assert (json.loads(out)["added"], json.loads(out)["replaced"], json.loads(out)["objects"]) == (6, 0, 66)

    run(capsys, "delete", copy, "new0.png", "new1.png", "new2.png", "new3.png")
    status, _, err = run(capsys, *add)
    assert status == 1
    assert "2 of the objects exist already, for example 'new0.png#2'. Nothing was added" in err

    run(capsys, *add, "--replace")
    table.write_text("file,caption\nnew0.png,a night\n")
    _, out, _ = run(capsys, *add, "--replace")
    assert (json.loads(out)["added"], json.loads(out)["replaced"], json.loads(out)["objects"]) == (0, 4, 64)
    with dh.Collection.open(copy) as c:
        assert [item.modalities for item in c.get(["new0.png", "new1.png"])] == [
            ("image", "text"),
            ("image",),
        ]
        assert c.match_words("cellar tile").unknown == ("cellar", "tile")
        assert c.verify().ok


def test_all_unreadable_pictures_are_in_one_list(copy, more, capsys):
    for name in ("bad1.png", "bad2.png"):
        (more / name).write_bytes(b"not a picture")
    status, out, err = run(capsys, "add", copy, "--images", more, "--json")
    assert status == 1
    assert set(json.loads(out)["unreadable"]) == {"bad1.png", "bad2.png"}
    assert "2 pictures cannot be read" in err
    assert "Use --skip" in err
    status, out, _ = run(capsys, "add", copy, "--images", more, "--skip", "--json")
    assert (status, json.loads(out)["added"], len(json.loads(out)["unreadable"])) == (0, 4, 2)


def test_features_are_added(numbered, files, tmp_path, capsys):
    np.save(tmp_path / "x.npy", files.data.test.views["x"][:3])
    np.save(tmp_path / "y.npy", files.data.test.views["y"][:3])
    (tmp_path / "p.csv").write_text("n\n7\n8\n9\n")
    arguments = ["--view", f"x={tmp_path / 'x.npy'}", "--view", f"y={tmp_path / 'y.npy'}"]

    status, out, _ = run(capsys, "add", numbered, *arguments, "--payload", tmp_path / "p.csv", "--json")

    assert (status, json.loads(out)["added"]) == (0, 3)
    with dh.Collection.open(numbered) as c:
        assert c.get(6)[0].modalities == ("x", "y")
        assert c.get(6)[0].payload == {"n": 8}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "give --images FOLDER, or --view"),
        (["--view", "x=x.npy", "--skip"], 2, "--skip goes with --images"),
        (["--images", ".", "--payload", "p.csv"], 2, "--payload goes with --view"),
        (["--view", "z=X"], 2, "the collection has no 'z'"),
        (["--view", "x=X", "--ids", "IDS"], 1, "exists already"),
        (["--view", "x=X", "--view", "y=SHORT"], 1, "different numbers of rows"),
        (["--images", "FOLDER"], 2, "does not take pictures"),
    ],
)
def test_what_cannot_be_added_is_said(numbered, files, more, tmp_path, capsys, arguments, status, message):
    np.save(tmp_path / "x.npy", files.data.test.views["x"][:3])
    np.save(tmp_path / "short.npy", files.data.test.views["y"][:2])
    np.save(tmp_path / "ids.npy", np.array([9, 4, 8]))
    names = {"X": "x.npy", "SHORT": "short.npy", "IDS": "ids.npy", "FOLDER": "more"}
    written = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        written.append(f"{name}{equals}{tmp_path / names[value]}" if value in names else argument)

    found, out, err = run(capsys, "add", numbered, *written)

    assert (found, out) == (status, "")
    assert message in err
    with dh.Collection.open(numbered) as c:
        assert len(c) == 5


def test_objects_are_shown(numbered, copy, capsys):
    status, out, _ = run(capsys, "get", numbered, "3", 4, "--json")
    items = json.loads(out)["items"]
    assert status == 0
    assert [(item["id"], item["payload"]) for item in items] == [(3, {"n": 3}), (4, {"n": 4})]
    assert len(bytes.fromhex(items[0]["codes"]["x"])) == 2
    status, out, _ = run(capsys, "get", copy, "discs/05.png")
    assert status == 0
    assert "a blue disc" in out
    assert "thumbnail" not in out


@pytest.mark.parametrize(
    ("command", "arguments", "status", "message"),
    [
        ("get", ["77"], 1, "has no object with the id 77"),
        ("get", ["3", "--modality", "z"], 2, "--modality: the collection has no 'z'"),
        ("get", [], 2, "Missing argument"),
        ("delete", [], 2, "give at least one id"),
        ("delete", ["3", "--modality", "z"], 2, "--modality: the collection has no 'z'"),
        ("delete", ["--ids", "missing.npy"], 1, "missing.npy"),
    ],
)
def test_bad_ids_are_said(numbered, capsys, command, arguments, status, message):
    found, out, err = run(capsys, command, numbered, *arguments)
    assert (found, out) == (status, "")
    assert message in err


def test_objects_are_deleted(numbered, tmp_path, capsys):
    (tmp_path / "old.csv").write_text("id\n0\n1\n")
    status, out, _ = run(
        capsys, "delete", numbered, "3", "99", "--ids", f"{tmp_path / 'old.csv'}#id", "--json"
    )
    assert (status, json.loads(out)["deleted"], json.loads(out)["unknown"]) == (0, 3, [99])
    status, out, _ = run(capsys, "delete", numbered, "4")
    assert (status, "unknown" in out) == (0, False)
    with dh.Collection.open(numbered) as c:
        assert len(c) == 1


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "a PNG picture"),
        (b"\xff\xd8\xff\xe0....", "a JPEG picture"),
        (b"PK\x03\x04....", "a ZIP archive"),
        (b"", "an empty file"),
        ("Äpfel und Birnen\n".encode() * 20, "a text file"),
    ],
)
@pytest.mark.parametrize("command", ["search", "get", "delete"])
def test_a_file_that_is_not_a_collection_is_called_what_it_is(command, content, kind, tmp_path, capsys):
    (tmp_path / "x.dh").write_bytes(content)
    status, out, err = run(capsys, command, tmp_path / "x.dh", "word")
    assert (status, out) == (1, "")
    assert f"is {kind}. A collection (.dh) is needed here" in err
