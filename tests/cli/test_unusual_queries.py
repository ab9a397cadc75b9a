"""``search`` with ids, words and filters that look like numbers, or are not valid text."""

from __future__ import annotations

import json

import numpy as np
import pytest

import diffhash as dh
from diffhash.cli.app import run_app
from diffhash.cli.parsing import parse_where


def run(capsys, *arguments):
    """In this process: status, stdout, stderr."""
    status = run_app([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def numbered(files, tmp_path):
    with dh.Collection.create(tmp_path / "c.dh", files.hasher) as c:
        for m in ("x", "y"):
            c.add(files.data.test.views[m][:5], modality=m, ids=[-1, 0, 1, 2, 3])
    return tmp_path / "c.dh"


@pytest.mark.parametrize("item", ["²", "٣", "9" * 5000, "9" * 19, "one"])
def test_an_id_that_is_not_a_number_is_not_found(item, numbered, capsys):
    status, out, err = run(capsys, "search", numbered, "--item", item)

    assert (status, out) == (1, "")
    assert "unexpected" not in err
    assert err.count("\n") == 1


def test_a_negative_id_is_a_number(numbered, capsys):
    status, out, _ = run(capsys, "search", numbered, "--item=-1", "--json", "-k", 1)

    assert status == 0
    assert len(json.loads(out)["results"][0]) == 1


def test_words_that_are_not_valid_text_make_a_page(tmp_path, capsys):
    captions = ["red square", "blue disc", "green line"]
    hasher = dh.DiffHash(n_bits=2)
    texts = dh.featurizers.TfidfFeatures().fit(captions)
    features = texts.transform(captions)
    hasher.fit({"text": features, "other": features}, dh.Pairs.aligned(3))
    hasher.set_featurizers({"text": texts})
    with dh.Collection.create(tmp_path / "c.dh", hasher) as c:
        c.add_raw(captions, modality="text")
    page = tmp_path / "p.html"

    status, _, err = run(
        capsys, "search", tmp_path / "c.dh", "red \udce9", "--into", "text", "--open", "--page", page
    )

    assert (status, err) == (0, "")
    assert "red ?" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_words_that_json_would_take_for_numbers(word):
    assert parse_where([f"name={word}"]) == {"name": {"eq": word}}
    assert parse_where(["year=1e3"]) == {"year": {"eq": 1000.0}}


def test_words_for_a_collection_of_features_are_told_to_use_a_file(files, tmp_path, capsys):
    dh.Collection.create(tmp_path / "c.dh", files.hasher).close()

    status, out, err = run(capsys, "search", tmp_path / "c.dh", "red")

    assert (status, out) == (1, "")
    assert "Ask with features: --vector FILE." in err


def test_words_for_a_modality_without_a_featurizer_are_refused(numbered, capsys):
    status, out, err = run(capsys, "search", numbered, "stars", "--modality", "x")

    assert (status, out) == (1, "")
    assert "featurizer" in err
    assert "unexpected" not in err


def test_words_find_captions_of_codes_without_a_model(tmp_path, capsys):
    with dh.Collection.create(tmp_path / "c.dh", n_bits=8, modalities=("image",), words="caption") as c:
        c.add_codes(np.zeros((2, 1), np.uint8), modality="image", payloads=[{"caption": "frog"}, {"n": 1}])

    status, out, _ = run(capsys, "search", tmp_path / "c.dh", "frogs", "--json")
    (found,) = json.loads(out)["results"][0]
    assert (status, found["id"], found["found_by"]) == (0, 0, "words")

    status, out, err = run(capsys, "search", tmp_path / "c.dh", "frogs", "--no-words")
    assert (status, out) == (1, "")
    assert "no model" in err


def test_words_of_a_query_with_a_picture_are_matched_with_captions(shapes, photos, capsys):
    picture = next((photos / "pictures").rglob("*.png"))
    status, out, err = run(capsys, "search", shapes, "disc", "--image", picture, "--into", "image", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["modality"] == "text+image"
    assert {hit["found_by"] for hit in found["results"][0]} <= {"words", "both"}
    assert all("disc" in hit["payload"]["caption"] for hit in found["results"][0])

    status, out, _ = run(
        capsys, "search", shapes, "disc", "--image", picture, "--into", "image", "--json", "--no-words"
    )
    assert {hit["found_by"] for hit in json.loads(out)["results"][0]} == {"codes"}


def test_words_are_not_matched_for_a_query_with_features(shapes, tmp_path, capsys):
    np.save(tmp_path / "q.npy", np.zeros((1, 4)))
    status, out, err = run(capsys, "search", shapes, "disc", "--vector", tmp_path / "q.npy", "--words")
    assert (status, out) == (2, "")
    assert "--words goes with TEXT, or with TEXT and --image: leave out --vector" in err


def test_words_of_a_build_are_fields_of_a_payload(files, tmp_path, capsys):
    views = [argument for m in ("x", "y") for argument in ("--view", f"{m}={files.folder}/train_{m}.npy")]
    status, out, err = run(capsys, "build", *views, "--words", "caption", "-o", tmp_path / "o.dh")
    assert (status, out) == (2, "")
    assert "--words are fields of the payload: give --payload" in err


def test_nothing_within_a_radius_is_said(shapes, photos, capsys):
    picture = next((photos / "pictures").rglob("*.png"))
    status, out, _ = run(
        capsys, "search", shapes, "--image", picture, "--into", "text", "--radius", 0, "--where", "number>=60"
    )
    assert (status, out) == (0, "nothing matches: no item is within distance 0\n")
