"""Fused codes: one code per object from all modalities that it has."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import diffhash as dh
from diffhash.errors import (
    FeatureCountError,
    InputError,
    ModelFileError,
    NotFittedError,
    PairsError,
    ParameterError,
    UnknownModalityError,
)
from tests.hashers.test_many_modalities import HASHERS, NAMES, fit, make_objects
from tests.reference import fusion as reference

REFINED = dh.RefinedHash(n_bits=16, features="linear", metric="diagonal", ridge=0.01)


def mean_precision(query_codes, database_codes, query_labels, database_labels):
    return dh.evaluate(query_codes, database_codes, query_labels, database_labels).mean_average_precision


@pytest.fixture(scope="module")
def train():
    return make_objects(3)


@pytest.fixture(scope="module")
def calibrated(train):
    hasher = dh.DiffHash(n_bits=13, whiten=True, rotate=True, shrinkage=0.1)
    return hasher.fit(train.views, dh.Pairs.from_labels(train.labels), calibrate=True)


@pytest.mark.parametrize("name", HASHERS)
def test_fused_codes_are_better_than_those_of_most_modalities(name, train):
    hasher = fit(clone(HASHERS[name]), train.views, dh.Pairs.from_labels(train.labels))
    hasher.calibrate(train.views, dh.Pairs.from_labels(train.labels))
    test, queries = make_objects(3, seed=7), make_objects(3, seed=8)

    codes, ids = hasher.encode_fused(test.views, ids=test.ids)

    labels = test.labels["image"][ids]  # the first view has all objects, in order
    asked = hasher.encode(queries.views["image"], modality="image"), queries.labels["image"]
    fused = mean_precision(asked[0], codes, asked[1], labels)
    single = [
        mean_precision(asked[0], hasher.encode(test.views[m], modality=m), asked[1], test.labels[m])
        for m in NAMES[:3]
    ]
    assert fused > np.mean(single)


def test_refined_hash_fuses_two_modalities():
    train, test = make_objects(2), make_objects(2, seed=7)
    pairs = dh.Pairs.from_labels(train.labels)
    hasher = clone(REFINED).fit(train.views, pairs, calibrate=True)

    codes, ids = hasher.encode_fused(test.views, test.ids)

    assert hasher.report_ is not None
    found = mean_precision(codes, codes, test.labels["image"][ids], test.labels["image"][ids])
    alone = hasher.encode(test.views["image"], modality="image")
    assert found > mean_precision(alone, alone, test.labels["image"], test.labels["image"])


def test_calibration_changes_no_code(train, calibrated):
    plain = clone(calibrated).fit(train.views, dh.Pairs.from_labels(train.labels))

    for m, X in train.views.items():
        np.testing.assert_array_equal(plain.encode(X, modality=m), calibrated.encode(X, modality=m))


def test_calibrate_after_fit_is_calibrate_in_fit(train, calibrated):
    pairs = dh.Pairs.from_labels(train.labels)
    later = clone(calibrated).fit(train.views, pairs).calibrate(train.views, pairs)

    for m, slopes in calibrated.model_.fusion_slopes.items():
        np.testing.assert_array_equal(later.model_.fusion_slopes[m], slopes)


@given(st.integers(0, 2**32 - 1))
def test_fused_bits_are_those_of_a_loop_over_objects(calibrated, seed):
    rng = np.random.default_rng(seed)
    chosen = rng.choice(3, size=rng.integers(1, 4), replace=False)
    views, ids = {}, {}
    for m in [NAMES[k] for k in chosen]:
        n = int(rng.integers(1, 9))
        views[m] = 3 * rng.normal(size=(n, calibrated.n_features_in_[m]))
        ids[m] = [f"object {k}" for k in rng.integers(0, 6, size=n)]

    codes, found = calibrated.encode_fused(views, ids=ids)

    values = {m: calibrated.project(X, modality=m) for m, X in views.items()}
    expected = reference.fused_bits(values, ids, calibrated.model_.fusion_slopes)
    assert found.tolist() == list(expected), "ids come in the order in which they first occur"
    np.testing.assert_array_equal(dh.codes.unpack(codes, 13), list(expected.values()))


def test_an_object_with_one_modality_gets_the_code_of_that_modality(train, calibrated):
    for m, X in train.views.items():
        codes, ids = calibrated.encode_fused({m: X})
        np.testing.assert_array_equal(codes, calibrated.encode(X, modality=m))
        np.testing.assert_array_equal(ids, np.arange(len(X)))


def test_without_ids_rows_are_aligned_and_views_may_come_in_any_order(train, calibrated):
    views = {m: train.views[m][:9] for m in ("speech", "image")}
    rows = np.arange(100, 109)

    codes, ids = calibrated.encode_fused(views)
    with_ids = calibrated.encode_fused(dict(reversed(views.items())), ids=dict.fromkeys(views, rows))

    np.testing.assert_array_equal(ids, np.arange(9))
    np.testing.assert_array_equal(codes, with_ids.codes)
    np.testing.assert_array_equal(with_ids.ids, rows)


def test_sparse_views_and_no_rows_are_fused(train, calibrated):
    views = {m: np.round(train.views[m][:5]) for m in ("image", "text")}
    sparse = {m: scipy.sparse.csr_array(X) for m, X in views.items()}
    none = {m: X[:0] for m, X in views.items()}

    np.testing.assert_array_equal(calibrated.encode_fused(sparse).codes, calibrated.encode_fused(views).codes)
    assert calibrated.encode_fused(none).codes.shape == (0, 2)
    assert calibrated.encode_fused(none, ids={"image": [], "text": []}).codes.shape == (0, 2)


def test_curves_come_back_from_a_file_and_damaged_ones_are_refused(train, calibrated, tmp_path):
    from dataclasses import replace

    calibrated.save(tmp_path / "model.dhm")
    views = {m: X[:20] for m, X in train.views.items()}

    loaded = dh.load(tmp_path / "model.dhm")

    np.testing.assert_array_equal(loaded.encode_fused(views).codes, calibrated.encode_fused(views).codes)
    good = calibrated.model_.extra["fusion_slopes"]
    for bad in (good[:2], -good, good * np.nan, good.astype(np.int64)):
        damaged = replace(calibrated.model_, extra=calibrated.model_.extra | {"fusion_slopes": bad})
        with pytest.raises(ModelFileError, match="contradict"):
            dh.model.HashModel.from_bytes(damaged.to_bytes())


def test_a_model_without_curves_says_how_to_get_them(train):
    hasher = fit(dh.DiffHash(n_bits=4), train.views, dh.Pairs.from_labels(train.labels))

    with pytest.raises(NotFittedError, match=r"calibrate\(views, pairs\)"):
        hasher.encode_fused(train.views, ids=train.ids)
    with pytest.raises(NotFittedError, match=r"DiffHash.encode_fused: .* not fitted"):
        dh.DiffHash().encode_fused(train.views)


@pytest.mark.parametrize(
    ("views", "ids", "error", "words"),
    [
        ({}, None, InputError, "an empty dict"),
        (np.zeros((2, 9)), None, InputError, "got ndarray"),
        ({"smell": np.zeros((2, 9))}, None, UnknownModalityError, "unknown modality 'smell'"),
        ({"image": np.zeros((2, 5))}, None, FeatureCountError, "has 9 features"),
        ({"image": np.zeros((2, 9)), "text": np.zeros((3, 11))}, None, InputError, "2 rows of 'image', 3"),
        ({"image": np.zeros((2, 9))}, [1, 2], InputError, "must be a dict"),
        ({"image": np.zeros((2, 9))}, {"text": [1, 2]}, InputError, "got 'text'"),
        ({"image": np.zeros((2, 9))}, {"image": [1]}, InputError, "one id for each row"),
        (
            {"image": np.zeros((1, 9)), "text": np.zeros((1, 11))},
            {"image": [1], "text": ["a"]},
            InputError,
            "cannot be compared",
        ),
    ],
)
def test_bad_input_of_encode_fused_is_one_clear_error(calibrated, views, ids, error, words):
    with pytest.raises(error, match=words):
        calibrated.encode_fused(views, ids=ids)


def test_bad_input_of_calibrate_changes_nothing(train, calibrated):
    hasher = fit(dh.DiffHash(n_bits=4), train.views, dh.Pairs.from_labels(train.labels))
    model = hasher.model_
    two = {m: train.views[m] for m in ("image", "text")}
    narrow = train.views | {"image": train.views["image"][:, :5]}

    with pytest.raises(UnknownModalityError, match="calibrate: the model has"):
        hasher.calibrate(two, dh.Pairs.from_labels({m: train.labels[m] for m in two}))
    with pytest.raises(FeatureCountError, match="has 9 features"):
        hasher.calibrate(narrow, dh.Pairs.from_labels(train.labels))
    with pytest.raises(ParameterError, match="calibrate must be True or False"):
        hasher.fit(train.views, dh.Pairs.from_labels(train.labels), calibrate="yes")
    assert hasher.model_ is model


def test_too_few_objects_to_hold_some_out_are_an_error_and_no_model():
    views = {"image": np.eye(4), "text": np.eye(4)}
    hasher = dh.DiffHash(n_bits=2)

    with pytest.raises(PairsError, match=r"too few pairs|second fit"):
        hasher.fit(views, dh.Pairs.aligned(4), calibrate=True)
    assert not hasattr(hasher, "model_")
