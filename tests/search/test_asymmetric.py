"""Asymmetric ranking beside a search that scores every item bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import CodeError, InputError, NonFiniteError, ParameterError
from diffhash.search.asymmetric import asymmetric_scale, asymmetric_scores

from ..reference import sequential as reference


@st.composite
def searches(draw):
    """Few different codes (many ties), odd widths, unordered ids, values whose sums are exact."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_bits = draw(st.integers(1, 20))
    n = draw(st.integers(1, 25))
    kinds = rng.random((draw(st.integers(1, n)), n_bits)) < 0.5
    codes = dh.codes.pack(kinds[rng.integers(0, len(kinds), size=n)])
    ids = draw(st.sampled_from([None, "increasing", "unordered"]))
    if ids is not None:
        numbers = rng.choice(100, size=n, replace=False) - 50
        ids = np.sort(numbers) if ids == "increasing" else numbers
    values = rng.integers(-8, 9, size=(draw(st.integers(0, 4)), n_bits)) / 4
    return n_bits, codes, ids, values, draw(st.integers(1, n + 3)), draw(st.integers(0, n + 3))


@given(searches())
def test_search_equals_scoring_every_candidate(search):
    n_bits, codes, ids, values, k, more = search
    index = dh.HammingIndex(codes, ids, n_bits=n_bits)
    names = np.arange(len(codes)) if ids is None else ids

    result = dh.asymmetric_search(index, values, k, n_candidates=k + more)

    assert result.ids.shape == result.scores.shape == (len(values), min(k, len(codes)))
    for query, found, scores in zip(values, result.ids, result.scores, strict=True):
        signs = dh.codes.pack((query >= 0)[None])[0]
        rows = reference.nearest(codes, names, signs, n_bits, k + more)
        expected = reference.rank(codes[rows], names[rows], query, k)
        assert list(zip(scores, found, strict=True)) == expected


@given(searches())
def test_scores_of_everything_equal_the_loop(search):
    _, codes, _, values, _, _ = search
    scale = np.resize([0.5, 2.0, 1.0], values.shape[1])

    scores = asymmetric_scores(codes, values, scale=scale)

    for query, row in zip(values, scores, strict=True):
        by_id = sorted(
            (item, score) for score, item in reference.rank(codes, range(len(codes)), query / scale, 99)
        )
        assert row.tolist() == [score for _, score in by_id]


def test_ranking_everything_is_the_order_of_all_scores(rng):
    codes = rng.integers(0, 256, size=(300, 5), dtype=np.uint8)
    values = rng.normal(size=(20, 40)).astype(np.float32)

    result = dh.asymmetric_search(codes, values, 300, n_candidates=300)

    scores = asymmetric_scores(codes, values)
    np.testing.assert_array_equal(result.ids, np.argsort(scores, axis=1, kind="stable"))
    np.testing.assert_allclose(scores, -values @ np.where(dh.codes.unpack(codes, 40), 1, -1).T, atol=1e-5)


def test_equal_codes_are_tied_whatever_the_values(rng):
    """A matrix product may round one code in two ways; the order by id would then be broken."""
    codes = np.repeat(rng.integers(0, 256, size=(7, 9), dtype=np.uint8), 40, axis=0)
    values = rng.normal(size=(30, 72)) * 10.0 ** rng.integers(-8, 8, size=72)

    scores = asymmetric_scores(codes, values).reshape(30, 7, 40)

    assert np.all(scores == scores[:, :, :1])


def test_scores_are_weighted_hamming_distances(rng):
    codes = rng.integers(0, 256, size=(50, 2), dtype=np.uint8)
    signs = np.where(rng.random((4, 16)) < 0.5, 1.0, -1.0)

    result = dh.asymmetric_search(codes, signs, 50)

    near = dh.HammingIndex(codes).search(dh.codes.pack(signs > 0), 50)
    np.testing.assert_array_equal(result.ids, near.ids)
    np.testing.assert_array_equal(result.scores, 2.0 * near.distances - 16)


def test_codes_of_whole_bytes_take_values_of_fewer_bits(small_data, small_pairs):
    """HammingIndex(codes) without n_bits is the usual call, also for codes of 12 bits."""
    hasher = dh.BoostedHash(n_bits=12).fit(small_data.train.views, small_pairs)
    codes = hasher.encode(small_data.test.views["y"], modality="y")
    values = hasher.project(small_data.test.views["x"], modality="x")

    with_bits = dh.asymmetric_search(dh.HammingIndex(codes, n_bits=12), values, 5)
    without = dh.asymmetric_search(dh.HammingIndex(codes), values, 5)

    np.testing.assert_array_equal(with_bits.ids, without.ids)


def test_scale_takes_out_the_size_of_values_and_the_bits_that_tell_nothing(rng):
    values = rng.normal(size=(500, 3)) * [1.0, 100.0, 1.0]

    scale = asymmetric_scale(values, [[0.9, 0.9, 0.5], [0.5, 0.5, 0.5]])

    np.testing.assert_allclose(scale[1] / scale[0], 100, rtol=0.2)
    assert scale[2] > 1e5 * scale[0]
    with pytest.raises(InputError, match="shape"):
        asymmetric_scale(values, [0.9, 0.9, 0.5])


def test_empty_index_and_no_queries():
    codes = np.zeros((3, 1), dtype=np.uint8)

    assert dh.asymmetric_search(codes[:0], np.ones((2, 8)), 4).ids.shape == (2, 0)
    assert dh.asymmetric_search(codes, np.ones((0, 8)), 2).ids.shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"query_values": np.ones((1, 17))}, InputError, "16 bits"),
        ({"query_values": np.ones(16)}, InputError, "shape"),
        ({"query_values": np.full((1, 16), np.nan)}, NonFiniteError, "NaN"),
        ({"scale": np.ones(3)}, InputError, "scale must have shape"),
        ({"scale": np.zeros(16)}, InputError, "bit 0"),
        ({"k": 0}, ParameterError, "k must be"),
        ({"n_candidates": 2}, ParameterError, "n_candidates"),
        ({"index": np.zeros((3, 2))}, CodeError, "packed codes"),
    ],
)
def test_bad_input_is_refused(change, error, words):
    given = {"index": np.zeros((5, 2), dtype=np.uint8), "query_values": np.ones((1, 16)), "k": 3}

    with pytest.raises(error, match=words):
        dh.asymmetric_search(**given | change)
