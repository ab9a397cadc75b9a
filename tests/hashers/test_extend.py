"""A new modality joins the codes of a fitted model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import diffhash as dh
from diffhash.errors import (
    FeatureCountError,
    InputError,
    NonFiniteError,
    NotFittedError,
    PairsError,
    ParameterError,
    UnknownModalityError,
)
from diffhash.learning.frozen_refinement import FrozenCouple, refine_to_frozen
from diffhash.learning.pair_loss import PairLoss
from tests.hashers.test_many_modalities import HASHERS, fit, make_objects

ALL = HASHERS | {"refined": dh.RefinedHash(n_bits=16, features="linear", metric="diagonal", ridge=0.01)}


def two_of(objects):
    return {m: objects.views[m] for m in ("image", "text")}


def labels_of(objects, *names):
    return dh.Pairs.from_labels({m: objects.labels[m] for m in names})


@pytest.fixture(scope="module")
def train():
    return make_objects(3)


@pytest.fixture(scope="module")
def hasher(train):
    made = dh.DiffHash(n_bits=13, whiten=True, rotate=True, shrinkage=0.1)
    return made.fit(two_of(train), labels_of(train, "image", "text"), calibrate=True)


def new_views(train):
    return {m: train.views[m] for m in ("image", "speech")}


@pytest.mark.parametrize("name", ALL)
def test_unseen_objects_of_the_new_modality_find_their_partners(name, train):
    old = fit(clone(ALL[name]), two_of(train), labels_of(train, "image", "text"))
    test = make_objects(3, seed=7)

    extended = old.extend(train.views, labels_of(train, "image", "text", "speech"), modality="speech")

    assert type(extended) is type(old)
    codes = {m: extended.encode(X, modality=m) for m, X in test.views.items()}
    for m in ("image", "text"):
        np.testing.assert_array_equal(codes[m], old.encode(test.views[m], modality=m))
        among = dh.evaluate(codes["speech"], codes[m], test.labels["speech"], test.labels[m])
        before = dh.evaluate(codes["image"], codes[m], test.labels["image"], test.labels[m])
        assert among.mean_average_precision > 0.8 * before.mean_average_precision


def test_ids_with_gaps_and_one_partner_are_enough(hasher, train):
    pairs = dh.Pairs.from_ids({m: train.ids[m] for m in ("image", "speech")})
    test = make_objects(3, seed=7)

    extended = hasher.extend(new_views(train), pairs, modality="speech")

    codes = {m: extended.encode(test.views[m], modality=m) for m in ("image", "speech")}
    found = dh.evaluate(codes["speech"], codes["image"], test.labels["speech"], test.labels["image"])
    assert found.mean_average_precision > 0.3, "chance is 0.125"


def test_the_old_hasher_does_not_change(hasher, train):
    before, parameters = hasher.model_.to_bytes(), hasher.get_params()

    extended = hasher.extend(new_views(train), labels_of(train, "image", "speech"), modality="speech")

    assert hasher.model_.to_bytes() == before
    assert extended.get_params() == parameters
    assert extended.modalities_ == ("image", "text", "speech")


def test_an_extended_model_saves_loads_and_is_extended_after_loading(hasher, train, tmp_path):
    pairs = labels_of(train, "image", "speech")
    hasher.save(tmp_path / "old.dhm")

    direct = hasher.extend(new_views(train), pairs, modality="speech", encodes_as="image")
    extended = dh.load(tmp_path / "old.dhm").extend(
        new_views(train), pairs, modality="speech", encodes_as="image"
    )
    extended.save(tmp_path / "new.dhm")
    loaded = dh.load(tmp_path / "new.dhm")

    assert loaded.model_.encodes_as == {"speech": "image"}
    for each in (extended, loaded):
        np.testing.assert_array_equal(
            each.encode(train.views["speech"], modality="speech"),
            direct.encode(train.views["speech"], modality="speech"),
        )
    views = {m: X[:9] for m, X in train.views.items()}
    np.testing.assert_array_equal(loaded.encode_fused(views).codes, direct.encode_fused(views).codes)


def test_a_new_modality_of_a_calibrated_model_is_calibrated_and_of_another_is_not(hasher, train):
    pairs = labels_of(train, "image", "speech")
    plain = clone(hasher).fit(two_of(train), labels_of(train, "image", "text"))

    slopes = hasher.extend(new_views(train), pairs, modality="speech").model_.fusion_slopes

    assert set(slopes) == {"image", "text", "speech"}
    assert (slopes["speech"] > 0).all()
    assert plain.extend(new_views(train), pairs, modality="speech").model_.fusion_slopes is None


def test_the_order_of_the_views_does_not_matter_for_named_pairs(hasher, train):
    pairs = labels_of(train, "image", "speech")

    first = hasher.extend(new_views(train), pairs, modality="speech")
    other = hasher.extend(dict(reversed(new_views(train).items())), pairs, modality="speech")

    X = train.views["speech"]
    np.testing.assert_array_equal(first.encode(X, modality="speech"), other.encode(X, modality="speech"))


def test_listed_pairs_run_from_the_first_view_to_the_second(hasher, train):
    i, j = np.nonzero(train.ids["image"][:, None] == train.ids["speech"])
    views = new_views(train)

    there = hasher.extend(views, dh.Pairs(positive=(i, j)), modality="speech")
    back = hasher.extend(dict(reversed(views.items())), dh.Pairs(positive=(j, i)), modality="speech")

    codes = [h.encode(views["speech"], modality="speech") for h in (there, back)]
    assert (dh.codes.unpack(codes[0], 13) == dh.codes.unpack(codes[1], 13)).mean() > 0.8


def test_very_few_pairs_still_give_a_modality(hasher, train):
    views = {"image": train.views["image"][:6], "speech": train.views["image"][:6, :4]}

    extended = hasher.extend(views, dh.Pairs.aligned(6), modality="speech")

    assert extended.encode(views["speech"], modality="speech").shape == (6, 2)


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        ({}, {"modality": "image"}, ParameterError, "has a modality 'image' already"),
        ({}, {"modality": ""}, ParameterError, "must be the name"),
        ({}, {"modality": "touch"}, UnknownModalityError, "must hold the new modality 'touch'"),
        ({}, {"encodes_as": "smell"}, UnknownModalityError, "encodes_as: unknown modality 'smell'"),
        ({"image": None}, {}, UnknownModalityError, "must hold a known partner of 'speech'"),
        ({"smell": np.zeros((3, 2))}, {}, UnknownModalityError, "unknown modality 'smell'"),
        ({"image": np.zeros((240, 3))}, {}, FeatureCountError, "has 9 features"),
        ({"speech": np.full((160, 2), np.nan)}, {}, NonFiniteError, "'speech' has NaN"),
        ({"speech": np.ones((160, 2))}, {}, InputError, "constant"),
        ({"speech": np.ones((3, 2))}, {}, PairsError, "has 3 rows"),
    ],
)
def test_bad_views_are_one_clear_error_and_change_nothing(hasher, train, change, options, error, words):
    views = {m: X for m, X in (new_views(train) | change).items() if X is not None}
    before = hasher.model_

    with pytest.raises(error, match=words):
        hasher.extend(views, labels_of(train, "image", "speech"), **({"modality": "speech"} | options))
    assert hasher.model_ is before
    assert hasher.modalities_ == ("image", "text")


def test_pairs_that_leave_the_new_modality_out_are_an_error(hasher, train):
    views = train.views
    ids = {"image": [f"a{k}" for k in range(240)], "speech": [f"b{k}" for k in range(160)]}

    pairs = labels_of(train, "image", "text")

    with pytest.raises(PairsError, match="no pairs of 'speech' with a known modality"):
        hasher.extend(views, {("image", "text"): pairs}, modality="speech")
    with pytest.raises(PairsError, match="no positive pair"):
        hasher.extend(new_views(train), dh.Pairs.from_ids(ids), modality="speech")
    with pytest.raises(NotFittedError, match="extend: this DiffHash is not fitted"):
        dh.DiffHash().extend(views, pairs, modality="speech")


def test_refinement_with_frozen_partners_lowers_the_loss(rng):
    labels = np.arange(60) % 3
    signs = np.where(rng.random((3, 8)) < 0.5, 1.0, -1.0)[labels]
    x = rng.normal(size=(60, 8)) + signs
    weights, offsets = np.eye(8), np.zeros(8)
    for new_first in (True, False):
        loss = PairLoss(dh.Pairs.from_labels(labels, labels).resolve(60, 60), 8, -0.3)

        w, b = refine_to_frozen(
            x, [FrozenCouple(loss, signs, new_first)], weights, offsets, penalty=0.01, slopes=(1.0,)
        )

        assert loss(np.tanh(x @ w + b), signs)[0] < loss(np.tanh(x @ weights + offsets), signs)[0]


def test_without_any_penalty_the_gradient_of_frozen_refinement_vanishes_at_the_minimum(rng):
    """The derivative of the loss is compared with finite differences at the point that was found."""
    labels = np.arange(30) % 2
    signs = np.where(labels[:, None] == [[0, 1, 0]], 1.0, -1.0)
    x = rng.normal(size=(30, 2))
    loss = PairLoss(dh.Pairs.from_labels(labels, labels).resolve(30, 30), 3, 0.0)
    couple = FrozenCouple(loss, signs, new_first=True)

    w, b = refine_to_frozen(
        x, [couple], np.ones((2, 3)), np.zeros(3), penalty=0.0, slopes=(1.0,), max_iter=500
    )

    def value(step):
        return loss(np.tanh(x @ w + b + step), signs)[0]

    for bit in np.eye(3):
        assert abs(value(1e-4 * bit) - value(-1e-4 * bit)) / 2e-4 < 1e-2


def test_a_new_form_of_one_partner_follows_that_partner(rng):
    """Pairs with a partner that it says little about must not spoil the codes: the other one decides."""
    latent = rng.normal(size=(400, 6))
    views = {
        "image": np.hstack([latent, rng.normal(size=(400, 6))]) @ rng.normal(size=(12, 12)),
        "text": latent + 1.5 * rng.normal(size=(400, 6)),
    }
    train = {m: X[:300] for m, X in views.items()}
    hasher = dh.DiffHash(n_bits=16, whiten=True, rotate=True).fit(train, dh.Pairs.aligned(300))
    turned = views["image"] @ rng.normal(size=(12, 12))

    extended = hasher.extend(train | {"new": turned[:300]}, dh.Pairs.aligned(300), modality="new")

    new, old = (extended.encode(X[300:], modality=m) for X, m in ((turned, "new"), (views["image"], "image")))
    assert np.bitwise_count(new ^ old).sum() < 0.02 * 100 * 16
