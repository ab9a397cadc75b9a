"""Filters in SQL mean what the plain definition says, indexed or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import FilterError
from diffhash.stores.filter_syntax import matches, parse

TEXT = st.sampled_from(
    ["", "a", "b", "a\0b", "a\0", 'q"q', "b\\s", "é", "\U0001f600", "null", "1", "true", "é\n"]
)
FIELDS = st.sampled_from(["a", "b", "c d", 'q"', "x.y[0]", "back\\", "", "n\0", "é", "and", "$"])
NUMBERS = st.sampled_from(
    [0, -0.0, 0.0, 1, 1.0, -1, 0.1, 1e16, 10**16, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63)]
)
NUMBERS |= st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = SCALARS | st.sampled_from([[], [1], {"a": 1}, {"b": {"a": "b"}}])
PAYLOADS = st.lists(st.none() | st.dictionaries(FIELDS, VALUES, max_size=4), min_size=1, max_size=8)
LIMITS = NUMBERS | TEXT
CONDITIONS = st.one_of(
    SCALARS,
    st.fixed_dictionaries({"eq": SCALARS}),
    st.fixed_dictionaries({"ne": SCALARS}),
    st.fixed_dictionaries({"in": st.lists(SCALARS, max_size=6)}),
    st.dictionaries(st.sampled_from(["lt", "le", "gt", "ge"]), LIMITS, min_size=1),
)
FILTERS = st.recursive(
    st.dictionaries(FIELDS, CONDITIONS, max_size=2),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory, hasher):
    with dh.Collection.create(tmp_path_factory.mktemp("where") / "c.dh", hasher) as made:
        yield made


@given(payloads=PAYLOADS, where=FILTERS, indexed=st.sets(FIELDS, max_size=3))
@example(payloads=[{"a": True}, {"a": 1}, {"a": "1"}], where={"a": {"ge": 1}}, indexed=set())
@example(payloads=[{"a": "a\0b"}, {"a": "a"}], where={"a": {"gt": "a"}}, indexed=set())
@example(payloads=[{"b": {"a": 1}}, {"a": "x"}], where={"a": 1}, indexed=set())
@settings(max_examples=200)
def test_sql_agrees_with_the_definition(shared, payloads, where, indexed):
    shared.delete(range(100))
    with shared._writing("test"):
        shared._db.execute("DELETE FROM field_values")
        shared._db.execute("DELETE FROM fields")
    for field in indexed:
        shared.index_payload(field)
    shared.upsert_codes(
        np.zeros((len(payloads), 2), np.uint8), modality="x", ids=range(len(payloads)), payloads=payloads
    )

    node = parse(where, caller="test")
    found, _ = shared.search_arrays(np.zeros((1, 2), np.uint8), into="x", k=100, where=where)

    expected = [row for row, payload in enumerate(payloads) if matches(node, payload or {})]
    assert sorted(found[0].tolist()) == expected


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_every_float_is_equal_to_itself_and_within_its_own_bounds(shared, values):
    """SQLite reads floats from text in a way of its own, which must not show."""
    shared.delete(range(100))
    ids = range(len(values))
    shared.upsert_codes(
        np.zeros((len(values), 2), np.uint8), modality="x", ids=ids, payloads=[{"v": v} for v in values]
    )
    for row, value in enumerate(values):
        for where in ({"v": value}, {"v": {"ge": value, "le": value}}):
            found, _ = shared.search_arrays(np.zeros((1, 2), np.uint8), into="x", k=100, where=where)
            assert row in found[0]
            assert all(values[i] == value for i in found[0])


def test_many_values_are_one_filter(filled):
    found, _ = filled.search_arrays(
        np.zeros((1, 2), np.uint8), into="x", k=100, where={"n": {"in": list(range(7, 50_000))}}
    )
    assert sorted(found[0].tolist()) == list(range(7, 60))


def nested(levels, wrap):
    where = {"n": {"lt": 30}}
    for level in range(levels):
        where = wrap(where, level)
    return where


LARGE = {
    "fields": {f"f{i}": None for i in range(300)} | {"n": {"lt": 7}},
    "and": {"and": [{"n": {"ne": i}} for i in range(0, 600, 2)]},
    "or": {"or": [{"n": i} for i in range(0, 600, 3)]},
    "or of very many": {"or": [{"n": {"ge": i, "lt": i + 1}} for i in range(0, 2500, 5)]},
    "in, many times": {"and": [{"n": {"in": list(range(i, 90))}} for i in range(40)] * 10},
    "not": nested(50, lambda w, _: {"not": w}),
    "not and and": nested(24, lambda w, i: {"not": {"and": [w, {"even": i % 3 == 0}]}}),
    "or and and": nested(24, lambda w, i: {"or": [{"n": 2 * i}, {"and": [{"n": {"ne": 3 * i}}, w]}]}),
    "both sides": nested(
        8, lambda w, i: {"or": [{"and": [w, {"n": {"gt": i}}]}, {"not": {"or": [w, {"n": i}]}}]}
    ),
}


@pytest.mark.parametrize("indexed", [(), ("even",), ("n", "f7")])
@pytest.mark.parametrize("where", LARGE.values(), ids=LARGE)
def test_wide_and_deep_filters_mean_what_they_say(filled, where, indexed):
    """SQLite's parser has a stack of a hundred, and a statement has only so many values."""
    for field in indexed:
        filled.index_payload(field)
    found, _ = filled.search_arrays(np.zeros((1, 2), np.uint8), into="x", k=100, where=where)
    node = parse(where, caller="")
    payloads = {item.id: item.payload for item in next(filled.iterate("x"))}
    assert sorted(found[0].tolist()) == [i for i, payload in payloads.items() if matches(node, payload)]


def test_deep_filters_are_refused_before_they_are_run(filled):
    where = {"n": 1}
    for _ in range(60):
        where = {"not": where}
    with pytest.raises(FilterError, match="nested deeper"):
        filled.search_arrays(np.zeros((1, 2), np.uint8), into="x", where=where)


def test_a_field_may_have_the_name_of_an_operator(collection):
    collection.add_codes(
        np.zeros((2, 2), np.uint8), modality="x", payloads=[{"or": 1, "not": 2, "and": "x"}, {"or": 2}]
    )
    for where in ({"or": 1}, {"not": {"eq": 2}}, {"and": "x"}):
        assert [hit.id for hit in collection.search_codes(np.zeros((1, 2), np.uint8), where=where)[0]] == [0]


def test_indexing_a_field_twice_or_by_no_name(filled):
    filled.index_payload("n")
    filled.index_payload("n")
    assert filled.stats().indexed_fields == ("n",)
    for name in (None, 3, "\ud800"):
        with pytest.raises(FilterError, match="the name of a field must be a string"):
            filled.index_payload(name)
    assert filled.verify().ok
