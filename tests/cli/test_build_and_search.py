"""``build`` and ``search``: folders of pictures, feature files, filters, words and items."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

import diffhash as dh
from diffhash.workflows.picture_reader import is_thumbnail
from tests.cli.process import FAST, QUICK, diffhash, found, run, views


def test_search_as_a_process_with_words_and_with_a_picture(shapes, photos, tmp_path):
    words = diffhash("search", shapes, "red square", "-k", "10", "--json")
    assert (words.returncode, words.stderr) == (0, "")
    assert {hit["payload"]["caption"] for hit in found(words.stdout)} == {"a red square"}
    assert set(found(words.stdout)[0]) == {
        *("id", "distance", "chance", "score", "modality", "found_by", "payload")
    }
    assert set(found(words.stdout)[0]["payload"]) == {"file", "caption", "shape", "number"}

    page = tmp_path / "page.html"
    image = photos / "pictures" / "discs" / "05.png"
    picture = diffhash("search", shapes, "--image", image, "-k", "3", "--open", "--page", page)
    assert (picture.returncode, picture.stderr) == (0, "")
    lines = picture.stdout.splitlines()
    assert lines[0].split() == ["distance", "chance", "id", "caption", "shape", "number"]
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


def test_a_query_of_unknown_words_finds_nothing_and_says_why(shapes, tmp_path, capsys):
    reason = "no caption contains 'zebra', and the model has learned no word like it"
    status, out, err = run(capsys, "search", shapes, "zebra", "--json")
    assert (status, found(out), err) == (0, [], "")
    assert json.loads(out)["known_words"] is False
    assert json.loads(out)["reason"] == reason
    assert run(capsys, "search", shapes, "zebra")[1] == f"nothing matches: {reason}\n"
    page = tmp_path / "p.html"
    assert run(capsys, "search", shapes, "zebra", "--open", "--page", page)[0] == 0
    assert "model has learned no word like it" in page.read_text(encoding="utf-8")

    status, out, err = run(capsys, "search", shapes, "a zebra on a disc", "--json")
    assert err == "diffhash: No caption contains 'zebra'.\ndiffhash: No caption contains 'on'.\n"
    assert json.loads(out)["known_words"] is True
    assert all("disc" in hit["payload"]["caption"] for hit in found(out))


def test_a_word_of_most_captions_is_no_match_by_itself(shapes, capsys):
    """All captions have "a": it says nothing about a picture, so unknown words beside it find nothing."""
    status, out, err = run(capsys, "search", shapes, "a zebra", "--json")
    assert (status, found(out), err) == (0, [], "")
    assert json.loads(out)["known_words"] is False
    reason = "no caption contains 'zebra', and the model has learned no word like it"
    assert json.loads(out)["reason"] == f"{reason}; 'a' is in most captions: it does not count"
    _, out, _ = run(capsys, "search", shapes, "a zebra", "--no-words", "--json")
    assert found(out) == []
    assert "none of these words" in json.loads(out)["reason"]

    _, out, _ = run(capsys, "search", shapes, "a red disc", "-k", 60, "--json")
    by_words = {h["payload"]["caption"] for h in found(out) if h["found_by"] != "codes"}
    assert by_words == {"a red disc", "a red square", "a green disc", "a blue disc"}


def test_a_query_of_common_words_only_finds_captions_with_them(shapes, capsys):
    _, out, err = run(capsys, "search", shapes, "a", "-k", 60, "--json")
    assert (len(found(out)), "reason" in json.loads(out), err) == (60, False, "")


def test_plurals_and_misspellings_find_the_word_and_say_so(shapes, capsys):
    for asked, word in (("discs", "disc"), ("sqare", "square"), ("grene", "green")):
        status, out, err = run(capsys, "search", shapes, asked, "-k", 5, "--json")
        assert (status, err) == (0, f"diffhash: No caption contains '{asked}'. Searched for '{word}'.\n")
        assert all(word in hit["payload"]["caption"] for hit in found(out))
        assert {hit["found_by"] for hit in found(out)} <= {"words", "both"}


def test_words_can_be_left_out_of_a_search(shapes, photos, capsys):
    _, out, err = run(capsys, "search", shapes, "red disc", "--no-words", "--json")
    assert ({hit["found_by"] for hit in found(out)}, err) == ({"codes"}, "")
    status, _, err = run(capsys, "search", shapes, "--item", "discs/05.png", "--words")
    assert (status, "goes with" in err) == (2, True)


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_an_empty_text_is_an_error(shapes, text, capsys):
    status, out, err = run(capsys, "search", shapes, text)
    assert (status, out) == (2, "")
    assert "TEXT is empty" in err


@pytest.mark.parametrize(
    "text",
    ['"', "red*", "red OR", "NEAR(red disc)", "caption:red", " -red", "^red", "(", "red AND", "{red}", "a+b"],
)
def test_signs_of_a_query_language_are_only_text(shapes, text, capsys):
    status, out, _ = run(capsys, "search", shapes, text, "--json")
    assert status == 0
    if "red" in text:
        assert all("red" in hit["payload"]["caption"] for hit in found(out)[:5])


def test_a_filter_on_a_field_that_no_payload_has_is_said(shapes, capsys):
    _, out, err = run(capsys, "search", shapes, "red disc", "--where", "shap=disc", "--json")
    assert found(out) == []
    assert "No payload has the field 'shap'. Did you mean 'shape'?" in err
    assert "No payload has the field 'shap'" in json.loads(out)["notes"][0]


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
    """Second captions get ids of their own, all pictures are there, and a sample is enough to learn from."""
    chosen = names(photos)[:20]
    rows = [(name, f"{name.split('/')[0]} {word}") for name in chosen for word in ("one", "two")]
    arguments = rewritten(rows)

    status, out, err = run(capsys, *arguments, "--json", "--sample", 30)

    assert status == 0
    assert "hardly better than by chance" in err, "captions say only the shape, and there are 30 of them"
    assert json.loads(out)["objects"] == 60 + 20
    assert json.loads(out)["without caption"] == 40
    with dh.Collection.open(tmp_path / "built" / "s.dh") as c:
        item, caption = c.get([chosen[3], f"{chosen[3]}#2"])
        assert item.modalities == ("image", "text")
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
