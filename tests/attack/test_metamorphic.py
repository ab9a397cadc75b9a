"""Relations between searches that hold whatever the codes are, and filters against brute force."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash import native
from diffhash.codes import pack
from tests.native.naive import ranked

WIDTHS = [1, 3, 8, 12, 64, 65]


@st.composite
def problems(draw, n_bits=None):
    """Codes with many ties, ids in any order, and queries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_bits = draw(st.sampled_from(WIDTHS)) if n_bits is None else n_bits
    n, q = draw(st.integers(0, 60)), draw(st.integers(1, 4))
    bits = rng.random((n + q, n_bits)) < draw(st.sampled_from([0.05, 0.5]))
    ids = rng.permutation(np.arange(-5, 3 * n))[:n]
    return bits[:n], bits[n:], ids


def index_of(bits, ids):
    return dh.HammingIndex(pack(bits), ids, n_bits=bits.shape[1])


def assert_same(first, second):
    np.testing.assert_array_equal(first.ids, second.ids)
    np.testing.assert_array_equal(first.distances, second.distances)


@given(problems(), st.integers(1, 80), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_a_mask_on_codes_and_queries_changes_no_result(problem, k, radius, seed):
    bits, queries, ids = problem
    mask = np.random.default_rng(seed).random(bits.shape[1]) < 0.5
    plain, masked = index_of(bits, ids), index_of(bits ^ mask, ids)

    assert_same(plain.search(pack(queries), k), masked.search(pack(queries ^ mask), k))
    assert_same(plain.within(pack(queries), radius), masked.within(pack(queries ^ mask), radius))


@given(problems(), st.integers(1, 80), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_another_order_of_the_bits_changes_no_result(problem, k, radius, seed):
    bits, queries, ids = problem
    order = np.random.default_rng(seed).permutation(bits.shape[1])
    plain, permuted = index_of(bits, ids), index_of(bits[:, order], ids)

    assert_same(plain.search(pack(queries), k), permuted.search(pack(queries[:, order]), k))
    assert_same(plain.within(pack(queries), radius), permuted.within(pack(queries[:, order]), radius))


@given(problems(), st.integers(1, 80), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_another_order_of_the_rows_changes_no_result(problem, k, radius, seed):
    bits, queries, ids = problem
    order = np.random.default_rng(seed).permutation(len(bits))
    plain, permuted = index_of(bits, ids), index_of(bits[order], ids[order])

    assert_same(plain.search(pack(queries), k), permuted.search(pack(queries), k))
    assert_same(plain.within(pack(queries), radius), permuted.within(pack(queries), radius))


@given(problems(), st.integers(1, 80), st.data())
def test_two_halves_merge_to_the_whole(problem, k, data):
    bits, queries, ids = problem
    at = data.draw(st.integers(0, len(bits)))
    whole = index_of(bits, ids).search(pack(queries), k)
    halves = [
        index_of(bits[part], ids[part]).search(pack(queries), k) for part in (slice(at), slice(at, None))
    ]

    for row in range(len(queries)):
        found = sorted(
            (int(distance), int(id_))
            for half in halves
            for distance, id_ in zip(half.distances[row], half.ids[row], strict=True)
        )
        expected = list(zip(whole.distances[row].tolist(), whole.ids[row].tolist(), strict=True))
        assert found[:k] == expected


@given(problems(), st.integers(1, 100))
def test_more_neighbours_begin_with_the_fewer_and_end_with_all(problem, k):
    bits, queries, ids = problem
    index = index_of(bits, ids)
    few, many, all_ = (index.search(pack(queries), size) for size in (k, k + 7, len(bits) + 1000))

    np.testing.assert_array_equal(many.ids[:, : few.ids.shape[1]], few.ids)
    assert all_.ids.shape == (len(queries), len(bits))
    assert all(sorted(row) == sorted(ids.tolist()) for row in all_.ids.tolist())


@given(problems(), st.integers(0, 70))
def test_within_is_the_part_of_the_whole_ranking_inside_the_radius(problem, radius):
    bits, queries, ids = problem
    index = index_of(bits, ids)
    ranking, found = index.search(pack(queries), len(bits) + 1), index.within(pack(queries), radius)

    for row in range(len(queries)):
        inside = ranking.distances[row] <= radius
        part = slice(found.offsets[row], found.offsets[row + 1])
        np.testing.assert_array_equal(found.ids[part], ranking.ids[row][inside])
        np.testing.assert_array_equal(found.distances[part], ranking.distances[row][inside])


@pytest.mark.parametrize("kernel", native.available_kernels())
@given(
    problem=problems(),
    k=st.integers(1, 80),
    seed=st.integers(0, 2**32 - 1),
    n_threads=st.sampled_from([1, 3]),
)
def test_a_filter_gives_what_brute_force_gives(kernel, problem, k, seed, n_threads):
    bits, queries, ids = problem
    allowed = np.random.default_rng(seed).random(len(bits)) < 0.5
    expected = ranked(pack(queries), pack(bits), ids, allowed)

    found = native.top_k(
        queries=pack(queries),
        database=pack(bits),
        k=k,
        n_bits=bits.shape[1],
        ids=ids,
        allowed=allowed,
        n_threads=n_threads,
        kernel=kernel,
    )

    pairs = [
        list(zip(d, i, strict=True))
        for d, i in zip(found.distances.tolist(), found.ids.tolist(), strict=True)
    ]
    assert pairs == [row[:k] for row in expected]


@given(problems(), st.data())
def test_adding_and_removing_codes_is_the_same_as_a_new_index(problem, data):
    bits, queries, ids = problem
    first = data.draw(st.integers(0, len(bits)))
    gone = np.array(
        data.draw(st.lists(st.sampled_from(ids.tolist()), unique=True)) if len(ids) else [], dtype=int
    )
    index = index_of(bits[:first], ids[:first])
    index.add(pack(bits[first:]), ids[first:])
    index.remove(gone)
    left = ~np.isin(ids, gone)

    assert_same(index.search(pack(queries), 10), index_of(bits[left], ids[left]).search(pack(queries), 10))


OPERATORS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([0.5, -1.0, 2**60, 1e300])),
        "group": st.sampled_from(["a", "b", "", "é", None]),
        "flag": st.booleans(),
    },
)


def leaves():
    number = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.0]))
    return st.one_of(
        st.builds(lambda value: {"group": value}, st.sampled_from(["a", "b", "", None])),
        st.builds(lambda value: {"flag": value}, st.booleans()),
        st.builds(lambda name, value: {"n": {name: value}}, st.sampled_from(sorted(OPERATORS)), number),
        st.builds(lambda values: {"n": {"in": values}}, st.lists(st.one_of(number, st.none()), max_size=3)),
        st.builds(lambda value: {"n": {"ne": value}}, number),
    )


FILTERS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=5,
)


def equal(stored, value):
    """Equal values of the same kind: True is not 1, but 1.0 is."""
    return isinstance(stored, bool) == isinstance(value, bool) and stored == value


def passes(payload, where):
    """Whether a payload passes a filter: the slow, obvious version."""
    ((name, condition),) = where.items()
    if name in ("or", "and"):
        return (any if name == "or" else all)(passes(payload, part) for part in condition)
    if name == "not":
        return not passes(payload, condition)
    stored = payload.get(name)
    if not isinstance(condition, dict):
        return equal(stored, condition)
    ((how, value),) = condition.items()
    if how == "in":
        return any(equal(stored, one) for one in value)
    if how == "ne":
        return not equal(stored, value)
    return isinstance(stored, int | float) and not isinstance(stored, bool) and OPERATORS[how](stored, value)


@pytest.fixture(scope="module")
def model():
    """A model of twelve bits."""
    views = {m: np.random.default_rng(seed).normal(size=(60, 13)) for seed, m in enumerate("xy")}
    return dh.DiffHash(n_bits=12).fit(views, dh.Pairs.aligned(60))


@given(
    problem=problems(n_bits=12), where=FILTERS, k=st.integers(1, 80), indexed=st.booleans(), more=st.data()
)
def test_a_collection_with_a_filter_finds_what_brute_force_finds(
    model, tmp_path_factory, problem, where, k, indexed, more
):
    bits, queries, ids = problem
    payloads = more.draw(st.lists(PAYLOADS, min_size=len(bits), max_size=len(bits)))
    path = tmp_path_factory.mktemp("filters") / "objects.dh"
    with dh.Collection.create(path, model) as collection:
        collection.add_codes(pack(bits), modality="x", ids=ids.tolist(), payloads=payloads)
        if indexed:
            collection.index_payload("n")
            collection.index_payload("group")

        found = collection.search_codes(pack(queries), into="x", k=k, where=where)

    allowed = [passes(payload, where) for payload in payloads]
    # Equal distances are ordered by the time of adding, which is the row.
    expected = ranked(pack(queries), pack(bits), None, allowed)
    assert [[(hit.distance, hit.id) for hit in hits] for hits in found] == [
        [(distance, int(ids[row])) for distance, row in rows[:k]] for rows in expected
    ]
    assert all(hit.payload == payloads[ids.tolist().index(hit.id)] for hits in found for hit in hits)


@given(problem=problems(n_bits=12), k=st.integers(1, 80), seed=st.integers(0, 2**32 - 1))
def test_a_collection_gives_the_same_with_a_mask_on_all_codes(model, tmp_path_factory, problem, k, seed):
    bits, queries, ids = problem
    mask = np.random.default_rng(seed).random(12) < 0.5
    folder = tmp_path_factory.mktemp("mask")
    results = []
    for name, change in (("plain", np.zeros(12, bool)), ("masked", mask)):
        with dh.Collection.create(folder / f"{name}.dh", model) as collection:
            for part in (slice(len(bits) // 2), slice(len(bits) // 2, None)):
                collection.add_codes(pack(bits[part] ^ change), modality="x", ids=ids[part].tolist())
            hits = collection.search_codes(pack(queries ^ change), into="x", k=k)
        results.append([[(hit.distance, hit.id) for hit in found] for found in hits])

    assert results[0] == results[1]
