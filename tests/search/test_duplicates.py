"""duplicates: pairs, counts and clusters, against loops over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError, ParameterError
from diffhash.native.pair_join import CodeJoin
from diffhash.search.near_duplicates import find_duplicates
from tests.reference import joins


@st.composite
def codes_with_ids(draw):
    """Two code sets with keys of objects; some objects are in both, many codes are equal."""
    width = draw(st.sampled_from([1, 3, 8, 9]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    centres = rng.integers(0, 256, (draw(st.integers(1, 8)), width), dtype=np.uint8)

    def make():
        n = draw(st.integers(0, 20))
        codes = centres[rng.integers(0, len(centres), n)] ^ np.packbits(
            rng.random((n, 8 * width)) < draw(st.sampled_from([0, 0.05])), axis=1
        )
        return codes, rng.choice(30, n, replace=False) * 3 - 10

    return make(), make()


@given(sets=codes_with_ids(), radius=st.integers(0, 30), max_pairs=st.sampled_from([0, 1, 5, 10**6]))
@settings(max_examples=100, deadline=None)
def test_pairs_and_clusters_are_those_of_the_naive_answer(sets, radius, max_pairs):
    """The nearest pairs are listed, all are counted, and clusters are complete."""
    (codes, ids), _ = sets
    pairs = sorted(
        (d, *sorted((int(ids[i]), int(ids[j])))) for i, j, d in joins.pairs_within(codes, None, radius)
    )

    found = dh.duplicates(codes, radius, ids=ids, max_pairs=max_pairs)

    _check(found, pairs, radius, max_pairs)
    assert found.clusters == [] or max(map(len, found.clusters)) == len(found.clusters[0])


@given(sets=codes_with_ids(), radius=st.integers(0, 30), max_pairs=st.sampled_from([0, 1, 5, 10**6]))
@settings(max_examples=100, deadline=None)
def test_two_sets_have_pairs_of_different_objects(sets, radius, max_pairs):
    """An object with codes in both sets is not its own duplicate, and connects its two codes."""
    (codes, ids), (others, other_ids) = sets
    pairs = sorted(
        (d, int(ids[i]), int(other_ids[j]))
        for i, j, d in joins.pairs_within(codes, others, radius)
        if ids[i] != other_ids[j]
    )

    join = CodeJoin(codes, others if len(others) else others.reshape(0, codes.shape[1]), radius, caller="x")
    found = find_duplicates(join, (ids, other_ids), max_pairs=max_pairs, caller="x")

    _check(found, pairs, radius, max_pairs)


def _check(found, pairs, radius, max_pairs):
    listed = list(zip(found.distances.tolist(), found.first.tolist(), found.second.tolist(), strict=True))
    assert listed == pairs[:max_pairs]
    assert found.counts.tolist() == [
        sum(d == wanted for d, _, _ in pairs) for wanted in range(len(found.counts))
    ]
    assert len(found.counts) == found.radius + 1 <= radius + 1
    assert found.n_pairs == len(pairs)
    expected = {frozenset(s) for s in joins.clusters([(i, j) for _, i, j in pairs])}
    assert {frozenset(c.tolist()) for c in found.clusters} == expected
    assert len(found.clusters) == found.n_clusters == len(expected)


def test_an_index_finds_duplicates_among_its_own_ids():
    index = dh.HammingIndex(np.array([[0], [1], [255]], dtype=np.uint8), ids=[9, 4, 2])

    assert [c.tolist() for c in index.duplicates(radius=1).clusters] == [[4, 9]]


def test_no_codes_have_no_duplicates():
    found = dh.duplicates(np.empty((0, 4), dtype=np.uint8), 3)

    assert (found.n_pairs, found.clusters, len(found.counts)) == (0, [], 4)


def test_bad_arguments_are_refused():
    codes = np.zeros((2, 1), dtype=np.uint8)
    with pytest.raises(InputError, match="duplicates: ids must be unique"):
        dh.duplicates(codes, 1, ids=[3, 3])
    with pytest.raises(InputError, match="duplicates: 2 codes need 2 ids"):
        dh.duplicates(codes, 1, ids=[3])
    with pytest.raises(ParameterError, match="duplicates: radius"):
        dh.duplicates(codes, -1)
    with pytest.raises(ParameterError, match="duplicates: max_pairs"):
        dh.duplicates(codes, 1, max_pairs=-1)
