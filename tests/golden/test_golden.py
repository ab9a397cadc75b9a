"""Model files of every format version can be loaded and encode the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.model import HashModel
from diffhash.model.file import FORMAT_VERSION, unpack_model
from diffhash.search.calibration import chance_at, false_match_limit

from .make import distance_model, inputs, manhattan, many_inputs, many_model, models, raw_inputs

FILES = sorted(Path(__file__).parent.glob("*.dhm"))
RAW = [path for path in FILES if path.stem.startswith("raw-")]


def views_of(path):
    name = path.stem.split("-")[0]
    return (many_inputs() if name == "many" else inputs(name))[0]


@pytest.mark.parametrize("path", [path for path in FILES if path not in RAW], ids=lambda path: path.stem)
def test_golden_file_encodes_the_same_bits(path):
    hasher = dh.load(path, kernel={"x": manhattan} if path.stem.startswith("distance-") else None)
    expected = np.load(path.with_suffix(".npz"))
    for modality, X in views_of(path).items():
        # On another machine, rounding may change the bit of a value that is very close to its threshold.
        clear = (np.abs(hasher.project(X, modality=modality)) > 1e-6).all(axis=1)
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(hasher.encode(X, modality=modality)[clear], expected[modality][clear])


@pytest.mark.parametrize("path", RAW, ids=lambda path: path.stem)
def test_golden_file_with_featurizers_encodes_raw_objects(path):
    hasher = dh.load(path)
    expected = np.load(path.with_suffix(".npz"))
    for modality, raw in raw_inputs().items():
        values = hasher.project(hasher.featurize(raw, modality=modality), modality=modality)
        clear = (np.abs(values) > 1e-5).all(axis=1)
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(
            hasher.encode_raw(raw, modality=modality)[clear], expected[modality][clear]
        )


def test_golden_file_with_calibration_gives_the_same_counts_chances_and_radius():
    model = HashModel.load(Path(__file__).parent / "calibrated-v1.dhm")
    couple = model.calibration.couple("y", "x")

    assert (couple.n_similar, couple.n_dissimilar) == (50, 94)
    assert list(model.calibration.couples) == [("x", "y"), ("y", "x"), ("x", "x"), ("y", "y")]
    assert chance_at(couple, 100).round(3).tolist() == [0.99] * 5 + [0.005] * 5
    assert false_match_limit(couple, 100, 90.0, caller="test").radius == 6


def test_every_method_has_a_golden_file_of_each_format_that_it_writes():
    names = {f"{name}-v1" for name in (*models(), "raw", "calibrated")} | {
        "many-v2",
        f"distance-v{FORMAT_VERSION}",
    }
    assert {path.stem for path in FILES} >= names


def test_models_that_older_releases_can_read_have_the_older_version():
    views, labels = inputs("")
    pairs = dh.Pairs.from_labels(labels, labels)

    two = unpack_model(dh.DiffHash(2).fit(views, pairs).model_.to_bytes(), name="two")[0]
    weighted = dh.DiffHash(2, couple_weights={("x", "y"): 2.0}).fit(views, pairs)
    many = many_model().fit(*many_inputs())
    own_distance = distance_model().fit(views, pairs)

    kernel = dh.KernelDiffHash(2, n_landmarks=5).fit(views, pairs)
    kernel = unpack_model(kernel.model_.to_bytes(), name="kernel")[0]
    refined = dh.RefinedHash(2, features="linear").fit(views, pairs)
    refined = unpack_model(refined.model_.to_bytes(), name="refined")[0]

    assert two["format_version"] == 1
    # Format 1 had no such parameters: a release of that time refuses a file that names them.
    assert not {"width", "couple_weights"} & set(kernel["parameters"])
    assert "couple_weights" not in refined["parameters"]
    assert "couple_weights" not in two["parameters"]
    assert [
        unpack_model(h.model_.to_bytes(), name="many")[0]["format_version"]
        for h in (weighted, many, own_distance)
    ] == [2, 2, 3]
