"""``build``, ``search``, ``info`` and ``verify``: good and bad input."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3

import numpy as np
import pytest

import diffhash as dh
from diffhash.cli.app import run_app
from diffhash.cli.thumbnails import is_thumbnail
from tests.cli.process import assert_one_line, diffhash

FAST = ["--method", "diff", "--bits", "4"]
# The same work with fewer bits than pictures have words, and without the choice of settings.
QUICK = ["--method", "refined", "--bits", "16", "--set", "features=linear", "--set", "max_iter=5"]
QUICK += ["--set", "ridge=0.01", "--set", "penalty=0.003", "--set", "negative_target=0"]


def run(capsys, *arguments):
    """In this process: status, stdout, stderr."""
    status = run_app([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def found(out, query=0):
    return json.loads(out)["results"][query]


@pytest.fixture(scope="session")
def shapes(photos, tmp_path_factory):
    """A collection built from the folder of pictures, by a process."""
    out = tmp_path_factory.mktemp("built") / "shapes.dh"
    built = diffhash(
        "build", "--images", photos / "pictures", "--captions", photos / "captions.csv", *QUICK, "-o", out
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert "objects" in built.stdout
    assert "60 pairs" in built.stdout
    return out


def test_search_as_a_process_with_words_and_with_a_picture(shapes, photos, tmp_path):
    words = diffhash("search", shapes, "red square", "-k", "10", "--json")
    assert (words.returncode, words.stderr) == (0, "")
    assert {hit["payload"]["caption"] for hit in found(words.stdout)} == {"a red square"}
    assert set(found(words.stdout)[0]) == {"id", "distance", "modality", "payload"}
    assert set(found(words.stdout)[0]["payload"]) == {"file", "caption", "shape", "number"}

    page = tmp_path / "page.html"
    image = photos / "pictures" / "discs" / "05.png"
    picture = diffhash("search", shapes, "--image", image, "-k", "3", "--open", "--page", page)
    assert (picture.returncode, picture.stderr) == (0, "")
    lines = picture.stdout.splitlines()
    assert lines[0].split() == ["distance", "id", "caption", "shape", "number"]
    assert all("a blue disc" in line for line in lines[1:4])
    assert lines[4] == str(page)
    html = page.read_text(encoding="utf-8")
    assert html.count('src="data:image/') == 4
    assert "<script" not in html


def test_filters_narrow_the_answer(shapes, capsys):
    typed = ["--where", "shape=disc", "--where", "number>=30", "-k", 50]
    as_json = ["--where", '{"and": [{"shape": "disc"}, {"number": {"ge": 30}}]}', "-k", 50]

    status, out, _ = run(capsys, "search", shapes, "red square", *typed, "--json")

    assert status == 0
    assert len(found(out)) == 15
    assert all(h["payload"]["shape"] == "disc" and h["payload"]["number"] >= 30 for h in found(out))
    assert run(capsys, "search", shapes, "red square", *as_json, "--json")[1] == out
    assert run(capsys, "search", shapes, "red square", "--where", "shape=none")[1] == "nothing was found\n"


def test_an_item_finds_others_and_words_find_captions(shapes, capsys):
    status, out, _ = run(
        capsys, "search", shapes, "--item", "discs/05.png", "--into", "image", "-k", 3, "--json"
    )
    assert status == 0
    assert "discs/05.png" not in {hit["id"] for hit in found(out)}
    assert {hit["payload"]["caption"] for hit in found(out)} == {"a blue disc"}

    _, out, _ = run(capsys, "search", shapes, "a green disc", "--into", "text", "-k", 1, "--json")
    assert (found(out)[0]["modality"], found(out)[0]["distance"]) == ("text", 0)
    assert found(out)[0]["payload"]["caption"] == "a green disc"


def test_words_that_were_never_learned_are_told(shapes, capsys):
    status, out, err = run(capsys, "search", shapes, "zebra", "--json")
    assert status == 0
    assert "none of these words was learned" in err
    assert len(found(out)) == 10
    assert run(capsys, "search", shapes, "a zebra on a disc", "--json")[2] == ""


def test_thumbnails_are_kept_in_the_file_or_not(shapes, photos, tmp_path, capsys):
    with dh.Collection.open(shapes) as c:
        assert all(is_thumbnail(item.payload["thumbnail"]) for item in next(c.iterate("image")))
    arguments = ["--images", photos / "pictures", "--captions", photos / "captions.csv", *QUICK]

    status, _, _ = run(capsys, "build", *arguments, "--no-thumbnails", "-o", tmp_path / "s.dh", "--json")

    assert status == 0
    with dh.Collection.open(tmp_path / "s.dh") as c:
        assert not any("thumbnail" in item.payload for item in next(c.iterate("image")))


@pytest.fixture
def rewritten(photos, tmp_path):
    """Writes other captions for the same pictures; gives the arguments of build."""

    def write(rows, header=("file", "caption")):
        with (tmp_path / "c.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        built = tmp_path / "built"
        built.mkdir()
        return [
            "build",
            "--images",
            photos / "pictures",
            "--captions",
            tmp_path / "c.csv",
            *QUICK,
            "-o",
            built / "s.dh",
        ]

    return write


def names(photos):
    folder = photos / "pictures"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))


def test_several_captions_of_a_picture_and_pictures_without_one(photos, rewritten, tmp_path, capsys):
    """Captions get ids of their own, all pictures are there, and a sample is enough to learn from."""
    chosen = names(photos)[:20]
    rows = [(name, f"{name.split('/')[0]} {word}") for name in chosen for word in ("one", "two")]
    arguments = rewritten(rows)

    status, out, err = run(capsys, *arguments, "--json", "--sample", 30)

    assert (status, err) == (0, "")
    assert json.loads(out)["objects"] == 60 + 40
    with dh.Collection.open(tmp_path / "built" / "s.dh") as c:
        item, caption = c.get([chosen[3], f"{chosen[3]}#2"])
        assert item.modalities == ("image",)
        assert item.payload["captions"] == [rows[6][1], rows[7][1]]
        assert caption.modalities == ("text",)
        assert caption.payload == {"file": chosen[3], "caption": rows[7][1]}


def test_hostile_names_and_captions_stay_data(photos, rewritten, tmp_path, capsys):
    """A name is never a path, a caption never markup, and a terminal gets no control characters."""
    evil = '<script>alert(1)</script> \x1b[31m"; DROP TABLE items; --'
    rows = [(name, f"thing {number}") for number, name in enumerate(names(photos))]
    rows[7] = (rows[7][0], evil)
    arguments = rewritten(rows)
    assert run(capsys, *arguments)[0] == 0
    out = tmp_path / "built" / "s.dh"
    page = tmp_path / "p.html"

    status, printed, _ = run(capsys, "search", out, evil, "-k", 60, "--open", "--page", page)

    html = page.read_text(encoding="utf-8")
    assert status == 0
    assert "\x1b" not in printed
    assert "\\x1b[31m" in printed
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    with dh.Collection.open(out) as c:
        assert c.get([rows[7][0]])[0].payload["caption"] == evil


def test_a_foreign_thumbnail_is_not_shown(files, tmp_path, capsys):
    """A payload from elsewhere may claim anything."""
    path = tmp_path / "c.dh"
    with dh.Collection.create(path, files.hasher) as c:
        evil = {"thumbnail": 'x" onerror="alert(1)', "link": "javascript:alert(1)", "caption": "<b>bold</b>"}
        c.add(files.data.test.views["x"][:1], modality="x", payloads=[evil])
    page = tmp_path / "p.html"

    status, _, _ = run(
        capsys, "search", path, "--vector", files.folder / "test_y.npy", "--open", "--page", page, "-k", 1
    )

    html = page.read_text(encoding="utf-8")
    assert status == 0
    assert "<img" not in html
    assert "<a " not in html
    assert "<b>" not in html


def test_rows_that_do_not_fit_are_named_or_left_out(photos, rewritten, tmp_path, capsys):
    rows = [(name, f"thing {number % 5}") for number, name in enumerate(names(photos))]
    rows += [("../../secret.png", "a secret"), ("/etc/passwd", "users"), (rows[0][0], "")]
    arguments = rewritten(rows)

    status, out, err = run(capsys, *arguments)
    assert (status, out) == (1, "")
    assert "2 of its pictures are not in" in err
    assert "'../../secret.png', '/etc/passwd'" in err
    assert "--skip" in err
    assert list((tmp_path / "built").iterdir()) == []

    status, out, _ = run(capsys, *arguments, "--skip", "--json")
    assert status == 0
    assert json.loads(out)["left out"] == 3


def test_a_broken_picture_is_named_or_left_out(photos, tmp_path, capsys):
    shutil.copytree(photos, tmp_path / "p")
    (tmp_path / "p" / "pictures" / "discs" / "03.png").write_bytes(b"no picture")
    arguments = [
        "build",
        "--images",
        tmp_path / "p" / "pictures",
        "--captions",
        tmp_path / "p" / "captions.csv",
    ]
    arguments += [*QUICK, "-o", tmp_path / "s.dh"]

    status, _, err = run(capsys, *arguments)
    assert status == 1
    assert "03.png" in err
    assert not (tmp_path / "s.dh").exists()

    status, out, _ = run(capsys, *arguments, "--skip", "--json")
    assert status == 0
    assert json.loads(out)["objects"] == 59
    assert json.loads(out)["left out"] == 1


def views(files, part="train"):
    return ["--view", f"x={files.folder / part}_x.npy", "--view", f"y={files.folder / part}_y.npy"]


def test_aligned_features_share_ids_and_payload(files, tmp_path, capsys):
    rows = [f"thing {i},{i % 5}" for i in range(400)]
    (tmp_path / "p.csv").write_text("\n".join(["title,group", *rows]))
    out = tmp_path / "a.dh"

    status, printed, _ = run(
        capsys, "build", *views(files), *FAST, "--payload", tmp_path / "p.csv", "-o", out, "--json"
    )

    assert status == 0
    assert json.loads(printed)["objects"] == 400
    with dh.Collection.open(out) as c:
        (item,) = c.get([17])
        assert item.modalities == ("x", "y")
        assert item.payload == {"title": "thing 17", "group": 2}
        codes = c.hasher.encode(np.load(files.folder / "train_y.npy")[17:18], modality="y")
        np.testing.assert_array_equal(item.codes["y"], codes[0])
    query = tmp_path / "q.npy"
    np.save(query, np.load(files.folder / "train_y.npy")[17])
    status, printed, _ = run(
        capsys, "search", out, "--vector", query, "-k", 400, "--json", "--where", "group=2"
    )
    assert status == 0
    assert len(found(printed)) == 80


def test_pairs_of_named_rows_and_a_model_that_is_there(files, tmp_path, capsys):
    """With ids of their own, rows are two kinds of objects; a given model is used as it is."""
    f, out = files.folder, tmp_path / "n.dh"
    ids = ["--ids", f"x={f / 'train_x.csv'}#id", "--ids", f"y={f / 'train_y.csv'}#id"]
    payload = ["--payload", f"x={f / 'train_x.csv'}", "--payload", f"y={f / 'train_y.csv'}"]
    status, _, _ = run(
        capsys, "build", *views(files), *FAST, "--pairs", f / "named_pairs.csv", *ids, *payload, "-o", out
    )
    assert status == 0
    with dh.Collection.open(out) as c:
        assert len(c) == 800
        (item,) = c.get(["train-y-5"])
        assert (item.modalities, item.payload["id"]) == (("y",), "train-y-5")

    status, printed, err = run(
        capsys, "build", "--model", f / "model.dhm", "--view", f"x={f / 'test_x.npy'}", "-o", out, "--json"
    )
    assert (status, printed) == (2, "")
    assert "--overwrite" in err
    status, printed, _ = run(
        capsys, "build", "--model", f / "model.dhm", "--view", f"x={f / 'test_x.npy'}", "-o", out, "--overwrite",
        "--json",
    )  # fmt: skip
    assert status == 0
    assert json.loads(printed)["objects"] == 200
    with dh.Collection.open(out) as c:
        assert c.n_bits == 16
        assert [item.id for item in next(c.iterate(batch=3))] == [0, 1, 2]


def test_rows_by_pairs_without_ids_are_called_by_modality_and_number(files, tmp_path, capsys):
    out = tmp_path / "p.dh"
    assert (
        run(capsys, "build", *views(files), *FAST, "--pairs", files.folder / "pairs.csv", "-o", out)[0] == 0
    )

    with dh.Collection.open(out) as c:
        assert [item.modalities for item in c.get(["x-3", "y-399"])] == [("x",), ("y",)]


def test_a_build_that_fails_leaves_nothing(files, tmp_path, capsys):
    (tmp_path / "p.csv").write_text("title\n" + "thing\n" * 399)
    dh.Collection.create(tmp_path / "a.dh", files.hasher).close()
    before = (tmp_path / "a.dh").read_bytes()

    status, out, err = run(
        capsys, "build", *views(files), *FAST, "--payload", tmp_path / "p.csv", "-o", tmp_path / "a.dh",
        "--overwrite",
    )  # fmt: skip

    assert (status, out) == (1, "")
    assert "fewer rows of payload" in err
    assert {path.name for path in tmp_path.iterdir()} - {"a.dh-lock"} == {"p.csv", "a.dh"}
    assert (tmp_path / "a.dh").read_bytes() == before


def test_info_and_verify_as_processes(shapes, files, tmp_path):
    told = diffhash("info", shapes, "--json")
    assert (told.returncode, told.stderr) == (0, "")
    facts = json.loads(told.stdout)
    assert (facts["kind"], facts["objects"], facts["bits"]) == ("collection", 60, 16)
    assert [m["name"] for m in facts["modalities"]] == ["image", "text"]
    good = diffhash("verify", shapes)
    assert (good.returncode, good.stdout, good.stderr) == (0, f"{shapes}: in order\n", "")

    damaged = tmp_path / "m.dhm"
    data = bytearray((files.folder / "model.dhm").read_bytes())
    data[-9] ^= 1
    damaged.write_bytes(data)
    bad = diffhash("verify", damaged, "--json")
    assert (bad.returncode, bad.stderr) == (3, "")
    assert json.loads(bad.stdout)["ok"] is False
    assert "checksum" in json.loads(bad.stdout)["problems"][0]
    assert_one_line(diffhash("verify", tmp_path / "none.dh"), 1)
    assert_one_line(diffhash("info", damaged), 1)


def damaged_collection(folder, shapes, files):
    path = folder / "d.dh"
    shutil.copy(shapes, path)
    with sqlite3.connect(path) as db:
        table = next(
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "payload" in name
        )
        column = next(row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] == "payload")
        db.execute(f"UPDATE {table} SET {column} = 'no json' WHERE rowid = 1")
    db.close()
    return path


def nan_features(folder, shapes, files):
    np.save(folder / "n.npy", np.array([[1.0, 2.0], [np.nan, 3.0]]))
    return folder / "n.npy"


def short_table(folder, shapes, files):
    (folder / "t.csv").write_text("a,b\n1,2\n3\n")
    return folder / "t.csv"


def not_ours(folder, shapes, files):
    (folder / "x.bin").write_bytes(b"what is this")
    return folder / "x.bin"


def foreign_database(folder, shapes, files):
    with sqlite3.connect(folder / "f.dh") as db:
        db.execute("CREATE TABLE cats (name TEXT)")
    db.close()
    return folder / "f.dh"


@pytest.mark.parametrize(
    "make",
    [damaged_collection, nan_features, short_table, not_ours, foreign_database],
    ids=lambda f: f.__name__,
)
def test_verify_ends_with_3_where_something_is_wrong(make, shapes, files, tmp_path, capsys):
    path = make(tmp_path, shapes, files)

    status, out, err = run(capsys, "verify", path)

    assert (status, err) == (3, "")
    assert out.splitlines()[-1] == f"{path}: not in order"
    assert len(out.splitlines()) >= 2


def test_info_knows_every_kind_of_file(files, tmp_path, capsys):
    f = files.folder
    np.save(tmp_path / "c.npy", np.zeros((7, 3), dtype=np.uint8))
    (tmp_path / "r.jsonl").write_text("[1, 2]\n[3, 4]\n")

    told = {
        name: json.loads(run(capsys, "info", path, "--json")[1])
        for name, path in {
            "model": f / "model.dhm",
            "codes": tmp_path / "c.npy",
            "array": f / "test_x.npy",
            "npz": f"{f / 'train.npz'}#y",
            "table": f / "pairs.csv",
            "lines": tmp_path / "r.jsonl",
        }.items()
    }

    assert {name: facts["kind"] for name, facts in told.items()} == {
        "model": "model",
        "codes": "codes",
        "array": "array",
        "npz": "features",
        "table": "table",
        "lines": "features",
    }
    assert told["model"]["settings"]["gamma"] == 10.0
    assert (told["codes"]["rows"], told["codes"]["bytes"]) == (7, 3)
    assert told["npz"]["features"] == 64
    assert told["table"]["columns"] == "x, y"


BAD = {
    "build nothing": (["build", "-o", "a.dh"], 2, "--images FOLDER and --captions"),
    "build half": (["build", "--images", "{p}/pictures", "-o", "a.dh"], 2, "--captions FILE"),
    "build both": (
        ["build", "--images", "{p}/pictures", "--captions", "{p}/captions.csv", "{views}", "-o", "a.dh"],
        2,
        "or --view",
    ),
    "build mixed": (
        ["build", "--images", "{p}/pictures", "--captions", "{p}/captions.csv", "--pairs", "p", "-o", "a.dh"],
        2,
        "goes with --view",
    ),
    "build no folder": (
        ["build", "--images", "{p}/none", "--captions", "{p}/captions.csv", "-o", "a.dh"],
        1,
        "no such folder",
    ),
    "build no column": (
        ["build", "--images", "{p}/pictures", "--captions", "{f}/pairs.csv", "-o", "a.dh"],
        1,
        "--file-column",
    ),
    "build wrong column": (
        [
            "build",
            "--images",
            "{p}/pictures",
            "--captions",
            "{p}/captions.csv",
            "--caption-column",
            "q",
            "-o",
            "a",
        ],
        1,
        "'file', 'caption', 'shape', 'number'",
    ),
    "build into nowhere": (["build", "{views}", "-o", "no/a.dh"], 1, "no folder"),
    "build other model": (
        ["build", "--model", "{f}/model.dhm", "--view", "z={f}/test_x.npy", "-o", "a.dh"],
        2,
        "no modality 'z'",
    ),
    "build wrong width": (
        ["build", "--model", "{f}/model.dhm", "--view", "y={f}/test_x.npy", "-o", "a.dh"],
        1,
        "64 features",
    ),
    "search nothing": (["search", "{s}"], 2, "one of TEXT"),
    "search twice": (["search", "{s}", "red", "--item", "x"], 2, "one of TEXT"),
    "search no file": (["search", "none.dh", "red"], 1, "no such file"),
    "search no collection": (["search", "{f}/model.dhm", "red"], 1, "model.dhm"),
    "search no picture": (["search", "{s}", "--image", "none.png"], 1, "none.png"),
    "search a text as a picture": (["search", "{s}", "--image", "{f}/pairs.csv"], 1, "cannot be read"),
    "search vector width": (["search", "{s}", "--vector", "{f}/test_x.npy"], 2, "say --modality"),
    "search unknown item": (["search", "{s}", "--item", "none"], 1, "none"),
    "search into": (["search", "{s}", "red", "--into", "sound"], 2, "no 'sound'"),
    "search modality": (["search", "{s}", "red", "--modality", "sound"], 2, "no 'sound'"),
    "search none": (["search", "{s}", "red", "-k", "0"], 2, "-k"),
    "where nonsense": (["search", "{s}", "red", "--where", "shape"], 2, "FIELD=VALUE"),
    "where bad json": (["search", "{s}", "red", "--where", '{"a"'], 2, "no JSON"),
    "where bad filter": (["search", "{s}", "red", "--where", '{"a": {"like": 1}}'], 1, "like"),
    "page nowhere": (["search", "{s}", "red", "--open", "--page", "no/p.html"], 1, "no folder"),
    "info nothing": (["info", "none"], 1, "no such file"),
}


@pytest.mark.parametrize(("arguments", "status", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(
    arguments, status, words, files, photos, shapes, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    filled = []
    for argument in arguments:
        named = {"{f}": files.folder, "{p}": photos, "{s}": shapes}
        for name, path in named.items():
            argument = argument.replace(name, str(path))
        filled += views(files) if argument == "{views}" else [argument]

    found, out, err = run(capsys, *filled)

    assert (found, out) == (status, ""), err
    assert err.startswith("diffhash: ")
    assert err.count("\n") == 1
    assert words in err
    assert list(tmp_path.iterdir()) == []


def test_bad_input_of_the_processes(files, shapes, tmp_path):
    assert_one_line(diffhash("build", "-o", "a.dh", cwd=tmp_path), 2)
    assert_one_line(diffhash("search", shapes, "--vector", files.folder / "pairs.csv", cwd=tmp_path), 2)
