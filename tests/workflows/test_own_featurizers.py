"""Workflows and commands with raw objects and featurizers of the user's own."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import FeaturizerMismatchError, InputFileError
from diffhash.workflows import LearningOptions, OptionError
from tests.cli.conftest import photos
from tests.cli.process import found, run
from tests.service.process import Server

__all__ = ["photos"]

TEXT, IMAGE = "tests.own_raw_featurizers:LetterCounts", "tests.own_raw_featurizers:MeanColours"
OWN = {"image": IMAGE, "text": TEXT}
OPTIONS = ["--featurizer", f"image={IMAGE}", "--featurizer", f"text={TEXT}"]
LEARNING = LearningOptions(method="diff", n_bits=8, settings={"rotate": True}, calibrate=False)
ROTATED = ["--method", "diff", "--bits", "8", "--set", "rotate=true"]


@pytest.fixture(scope="module")
def rows(photos):
    """The table beside the pictures, so that a view can name them."""
    with (photos / "captions.csv").open() as file:
        table = list(csv.reader(file))
    with (photos / "pictures" / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows(table)
    return photos / "pictures" / "rows.csv"


@pytest.fixture(scope="module")
def built(photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("own") / "own.dh"
    workflows.build_folder(
        photos / "pictures", photos / "captions.csv", out, featurizers=OWN, learning=LEARNING
    )
    return out


def test_a_folder_is_built_and_searched_with_own_featurizers(built, photos, capsys):
    picture = photos / "pictures" / "squares" / "00.png"
    status, out, err = run(capsys, "search", built, "a blue disc", *OPTIONS, "--no-words", "--json")
    assert (status, err) == (0, "")
    assert found(out)[0]["payload"]["caption"].startswith("a blue")
    asked = json.loads(out)
    assert (asked["modality"], asked["known_words"]) == ("text", True)
    status, out, _ = run(capsys, "search", built, "--image", picture, *OPTIONS, "--into", "image", "--json")
    assert (status, found(out)[0]["distance"]) == (0, 0)


def test_without_them_the_error_says_what_is_missing(built, capsys):
    status, _, err = run(capsys, "search", built, "a blue disc", "--no-words", "--modality", "text")
    assert status == 1
    assert "your own featurizer of kind 'letter-counts'" in err


def test_another_featurizer_is_refused(built, tmp_path, capsys):
    settings = tmp_path / "other.json"
    settings.write_text(json.dumps({"featurizer": TEXT, "weight": 2.0}))
    status, out, err = run(capsys, "search", built, "a blue disc", "--featurizer", f"text={settings}")
    assert (status, out) == (1, "")
    assert "weight (the model has 1.0, got 2.0)" in err


def test_pictures_are_added_with_own_featurizers(built, photos, tmp_path, capsys):
    copy = tmp_path / "copy.dh"
    copy.write_bytes(built.read_bytes())
    arguments = [
        "add",
        copy,
        "--images",
        photos / "pictures",
        "--captions",
        photos / "captions.csv",
        "--replace",
    ]
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert "--featurizer image=" in err
    status, out, _ = run(capsys, *arguments, *OPTIONS, "--json")
    assert (status, json.loads(out)["replaced"]) == (0, 60)


def test_columns_of_raw_objects_are_views(rows, tmp_path, capsys):
    """fit, encode, evaluate, build and add give the same codes as features that were computed before."""
    views = ["--view", f"image={rows}#file", "--view", f"text={rows}#caption"]
    model = tmp_path / "m.dhm"
    assert run(capsys, "fit", *views, *OPTIONS, *ROTATED, "-o", model)[0] == 0
    info = json.loads(run(capsys, "info", model, "--json")[1])
    assert "letter-counts" not in json.dumps(info)  # the file alone cannot make it
    loaded = dh.load(model, featurizers=OWN)
    names = [row["caption"] for row in csv.DictReader(rows.read_text().splitlines())]
    wanted = loaded.encode_raw(names, modality="text")

    encoded = ["encode", model, f"{rows}#caption", "--modality", "text", *OPTIONS, "-o", tmp_path / "c.npy"]
    assert run(capsys, *encoded)[0] == 0
    assert (np.load(tmp_path / "c.npy") == wanted).all()
    status, out, _ = run(capsys, "evaluate", model, *views, *OPTIONS, "--json")
    assert (status, len(json.loads(out))) == (0, 2)
    collection = tmp_path / "x.dh"
    assert run(capsys, "build", *views, *OPTIONS, "--model", model, "-o", collection)[0] == 0
    assert run(capsys, "add", collection, *views, *OPTIONS)[0] == 0
    with dh.open(collection) as store:
        assert len(store) == 120
        assert (store.get([3])[0].codes["text"] == wanted[3]).all()


def test_features_may_be_given_with_a_featurizer_too(rows, tmp_path):
    """Then it is kept with the model."""
    text = dh.featurizers.load_featurizer(TEXT)
    names = [row["caption"] for row in csv.DictReader(rows.read_text().splitlines())]
    np.save(tmp_path / "t.npy", text.transform(names))
    views = {"image": f"{rows}#file", "text": tmp_path / "t.npy"}
    workflows.fit(views, tmp_path / "m.dhm", featurizers=OWN, learning=LEARNING)
    assert dh.load(tmp_path / "m.dhm", featurizers=OWN).featurizers_["text"].kind == "letter-counts"


def test_a_new_modality_brings_its_featurizer(rows, tmp_path):
    views = {"image": f"{rows}#file", "text": f"{rows}#caption"}
    workflows.fit(views, tmp_path / "m.dhm", featurizers=OWN, learning=LEARNING)
    more = {"text": f"{rows}#caption", "words": f"{rows}#caption"}
    given = {"text": TEXT, "words": TEXT}
    workflows.extend(tmp_path / "m.dhm", more, tmp_path / "n.dhm", featurizers=given)
    assert set(dh.load(tmp_path / "n.dhm", featurizers=given).featurizers_) == {"text", "words"}


@pytest.mark.parametrize("name", ["/elsewhere/00.png", "../00.png", "a\0b.png"])
def test_names_out_of_the_folder_are_refused(tmp_path, name):
    table = tmp_path / "t.csv"
    table.write_text(f"file,caption\n{name},a\n")
    with pytest.raises(InputFileError, match="is not in the folder of the table"):
        workflows.fit(
            {"image": f"{table}#file", "text": f"{table}#caption"}, tmp_path / "m.dhm", featurizers=OWN
        )


def test_empty_cells_are_refused_with_their_line(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b\nred,1\n,2\n")
    with pytest.raises(InputFileError, match=r"t\.csv#a, line 3: expected text"):
        workflows.fit({"text": f"{table}#a", "y": f"{table}#b"}, tmp_path / "m", featurizers={"text": TEXT})


def test_a_featurizer_of_no_view_is_refused(rows, tmp_path):
    with pytest.raises(OptionError, match="names 'speech'"):
        workflows.fit({"text": f"{rows}#caption"}, tmp_path / "m.dhm", featurizers={"speech": TEXT})


def test_the_service_takes_texts_and_pictures(built, photos):
    """It makes features with them, and so a client needs none."""
    picture = (photos / "pictures" / "squares" / "00.png").read_bytes()
    with Server(built, *OPTIONS) as server, server.client() as client:
        answer = client.post("/v1/search", json={"text": "a blue disc", "words": False})
        assert answer.status_code == 200, answer.text
        assert answer.json()["hits"][0]["payload"]["caption"].startswith("a blue")
        with dh.open(str(client.base_url).rstrip("/")) as store:
            (hits,) = store.search_raw(["a blue disc"], modality="text", words=False, into="image")
        assert hits[0].payload["caption"].startswith("a blue")
        page = client.post("/v1/find?into=image", content=picture, headers={"Content-Type": "image/png"})
        assert page.status_code == 200, page.text


def test_an_interrupted_build_continues_with_the_same_featurizer(photos, tmp_path):
    out = tmp_path / "x.dh"

    def build(featurizers, stop=False):
        def interrupt(step):
            if stop and step.name == "adding captions":
                raise KeyboardInterrupt

        return workflows.build_folder(
            photos / "pictures",
            photos / "captions.csv",
            out,
            featurizers=featurizers,
            learning=LEARNING,
            progress=interrupt,
        )

    with pytest.raises(KeyboardInterrupt):
        build(OWN, stop=True)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"featurizer": TEXT, "weight": 2.0}))
    assert any("Continued" in note for note in build(OWN).notes)
    with pytest.raises(FeaturizerMismatchError):
        workflows.search(out, text="a blue disc", featurizers={"text": other})
