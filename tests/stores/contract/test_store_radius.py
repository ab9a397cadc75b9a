"""Hits within a radius, and objects that are not added because they are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash.errors import InputError, ParameterError
from tests.reference import joins, known
from tests.stores.contract.sample_codes import codes_of, random_codes


def found(hits):
    return [(hit.id, hit.distance) for hit in hits]


def test_search_with_a_radius_leaves_farther_objects_out(store):
    store.add_codes(codes_of((), (0,), (0, 1), (0, 1, 2)), modality="x", ids=[10, 11, 12, 13])

    hits = store.search_codes(codes_of(()), into="x", k=10, radius=2)

    assert found(hits[0]) == [(10, 0), (11, 1), (12, 2)]
    assert found(store.search_codes(codes_of(()), into="x", k=2, radius=2)[0]) == [(10, 0), (11, 1)]


def test_within_finds_all_in_every_modality_nearest_first(store):
    """No limit on their number; queries may find different numbers of objects, or none."""
    store.add_codes(random_codes(200), modality="x", ids=range(200))
    store.add_codes(
        random_codes(50, seed=1), modality="y", ids=range(50), payloads=[{"n": i} for i in range(50)]
    )
    queries = np.concatenate([random_codes(3, seed=2), codes_of(range(12))])
    expected = [
        sorted(
            [
                *((joins.distance(q, c), "x", i) for i, c in enumerate(random_codes(200))),
                *((joins.distance(q, c), "y", i) for i, c in enumerate(random_codes(50, seed=1))),
            ]
        )
        for q in queries
    ]

    for radius in (0, 3, 12, 99):
        hits = store.within_codes(queries, radius=radius)
        got = [[(hit.distance, hit.modality, hit.id) for hit in row] for row in hits]
        if not store.capabilities.ordered:
            assert [[entry[0] for entry in row] for row in got] == [
                [e[0] for e in sorted(row)] for row in got
            ]
            got = [sorted(row) for row in got]
        assert got == [[entry for entry in row if entry[0] <= radius] for row in expected]
    where = store.within_codes(queries, radius=5, into="y", where={"n": {"lt": 9}})
    assert all(hit.id < 9 and hit.payload == {"n": hit.id} for row in where for hit in row)


def test_within_in_an_empty_store_finds_nothing(store):
    assert store.within_codes(random_codes(2), radius=12) == [[], []]


def test_features_can_be_searched_within_a_radius(store):
    x = np.random.default_rng(0).normal(size=(40, 16))
    store.add(x, modality="x", ids=range(40))

    hits = store.within(x[:5], modality="x", into="x", radius=0)

    assert all(row in [hit.id for hit in hits[row]] for row in range(5))
    assert all(hit.distance == 0 for row in hits for hit in row)
    limited = store.search(x[:5], modality="x", into="x", k=1, radius=0)
    assert [[d for _, d in found(row)] for row in limited] == [[d for _, d in found(row)[:1]] for row in hits]


@pytest.mark.parametrize("radius", [-1, 1.5, "2", None])
def test_a_radius_that_is_not_a_whole_number_is_refused(store, radius):
    with pytest.raises(ParameterError, match="within_codes: radius"):
        store.within_codes(random_codes(1), radius=radius)


def test_unless_within_is_the_same_as_adding_one_by_one(make_store):
    """Near codes make chains: a code near a known one that was not added is not known by it."""

    @given(
        seed=st.integers(0, 2**32 - 1),
        n_stored=st.integers(0, 6),
        n_new=st.integers(0, 14),
        radius=st.integers(0, 5),
        strings=st.booleans(),
    )
    @settings(max_examples=3 if make_store.is_slow else 40, deadline=None)
    def check(seed, n_stored, n_new, radius, strings):
        store, rng = make_store(), np.random.default_rng(seed)
        centres = random_codes(3, seed=seed)
        codes = centres[rng.integers(0, 3, n_stored + n_new)] ^ codes_of(
            *rng.integers(0, 12, (n_stored + n_new, 2))
        )
        ids = [f"id {n}" if strings else n for n in rng.permutation(30)[: len(codes)].tolist()]
        store.add_codes(codes[:n_stored], modality="x", ids=ids[:n_stored])
        before = list(zip(ids[:n_stored], codes[:n_stored], strict=True))
        expected = known.add_one_by_one(before, codes[n_stored:], ids[n_stored:], radius)

        result = store.add_codes(codes[n_stored:], modality="x", ids=ids[n_stored:], unless_within=radius)

        if store.capabilities.ordered:
            assert list(zip(result, result.added.tolist(), strict=True)) == expected
        else:  # another object at the same distance may be the known one
            assert result.added.tolist() == [added for _, added in expected]
        assert result.new == [id_ for id_, added in expected if added]
        if store.capabilities.ordered:
            assert result.known == [id_ for id_, added in expected if not added]
        assert len(store) == n_stored + len(result.new)
        for id_, code in zip(ids[n_stored:], codes[n_stored:], strict=True):
            if id_ in result.new:
                assert store.get([id_])[0].codes["x"].tolist() == code.tolist()

    check()


def test_known_objects_keep_their_payload_and_take_no_id(store):
    store.add_codes(codes_of((0,)), modality="x", payloads=[{"name": "first"}])

    result = store.add_codes(
        codes_of((0, 1), (5, 6, 7, 8)),
        modality="x",
        payloads=[{"name": "copy"}, {"name": "new"}],
        unless_within=1,
    )

    assert result == [0, 1]
    assert result.added.tolist() == [False, True]
    assert [item.payload["name"] for item in store.get([0, 1])] == ["first", "new"]


def test_an_object_that_is_known_under_its_own_id_can_be_added_again(store):
    """Adding the same folder twice changes nothing."""
    codes = codes_of((0,), (1, 2, 3))
    store.add_codes(codes, modality="x", ids=["a", "b"])

    result = store.add_codes(codes, modality="x", ids=["a", "b"], unless_within=0)

    assert (result, result.new) == (["a", "b"], [])
    with pytest.raises(InputError, match="exists already"):
        store.add_codes(codes_of((7, 8, 9)), modality="x", ids=["a"], unless_within=0)


def test_only_codes_of_the_same_modality_are_known(store):
    store.add_codes(codes_of((0,)), modality="x", ids=[1])

    assert store.add_codes(codes_of((0,)), modality="y", ids=[2], unless_within=12).new == [2]


def test_features_are_compared_by_their_codes(store):
    x = np.random.default_rng(0).normal(size=(30, 16))
    first = store.add(x, modality="x", unless_within=0)

    again = store.add(x + 1e-9, modality="x", unless_within=0)

    assert first.new
    assert again.new == []
    assert again == first


@pytest.mark.parametrize("radius", [-1, 0.5, "1", True])
def test_a_bad_unless_within_is_refused_and_adds_nothing(store, radius):
    with pytest.raises(ParameterError, match="unless_within"):
        store.add_codes(random_codes(2), modality="x", unless_within=radius)
    assert len(store) == 0
