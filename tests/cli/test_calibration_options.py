"""Calibration on the command line: ``fit``, ``build``, ``info``, ``evaluate`` and ``search``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import diffhash as dh
from diffhash.cli.app import run_app

FAST = ["--method", "diff", "--bits", "16", "--set", "whiten=true", "--set", "rotate=true"]


def run(capsys, *arguments):
    """In this process: status, stdout, stderr."""
    status = run_app([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Feature files of 600 objects to learn from, and of 200 others."""
    folder = tmp_path_factory.mktemp("calibration")
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(800, 10))
    for m, d in (("x", 24), ("y", 20)):
        features = hidden @ rng.normal(size=(10, d)) + 0.8 * rng.normal(size=(800, d))
        np.save(folder / f"{m}.npy", features[:600])
        np.save(folder / f"new_{m}.npy", features[600:])
    return folder


def views(folder, prefix=""):
    return [part for m in "xy" for part in ("--view", f"{m}={folder}/{prefix}{m}.npy")]


@pytest.fixture(scope="module")
def collection(folder):
    """A collection of the new objects, made with a model that was learned from the others."""
    model, out = folder / "model.dhm", folder / "objects.dh"
    assert run_app([*map(str, ["fit", *views(folder), *FAST, "-o", model])]) == 0
    files = [*map(str, ["build", "--model", model, "--view", f"y={folder / 'new_y.npy'}", "-o", out])]
    assert run_app(files) == 0
    return out


def test_fit_calibrates_unless_it_is_told_not_to(folder, tmp_path, capsys):
    status, out, _ = run(capsys, "fit", *views(folder), *FAST, "-o", tmp_path / "a.dhm", "--json")
    assert (status, json.loads(out)["calibrated"]) == (0, True)
    assert dh.load(tmp_path / "a.dhm").model_.calibration is not None

    status, out, _ = run(capsys, "fit", *views(folder), *FAST, "-o", tmp_path / "b.dhm", "--no-calibrate")
    assert status == 0
    assert "calibrated    no" in out
    assert dh.load(tmp_path / "b.dhm").model_.calibration is None


def test_too_few_objects_are_not_calibrated_and_an_error_only_if_asked_for(tmp_path, capsys):
    for m in "xy":
        np.save(tmp_path / f"{m}.npy", np.random.default_rng(ord(m)).normal(size=(4, 6)))
    few = ["fit", *views(tmp_path), "--method", "diff", "--bits", "2"]

    status, out, _ = run(capsys, *few, "-o", tmp_path / "a.dhm", "--json")
    assert (status, json.loads(out)["calibrated"]) == (0, False)
    status, _, err = run(capsys, *few, "-o", tmp_path / "b.dhm", "--calibrate")

    assert status == 1
    assert "calibrate" in err
    assert not (tmp_path / "b.dhm").exists()


def test_info_shows_the_calibration(collection, capsys):
    status, out, _ = run(capsys, "info", collection)
    assert status == 0
    assert "x → y" in out
    assert "wrong in 1,000" in out

    _, out, _ = run(capsys, "info", collection, "--json")

    first = json.loads(out)["calibration"][0]
    assert (first["from"], first["into"], first["similar"], first["dissimilar"]) == ("x", "y", 120, 120 * 119)
    assert first["rank"] in ("hamming", "asymmetric")


def test_evaluate_compares_the_calibration_with_what_happens(folder, collection, capsys):
    status, out, _ = run(capsys, "evaluate", collection, *views(folder, "new_"), "--json")
    check = json.loads(out)[0]["calibration"]
    assert status == 0
    assert check["error"] < 0.1
    assert check["false_matches"] <= check["promised"] == 1.0

    _, out, _ = run(capsys, "evaluate", collection, *views(folder, "new_"))

    assert "at most 1 wrong hits promised within distance" in out


def test_search_shows_chances_and_only_what_keeps_the_promise(folder, collection, capsys):
    query = ["search", collection, "--vector", folder / "new_x.npy", "--into", "y", "-k", "200"]
    status, out, _ = run(capsys, *query, "--max-false-matches", "2", "--json")
    found = json.loads(out)
    assert status == 0
    wrong = [sum(hit["id"] != row for hit in hits) for row, hits in enumerate(found["results"])]
    assert 0 < np.mean(wrong) <= 2
    assert all(0 <= hit["chance"] <= 1 for hits in found["results"] for hit in hits)

    _, out, _ = run(capsys, *query[:-2], "-k", "3")

    assert out.splitlines()[1].split()[:3] == ["distance", "chance", "id"]


def test_nothing_matches_with_a_reason(collection, tmp_path, capsys):
    with dh.Collection.open(collection) as opened:
        nearest = [
            (hits[0].distance, row)
            for row, hits in enumerate(
                opened.search(np.random.default_rng(1).normal(size=(500, 24)), modality="x", into="y", k=1)
            )
        ]
    np.save(tmp_path / "q.npy", np.random.default_rng(1).normal(size=(500, 24))[max(nearest)[1]])
    question = [
        "search",
        collection,
        "--vector",
        tmp_path / "q.npy",
        "--into",
        "y",
        "--max-false-matches",
        "1",
    ]

    status, out, _ = run(capsys, *question)
    assert status == 0
    assert out.startswith("nothing matches: no item is within distance")

    _, out, _ = run(capsys, *question, "--json")
    assert json.loads(out)["reason"].startswith("no item is within distance")
    assert json.loads(out)["results"] == [[]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-false-matches", "0"], "above 0"),
        (["--max-false-matches", "nan"], "above 0"),
        (["--max-false-matches", "1e-9"], "held-out dissimilar pairs"),
        (["--rank", "best"], "asymmetric"),
    ],
)
def test_bad_options_are_one_line(folder, collection, capsys, options, said):
    status, _, err = run(
        capsys, "search", collection, "--vector", folder / "new_x.npy", "--into", "y", *options
    )

    assert status != 0
    assert said in err


def test_a_model_without_calibration_is_a_clear_error(files, tmp_path, capsys):
    with dh.Collection.create(tmp_path / "c.dh", files.hasher) as made:
        made.add(files.data.test.views["y"], modality="y")
    query = ["search", tmp_path / "c.dh", "--vector", files.folder / "test_x.npy", "--into", "y"]

    status, _, err = run(capsys, *query, "--max-false-matches", "1")

    assert status == 1
    assert "needs a calibrated model" in err
