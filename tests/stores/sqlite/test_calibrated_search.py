"""Chances, promises and ranking by values in a collection with a calibrated model."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CalibrationError, ParameterError
from diffhash.model import CoupleCalibration
from diffhash.search import asymmetric_scores
from diffhash.search.calibration import chance_at, false_match_limit
from diffhash.stores.ranking import judge
from diffhash.stores.search_options import SearchOptions


def objects(n, seed):
    """Two noisy linear views of hidden numbers."""
    rng = np.random.default_rng(1)
    maps = {"x": rng.normal(size=(10, 24)), "y": rng.normal(size=(10, 20))}
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 10))
    return {m: hidden @ A + 0.8 * rng.normal(size=(n, A.shape[1])) for m, A in maps.items()}


@pytest.fixture(scope="module")
def calibrated():
    hasher = dh.DiffHash(n_bits=16, whiten=True, rotate=True)
    return hasher.fit(objects(1000, 2), dh.Pairs.aligned(1000), calibrate=True)


@pytest.fixture(scope="module")
def unseen():
    return objects(300, 3)


@pytest.fixture
def store(tmp_path, calibrated, unseen):
    with dh.Collection.create(tmp_path / "objects.dh", calibrated) as collection:
        collection.add(unseen["y"], modality="y", payloads=[{"n": i} for i in range(300)])
        yield collection


def test_hits_have_the_chance_of_their_distance(store, calibrated, unseen):
    expected = chance_at(calibrated.model_.calibration.couple("x", "y"), 300)

    hits = store.search(unseen["x"], modality="x", into="y", k=5)

    assert [hit.chance for found in hits for hit in found] == [
        expected[hit.distance] for found in hits for hit in found
    ]
    assert len({hit.chance for found in hits for hit in found}) > 3


def test_chances_agree_with_how_often_hits_are_right(store, unseen):
    hits = store.search(unseen["x"], modality="x", into="y", k=10)
    chances = np.array([[hit.chance for hit in found] for found in hits])
    right = np.array([[hit.id == row for hit in found] for row, found in enumerate(hits)])

    assert abs(chances.mean() - right.mean()) < 0.03
    sure = chances > 0.5
    assert abs(chances[sure].mean() - right[sure].mean()) < 0.15


@pytest.mark.parametrize("limit", [1.0, 5.0, 20.0])
def test_wrong_hits_of_unseen_objects_stay_below_the_promise(store, unseen, limit):
    hits = store.search(unseen["x"], modality="x", into="y", k=300, max_false_matches=limit)
    wrong = np.mean([sum(hit.id != row for hit in found) for row, found in enumerate(hits)])

    assert 0.1 * limit < wrong <= limit


def test_the_limit_of_a_search_is_that_of_match_limit_and_every_form_of_search_uses_it(
    store, calibrated, unseen
):
    limit = store.match_limit(2.0, modality="x", into="y")
    couple = calibrated.model_.calibration.couple("x", "y")
    assert limit == false_match_limit(couple, 300, 2.0, caller="test")
    codes = calibrated.encode(unseen["x"], modality="x")
    every = store.search_codes(codes, into="y", k=300)

    searched = store.search(unseen["x"], modality="x", into="y", k=300, max_false_matches=2.0, rank="hamming")
    by_codes = store.search_codes(codes, modality="x", into="y", k=300, max_false_matches=2.0)

    assert searched == by_codes
    assert by_codes == [[hit for hit in found if hit.distance <= limit.radius] for found in every]


def test_a_query_unlike_everything_matches_nothing(store):
    every = np.arange(2**16, dtype="<u2").view(np.uint8).reshape(-1, 2)
    nearest = [hits[0].distance for hits in store.search_codes(every[::16], into="y", k=1)]
    codes = every[::16][[np.argmax(nearest)]]

    (found,) = store.search_codes(codes, modality="x", into="y", max_false_matches=1.0)

    assert found == []
    assert len(store.search_codes(codes, modality="x", into="y")[0]) == 10


def test_fewer_items_allow_a_larger_radius(store):
    every = store.match_limit(1.0, modality="x", into="y")
    few = store.match_limit(1.0, modality="x", into="y", where={"n": {"lt": 20}})

    assert few.radius > every.radius


def test_a_stored_object_is_a_query_of_its_modality(store, calibrated):
    limit = store.match_limit(5.0, modality="y", into="y")

    found = store.search_item(7, into="y", k=300, max_false_matches=5.0)

    assert all(hit.distance <= limit.radius for hit in found)
    assert 7 not in [hit.id for hit in found]
    # Pairs of different modalities say nothing about which objects of one modality are similar.
    assert all(hit.chance is None for hit in found)


def test_several_modalities_share_one_promise(store, calibrated, unseen):
    store.add(unseen["x"], modality="x", ids=range(300))
    sizes = [("x", 300), ("y", 300)]
    options = SearchOptions(modality="x", max_false_matches=10.0)

    shares = judge(calibrated.model_, sizes, options, caller="test")

    assert [share.radius for share in shares] == [
        store.match_limit(5.0, modality="x", into=into).radius for into in ("x", "y")
    ]


def test_ranking_by_values_orders_by_the_score_and_keeps_the_distance(store, calibrated, unseen):
    hits = store.search(unseen["x"][:5], modality="x", into="y", k=300, rank="asymmetric")

    model = calibrated.model_
    values, codes = model.project(unseen["x"][:5], "x"), model.encode(unseen["y"], "y")
    scores = -asymmetric_scores(codes, values, scale=1 / model.fusion_slopes["x"])
    distances = np.bitwise_count(model.encode(unseen["x"][:5], "x")[:, None] ^ codes).sum(axis=2)
    for row, found in enumerate(hits):
        ids = [hit.id for hit in found]
        assert sorted(ids) == list(range(300))
        np.testing.assert_allclose([hit.score for hit in found], scores[row][ids])
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        assert [hit.distance for hit in found] == distances[row][ids].tolist()


def test_ranking_by_values_within_a_promised_radius_finds_the_same_objects(store, unseen):
    question = {"modality": "x", "into": "y", "k": 300, "max_false_matches": 5.0}

    by_distance = store.search(unseen["x"], rank="hamming", **question)
    by_values = store.search(unseen["x"], rank="asymmetric", **question)

    for near, ranked in zip(by_distance, by_values, strict=True):
        assert {hit.id for hit in near} == {hit.id for hit in ranked}
        assert all(np.isfinite(hit.score) for hit in ranked)


def test_auto_ranks_by_values_if_they_found_more_held_out_objects(store, calibrated, unseen):
    couple = calibrated.model_.calibration.couple("x", "y")
    assert couple.recall_asymmetric > couple.recall_hamming
    assert couple.prefers_asymmetric

    auto, values, distance = (
        [
            [(hit.id, hit.score) for hit in found]
            for found in store.search(unseen["x"], modality="x", into="y", rank=rank)
        ]
        for rank in ("auto", "asymmetric", "hamming")
    )

    assert auto == values != distance
    right = [np.mean([row in [id_ for id_, _ in f] for row, f in enumerate(r)]) for r in (values, distance)]
    assert right[0] > right[1]


def test_a_gain_below_its_error_is_not_a_gain():
    counts = np.zeros((2, 3, 5), dtype=np.int64)

    assert CoupleCalibration(counts, False, 1.0, 0.5, 0.52, 0.01).prefers_asymmetric
    assert not CoupleCalibration(counts, False, 1.0, 0.5, 0.52, 0.03).prefers_asymmetric
    assert not CoupleCalibration(counts, False, 1.0, None, None).prefers_asymmetric


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 10**400, "1", True, [1.0]])
@pytest.mark.parametrize("name", ["max_false_matches", "expected_matches"])
def test_bad_numbers_are_refused(store, unseen, name, value):
    with pytest.raises(ParameterError, match=f"{name} must be a finite number above 0"):
        store.search(unseen["x"], modality="x", into="y", **{name: value})


@pytest.mark.parametrize("rank", ["best", None, 1, np.zeros(2)])
def test_unknown_rankings_are_refused(store, unseen, rank):
    with pytest.raises(ParameterError, match="rank must be"):
        store.search(unseen["x"], modality="x", into="y", rank=rank)


def test_codes_of_unknown_modality_cannot_be_promised_anything(store):
    with pytest.raises(CalibrationError, match=r"modality=\.\.\."):
        store.search_codes(np.zeros((1, 2), np.uint8), into="y", max_false_matches=1.0)
    assert store.search_codes(np.zeros((1, 2), np.uint8), into="y")[0][0].chance is None


def test_too_few_counts_are_refused_and_nothing_is_changed(store, unseen):
    with pytest.raises(CalibrationError, match="held-out dissimilar pairs"):
        store.search(unseen["x"], modality="x", into="y", max_false_matches=1e-6)
    assert len(store.search(unseen["x"][:1], modality="x", into="y")[0]) == 10


def test_a_model_without_calibration_gives_no_chances_and_refuses_promises(filled, views):
    assert filled.search(views["x"], modality="x", into="y")[0][0].chance is None
    with pytest.raises(CalibrationError, match="calibrate=True"):
        filled.search(views["x"], modality="x", into="y", max_false_matches=1.0)
    with pytest.raises(CalibrationError, match="calibrate=True"):
        filled.search(views["x"], modality="x", into="y", rank="asymmetric")


def test_a_modality_that_joined_later_is_an_unknown_couple(tmp_path, calibrated):
    views = objects(200, 5)
    extended = calibrated.extend({"y": views["y"], "z": views["y"] ** 3}, dh.Pairs.aligned(200), modality="z")
    with dh.Collection.create(tmp_path / "more.dh", extended) as collection:
        collection.add(views["y"], modality="y")
        assert collection.search(views["y"] ** 3, modality="z", into="y")[0][0].chance is None
        with pytest.raises(CalibrationError, match="says nothing about searches with 'z' into 'y'"):
            collection.search(views["y"] ** 3, modality="z", into="y", max_false_matches=1.0)
