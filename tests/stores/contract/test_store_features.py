"""Features, chances, promises and stored objects as queries: a store answers as a collection with the same content."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CalibrationError, CollectionError, NotFittedError, UnsupportedCallError

from .sample_codes import random_codes


@pytest.fixture(scope="module")
def calibrated(small_data):
    return dh.DiffHash(n_bits=16).fit(small_data.train.views, dh.Pairs.aligned(400), calibrate=True)


@pytest.fixture
def both(make_store, calibrated, small_data, tmp_path):
    """A store and a collection with the same content."""
    views = small_data.test.views
    filled = [make_store(calibrated), dh.Collection.create(tmp_path / "same.dh", calibrated)]
    for store in filled:
        for name, features in views.items():
            store.add(
                features,
                modality=name,
                ids=range(200),
                payloads=[{"half": i % 2, "n": i} for i in range(200)],
            )
    yield filled
    filled[1].close()


def facts(hits):
    """What is the same in all stores. Which objects come first at equal distance is not."""
    return [[(hit.distance, hit.chance) for hit in row] for row in hits]


def distances(hits):
    return [[hit.distance for hit in row] for row in hits]


def test_distances_and_chances_are_those_of_a_collection(both, small_data):
    store, collection = both
    query = small_data.test.views["y"][:20]
    for options in (
        {"into": "x"},
        {"into": "x", "k": 3, "where": {"half": 1}},
        {"into": "x", "radius": 2, "k": 100},
        {"into": "x", "max_false_matches": 20.0},
        {"into": "x", "expected_matches": 5.0},
        {"into": "x", "rank": "hamming", "where": {"n": {"lt": 50}}},
    ):
        got = store.search(query, modality="y", **options)
        expected = collection.search(query, modality="y", **{"rank": "hamming", **options})
        if store.capabilities.asymmetric and "rank" not in options:
            got = store.search(query, modality="y", rank="hamming", **options)
        assert facts(got) == facts(expected), options
        assert any(got)
        assert all(hit.chance is not None and hit.score == -hit.distance for row in got for hit in row)
    got, expected = (s.search(query, modality="y", k=25, rank="hamming") for s in both)
    assert distances(got) == distances(expected)
    assert facts(store.within(query, modality="y", into="x", radius=3)) == facts(
        collection.within(query, modality="y", into="x", radius=3)
    )
    limits = [s.match_limit(20.0, modality="y", into="x", where={"half": 0}) for s in both]
    assert limits[0] == limits[1]


def test_asymmetric_ranking_is_that_of_a_collection_or_is_refused(both, small_data):
    store = both[0]
    query = small_data.test.views["y"][:20]
    options = {"modality": "y", "into": "x", "k": 15, "rank": "asymmetric"}
    if not store.capabilities.asymmetric:
        with pytest.raises(UnsupportedCallError, match=r"real values.*a collection in a file"):
            store.search(query, **options)
        return
    for more in ({}, {"where": {"half": 0}}, {"radius": 3}):
        got, expected = (s.search(query, **options, **more) for s in both)
        assert [[(hit.id, hit.score) for hit in row] for row in got] == [
            [(hit.id, hit.score) for hit in row] for row in expected
        ]


def test_duplicates_are_those_of_a_collection_or_are_refused(both):
    store = both[0]
    if not store.capabilities.duplicates:
        with pytest.raises(UnsupportedCallError, match=r"near-duplicates.*a collection in a file"):
            store.duplicates(1, modality="x")
        return
    for options in ({"modality": "x"}, {"modality": "x", "into": "y"}):
        got, expected = (s.duplicates(1, **options) for s in both)
        assert (got.n_pairs, got.n_clusters) == (expected.n_pairs, expected.n_clusters)
        assert {tuple(sorted(c.tolist())) for c in got.clusters} == {
            tuple(sorted(c.tolist())) for c in expected.clusters
        }


def test_a_stored_object_is_a_query_and_is_not_found_itself(both):
    store = both[0]
    for options in ({"into": "x"}, {"into": "y", "k": 3}, {"modality": "x", "k": 7}):
        got, expected = (s.search_item(17, **options) for s in both)
        assert [hit.distance for hit in got] == [hit.distance for hit in expected]
        assert 17 not in [hit.id for hit in got]
    with pytest.raises(dh.errors.InputError, match="Say which one is the query"):
        store.search_item(17)


def test_a_promise_needs_a_calibrated_model(store):
    store.add_codes(random_codes(3), modality="x")
    with pytest.raises(CalibrationError, match="calibrated model"):
        store.search_codes(random_codes(1), into="x", modality="y", max_false_matches=1.0)


def test_fused_codes_are_those_of_a_collection(make_store, calibrated, small_data, tmp_path):
    views = small_data.test.views
    filled = [
        make_store(calibrated, fused="both"),
        dh.Collection.create(tmp_path / "f.dh", calibrated, fused="both"),
    ]
    for store in filled:
        assert store.modalities == ("x", "y", "both")
        store.add(views, ids=range(200))
    got, expected = (s.search({m: v[:9] for m, v in views.items()}, into="both", k=5) for s in filled)
    assert facts(got) == facts(expected)
    for item in filled[0].get([3, 99]):
        assert item.codes["both"].tolist() == filled[1].get([item.id])[0].codes["both"].tolist()
    filled[1].close()


def test_fused_codes_need_a_calibrated_model(make_store, hasher):
    with pytest.raises(NotFittedError, match="calibrated"):
        make_store(hasher, fused="both")


def test_the_model_is_that_of_the_hasher(store, hasher):
    x = np.random.default_rng(0).normal(size=(5, 16))
    assert np.array_equal(store.model.encode(x, modality="x"), hasher.encode(x, modality="x"))
    ids = store.add(x, modality="x")
    assert [item.codes["x"].tolist() for item in store.get(ids)] == hasher.encode(x, modality="x").tolist()


def test_a_store_verifies_what_it_has_and_counts_it(store):
    store.add_codes(random_codes(20), modality="x", payloads=[{"n": i} for i in range(20)])
    store.add_codes(random_codes(5), modality="y", ids=[3, 4, 50, 51, 52])
    store.delete([7])

    report = store.verify()

    assert report.problems == ()
    assert (report.n_codes, report.n_objects, report.n_payloads) == (24, 22, 19)
    stats = store.stats()
    assert (stats.n_objects, stats.n_codes, stats.id_kind) == (22, {"x": 19, "y": 5}, "int")
    assert 3 in store
    assert 7 not in store
    assert "3" not in store


def test_codes_from_elsewhere_need_no_model(make_store):
    store = make_store(None, n_bits=12, modalities=("x", "y"))
    store.add_codes(random_codes(5), modality="x")
    assert [hit.distance for hit in store.search_codes(random_codes(5)[2:3], k=1)[0]] == [0]
    assert not store.has_model
    with pytest.raises(dh.errors.NoModelError, match="has codes and no model"):
        store.add(np.zeros((1, 4)), modality="x")


def test_a_closed_store_says_so(make_store):
    store = make_store()
    store.close()
    store.close()
    for act in (
        lambda: len(store),
        lambda: store.get([1]),
        lambda: store.search_codes(random_codes(1)),
        lambda: store.add_codes(random_codes(1), modality="x"),
        lambda: list(store.iterate()),
    ):
        with pytest.raises(CollectionError, match="closed"):
            act()
