"""Payloads, texts and numbers come back as they were, and filters mean what they mean everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.stores.filter_syntax import matches, parse

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["\0", "\x01", "\x01\x01\0"]
)
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from([1e16, -1e22, 1e300, 2.0**62, 2**62, float(2**53), 2**53 + 1, 5e-324, 0.1, -0.0])
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)


@pytest.fixture
def empty(address):
    with dh.create(address, n_bits=8, modalities=("a",)) as store:
        yield store


@given(payloads=st.lists(st.dictionaries(TEXT, VALUE, max_size=4), min_size=1, max_size=8))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_payloads_come_back_as_they_were(empty, payloads):
    """Also the difference between 1 and 1.0, and characters that PostgreSQL cannot hold."""
    codes = np.zeros((len(payloads), 1), dtype=np.uint8)
    empty.upsert_codes(codes, modality="a", ids=range(len(payloads)), payloads=payloads)
    got = [item.payload for item in empty.get(range(len(payloads)))]
    assert got == payloads
    assert [_types(payload) for payload in got] == [_types(payload) for payload in payloads]


def _types(value):
    if isinstance(value, dict):
        return {name: _types(item) for name, item in value.items()}
    return [_types(item) for item in value] if isinstance(value, list) else type(value)


@given(
    values=st.lists(SCALAR, min_size=1, max_size=8),
    other=SCALAR,
    sign=st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "in"]),
    field=TEXT,
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_filters_agree_with_their_definition(empty, values, other, sign, field):
    if sign not in ("eq", "ne", "in") and not (
        isinstance(other, int | float | str) and not isinstance(other, bool)
    ):
        return
    where = {field: {sign: [other, values[0]] if sign == "in" else other}}
    codes = np.zeros((len(values), 1), dtype=np.uint8)
    empty.delete(range(10))
    empty.upsert_codes(
        codes, modality="a", ids=range(len(values)), payloads=[{field: value} for value in values]
    )

    (hits,) = empty.search_codes(codes[:1], k=20, where=where)

    node = parse(where, caller="")
    assert [hit.id for hit in hits] == [i for i, value in enumerate(values) if matches(node, {field: value})]


def test_string_ids_of_any_kind_come_back(empty):
    ids = ["", "\0", "\x01", "\x01\0", "a\0", "a", "é", "\U0001f600", "'", '"', "{}", "NULL", "x" * 1999]
    codes = np.zeros((len(ids), 1), dtype=np.uint8)
    empty.add_codes(codes, modality="a", ids=ids)
    assert [item.id for item in empty.get(ids)] == ids
    assert [item.id for block in empty.iterate(batch=2) for item in block] == ids
    assert {hit.id for hit in empty.search_codes(codes[:1], k=99)[0]} == set(ids)
    assert empty.delete(ids[:5]) == 5
    with pytest.raises(dh.errors.InputError, match="ids of at most 2,000 bytes"):
        empty.add_codes(codes[:1], modality="a", ids=["é" * 1001])


def test_large_calls_are_written_in_blocks(empty):
    n = 50_001
    codes = np.random.default_rng(0).integers(0, 256, (n, 1), dtype=np.uint8)
    empty.add_codes(codes, modality="a", payloads=[{"n": i} for i in range(n)])
    empty.upsert_codes(codes[::-1], modality="a", ids=range(n), payloads=[None] * n)
    assert len(empty) == n
    items = [item for block in empty.iterate(batch=7000) for item in block]
    assert [(item.id, item.payload["n"]) for item in items] == [(i, i) for i in range(n)]
    assert np.array_equal(np.stack([item.codes["a"] for item in items]), codes[::-1])
    assert empty.verify().ok
