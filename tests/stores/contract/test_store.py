"""Behaviour of every store, whatever its engine."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.errors import InputError, UnknownIdError
from diffhash.stores import Hit, Item, Store

from .sample_codes import codes_of, random_codes


def found(hits):
    return [(hit.id, hit.distance) for hit in hits]


def test_it_is_a_store(store):
    assert isinstance(store, Store)
    assert (store.n_bits, store.modalities, len(store)) == (12, ("x", "y"), 0)


def test_hits_are_sorted_by_distance_and_have_payloads(store):
    store.add_codes(
        codes_of([0, 1, 2], [], [0]), modality="x", ids=[5, 6, 7], payloads=[{"n": 3}, None, {"n": 1}]
    )

    (hits,) = store.search_codes(codes_of([]), into="x", k=10)

    assert hits == [Hit(6, 0, {}, "x"), Hit(7, 1, {"n": 1}, "x"), Hit(5, 3, {"n": 3}, "x")]
    assert found(store.search_codes(codes_of([]), into="x", k=2)[0]) == [(6, 0), (7, 1)]


def test_search_agrees_with_a_plain_count_of_bits(store):
    codes, queries = random_codes(200), random_codes(9, seed=1)
    store.add_codes(codes, modality="y")

    for query, hits in zip(queries, store.search_codes(queries, into="y", k=17), strict=True):
        distances = np.bitwise_count(codes ^ query).sum(axis=1)
        assert [hit.distance for hit in hits] == sorted(distances)[:17]
        assert all(distances[hit.id] == hit.distance for hit in hits)
        assert len({hit.id for hit in hits}) == 17


def test_modalities_are_separate_and_share_ids_and_payload(store):
    store.add_codes(codes_of([0]), modality="x", ids=["a"], payloads=[{"name": "sun"}])
    store.add_codes(codes_of([1]), modality="y", ids=["a"])
    store.add_codes(codes_of([2]), modality="y", ids=["b"])

    assert len(store) == 2
    assert found(store.search_codes(codes_of([0]), into="x")[0]) == [("a", 0)]
    (hit, *_) = store.search_codes(codes_of([1]), into="y")[0]
    assert hit == Hit("a", 0, {"name": "sun"}, "y")
    everywhere = store.search_codes(codes_of([0]), k=10)[0]
    assert [(hit.id, hit.modality, hit.distance) for hit in everywhere[:1]] == [("a", "x", 0)]
    assert sorted((hit.id, hit.modality) for hit in everywhere) == [("a", "x"), ("a", "y"), ("b", "y")]


def test_without_ids_the_store_chooses_new_ones(store):
    first = store.add_codes(random_codes(3), modality="x")
    second = store.add_codes(random_codes(2), modality="y")

    assert len(set(first + second)) == 5 == len(store)
    store.delete(second)
    assert not set(store.add_codes(random_codes(2), modality="y")) & set(first + second)


def test_get_returns_objects_in_the_order_of_the_ids(store):
    codes = random_codes(3)
    store.add_codes(codes, modality="x", ids=[30, 10, 20], payloads=[{"n": i} for i in range(3)])
    store.add_codes(codes[:1], modality="y", ids=[10])

    items = store.get([20, 10, 20])

    assert all(isinstance(item, Item) for item in items)
    assert [item.id for item in items] == [20, 10, 20]
    assert [item.payload for item in items] == [{"n": 2}, {"n": 1}, {"n": 2}]
    assert [item.modalities for item in items] == [("x",), ("x", "y"), ("x",)]
    np.testing.assert_array_equal(items[0].codes["x"], codes[2])
    assert store.get(10, modality="y")[0].modalities == ("y",)
    with pytest.raises(UnknownIdError, match="no object with id 99"):
        store.get([10, 99])
    with pytest.raises(UnknownIdError, match="30 in modality 'y'"):
        store.get([30], modality="y")


def test_adding_an_id_again_is_refused_and_changes_nothing(store):
    store.add_codes(codes_of([0]), modality="x", ids=[1], payloads=[{"n": 1}])

    with pytest.raises(InputError, match="id 1 exists already in modality 'x'"):
        store.add_codes(codes_of([1], [2]), modality="x", ids=[2, 1], payloads=[{"n": 2}, {"n": 3}])

    assert len(store) == 1
    assert found(store.search_codes(codes_of([0]), into="x")[0]) == [(1, 0)]
    assert store.get(1)[0].payload == {"n": 1}


def test_upsert_replaces_codes_and_the_payloads_that_are_given(store):
    store.add_codes(codes_of([0], [1]), modality="x", ids=[1, 2], payloads=[{"n": 1}, {"n": 2}])

    store.upsert_codes(codes_of([5], [6], [7]), modality="x", ids=[2, 1, 3], payloads=[{"m": 9}, None, None])

    assert len(store) == 3
    assert found(store.search_codes(codes_of([5]), into="x", k=1)[0]) == [(2, 0)]
    assert found(store.search_codes(codes_of([0]), into="x", k=1)[0])[0][1] == 2
    assert [item.payload for item in store.get([1, 2, 3])] == [{"n": 1}, {"m": 9}, {}]


def test_delete_counts_ids_and_removes_the_payload_with_the_last_code(store):
    store.add_codes(codes_of([0], [1]), modality="x", ids=["a", "b"], payloads=[{"n": 1}, {"n": 2}])
    store.add_codes(codes_of([2]), modality="y", ids=["a"])

    assert store.delete(["a", "nobody", "a"], modality="x") == 1
    assert store.get("a")[0].modalities == ("y",)
    assert store.get("a")[0].payload == {"n": 1}
    assert store.delete(["a", "b"]) == 2
    assert (len(store), store.delete("a")) == (0, 0)
    assert store.search_codes(codes_of([0]), k=3) == [[]]
    store.add_codes(codes_of([0]), modality="x", ids=["a"])
    assert store.get("a")[0].payload == {}


@pytest.mark.parametrize("ids", [[10, 11, 12], ["a", "b", "c"]], ids=["numbers", "strings"])
@pytest.mark.parametrize("modality", [None, "x"])
def test_delete_ignores_unknown_ids_and_says_how_many_it_removed(store, ids, modality):
    """HammingIndex.remove does the same."""
    unknown = [99, -1] if ids[0] == 10 else ["", "nobody"]
    store.add_codes(codes_of([0], [1], [2]), modality="x", ids=ids)

    assert store.delete(unknown, modality=modality) == 0
    assert store.delete(unknown[0], modality=modality) == 0
    assert len(store) == 3
    assert store.delete([unknown[0], ids[1], unknown[1], ids[1]], modality=modality) == 1
    assert store.delete(ids, modality="y") == 0
    assert store.delete(ids, modality=modality) == 2
    assert store.delete(ids, modality=modality) == 0
    assert len(store) == 0


def test_iterate_returns_every_object_once_in_blocks(store):
    store.add_codes(random_codes(25), modality="x", payloads=[{"n": i} for i in range(25)])
    store.add_codes(random_codes(5), modality="y", ids=[3, 4, 50, 51, 52])
    store.delete([7])

    blocks = list(store.iterate(batch=10))

    assert max(map(len, blocks)) <= 10
    items = [item for block in blocks for item in block]
    assert sorted(item.id for item in items) == sorted({*range(25), 50, 51, 52} - {7})
    assert {item.id for item in items if item.modalities == ("x", "y")} == {3, 4}
    assert sorted(item.id for block in store.iterate("y") for item in block) == [3, 4, 50, 51, 52]
    assert next(iter(store.iterate("y")))[0].modalities == ("y",)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"group": "a"}, {0, 3}),
        ({"group": {"ne": "a"}}, {1, 2, 4, 5}),
        ({"year": {"ge": 1990, "lt": 2000}}, {1, 2}),
        ({"year": {"gt": 1990}}, {2, 3}),
        ({"year": {"le": 1990}}, {0, 1}),
        ({"year": {"in": [1980, 1999.5, "x"]}}, {0, 2}),
        ({"year": {"in": []}}, set()),
        ({"flag": True}, {0}),
        ({"flag": 1}, {1}),
        ({"flag": None}, {2, 3, 4, 5}),
        ({"group": {"ge": "b"}}, {1, 4}),
        ({"group": "a", "year": 1980}, {0}),
        ({"or": [{"group": "b"}, {"year": {"gt": 2000}}]}, {1, 3}),
        ({"and": [{"group": "a"}, {"not": {"year": {"lt": 1990}}}]}, {3}),
        ({"not": {"or": [{"group": "a"}, {"group": "b"}]}}, {2, 4, 5}),
        ({"nested": None}, {0, 1, 2, 3, 5}),
        ({"no such field": 3}, set()),
        ({}, {0, 1, 2, 3, 4, 5}),
    ],
)
def test_filters_select_matching_objects(store, where, expected):
    payloads = [
        {"group": "a", "year": 1980, "flag": True},
        {"group": "b", "year": 1990, "flag": 1},
        {"year": 1999.5, "flag": None},
        {"group": "a", "year": 2010},
        {"group": "c", "year": "1995", "nested": {"group": "a", "year": 1995}},
        None,
    ]
    store.add_codes(random_codes(6), modality="x", ids=range(6), payloads=payloads)

    (hits,) = store.search_codes(random_codes(1), into="x", k=10, where=where)

    assert {hit.id for hit in hits} == expected


def test_a_filter_sees_changes(store):
    store.add_codes(codes_of([0], [1]), modality="x", ids=[1, 2], payloads=[{"g": 1}, {"g": 1}])
    search = {"into": "x", "where": {"g": 1}}
    assert len(store.search_codes(codes_of([0]), **search)[0]) == 2

    store.upsert_codes(codes_of([0]), modality="x", ids=[1], payloads=[{"g": 2}])
    assert found(store.search_codes(codes_of([0]), **search)[0]) == [(2, 2)]
    store.delete([2])
    assert store.search_codes(codes_of([0]), **search) == [[]]
    store.add_codes(codes_of([3]), modality="x", ids=[3], payloads=[{"g": 1.0}])
    assert found(store.search_codes(codes_of([3]), **search)[0]) == [(3, 0)]
