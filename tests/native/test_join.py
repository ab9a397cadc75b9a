"""join: every kernel and every way to split the work, against loops over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash import native
from diffhash.errors import CodeError, DiffhashError, ParameterError
from diffhash.native import join_masks, pair_join
from diffhash.native.equal_codes import EqualCodes
from diffhash.native.pair_join import CodeJoin, first_of_sets, unite
from tests.native.problems import WIDTHS
from tests.reference import joins


@st.composite
def code_sets(draw, max_rows=30):
    """Codes near a few centres, many of them equal, with an odd number of bits."""
    width = draw(st.sampled_from(WIDTHS))
    n_bits = 8 * width - draw(st.integers(0, 7)) if draw(st.booleans()) else 8 * width
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    centres = rng.integers(0, 256, (draw(st.integers(1, 20)), width), dtype=np.uint8)
    flips = draw(st.sampled_from([0.0, 1.5 / n_bits, 0.1]))

    def make(n):
        codes = centres[rng.integers(0, len(centres), n)]
        codes ^= np.packbits(rng.random((n, 8 * width)) < flips, axis=1)
        codes[:, -1] &= 0xFF >> (8 * width - n_bits)
        return codes

    left = make(draw(st.integers(0, max_rows)))
    right = make(draw(st.integers(0, max_rows))) if draw(st.booleans()) else None
    return left, right, n_bits


def listed(batches):
    return sorted((int(i), int(j), int(d)) for batch in batches for i, j, d in zip(*batch, strict=True))


def all_kinds_of_masks(left, right, n_bits, radius):
    """Every way to join that could be chosen."""
    codes = left if right is None else np.concatenate([left, right])
    yield np.zeros((1, left.shape[1]), dtype=np.uint8)
    if radius < n_bits and len(codes):
        yield from join_masks._candidates(codes, n_bits, radius, np.random.default_rng(0))


@given(problem=code_sets(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_join_is_the_naive_answer_however_it_is_done(kernel, problem, data):
    """Each pair once, with its distance, for any radius, whatever masks are chosen and however small the batches."""
    left, right, n_bits = problem
    radius = data.draw(st.integers(0, 6) | st.integers(0, n_bits + 2))
    expected = joins.pairs_within(left, right, radius)
    ways = list(all_kinds_of_masks(left, right, n_bits, radius))
    masks = ways[data.draw(st.integers(0, len(ways) - 1))]
    limit = data.draw(st.sampled_from([5, 1000]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_join, "choose_masks", lambda *_: masks)
        prepared = CodeJoin(left, right, radius, n_bits=n_bits, n_threads=2, kernel=kernel, caller="join")
        batches = list(prepared.pairs(limit))

    assert listed(batches) == expected
    assert all(len(batch.left) for batch in batches)


@pytest.mark.parametrize(
    ("width", "radius", "two_sets"),
    [(8, 0, False), (8, 3, False), (8, 9, True), (12, 3, True), (33, 9, False)],
)
def test_large_joins_do_not_depend_on_kernel_or_threads(monkeypatch, width, radius, two_sets):
    """Several buckets of codes for each mask, in several threads and batches; a full distance matrix is the judge."""
    rng = np.random.default_rng(3)
    centres = rng.integers(0, 256, (40, width), dtype=np.uint8)
    codes = centres[rng.integers(0, 40, 3000)] ^ np.packbits(rng.random((3000, 8 * width)) < 0.02, axis=1)
    right = codes[2000:] if two_sets else None
    left = codes[:2000] if two_sets else codes
    expected = _by_matrix(left, right, radius)
    masks = next(join_masks._candidates(left, 8 * width, radius, rng))
    monkeypatch.setattr(pair_join, "choose_masks", lambda *_: masks)

    for kernel in native.available_kernels()[:-1]:
        for threads in (1, 3):
            prepared = CodeJoin(left, right, radius, n_threads=threads, kernel=kernel, caller="join")
            found = np.concatenate([np.stack(batch, axis=1) for batch in prepared.pairs(5000)])
            found = found[np.lexsort(found.T[::-1])]
            np.testing.assert_array_equal(found, expected)


def _by_matrix(left, right, radius):
    parts = []
    for i, code in enumerate(left):
        others, begin = (left[i + 1 :], i + 1) if right is None else (right, 0)
        d = np.bitwise_count(others ^ code).sum(axis=1, dtype=np.int64)
        j = np.flatnonzero(d <= radius)
        parts.append(np.stack([np.full(len(j), i), j + begin, d[j]], axis=1))
    return np.concatenate(parts)


def test_many_equal_codes_are_compared_once(monkeypatch):
    """A thousand equal codes give half a million pairs in small batches, and not one comparison."""
    codes = np.full((1000, 5), 7, dtype=np.uint8)
    sizes = [len(batch.left) for batch in CodeJoin(codes, None, 2, caller="join").pairs(limit=10_000)]

    assert len(EqualCodes.of(codes).codes) == 1
    assert sum(sizes) == 1000 * 999 // 2
    assert max(sizes) == 10_000


def test_a_batch_stays_small_if_all_codes_are_pairs(kernel):
    """Codes that are all within the radius: no batch has more than the limit and one row for each thread."""
    codes = np.arange(512, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
    prepared = CodeJoin(codes, None, 16, n_threads=2, kernel=kernel, caller="join")

    sizes = [len(batch.left) for batch in prepared.group_pairs(limit=600)]

    assert sum(sizes) == 512 * 511 // 2
    assert max(sizes) <= 2 * (600 + 512)


def test_codes_with_the_same_hash_are_still_told_apart(monkeypatch):
    """A hash that is always equal gives the same pairs, only more slowly."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 2), dtype=np.uint8)
    expected = joins.pairs_within(codes, None, 1)

    for module in ("equal_codes", "pair_join", "join_masks"):
        monkeypatch.setattr(
            f"diffhash.native.{module}.hash_words", lambda words, *_: np.zeros(len(words), np.uint64)
        )
    monkeypatch.setattr(pair_join, "choose_masks", lambda *_: np.array([[255, 0], [0, 255]], dtype=np.uint8))

    assert listed(native.join(codes, radius=1)) == expected


@given(n=st.integers(1, 40), pairs=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=60))
@settings(max_examples=100, deadline=None)
def test_unite_gives_connected_components(kernel, n, pairs):
    edges = np.array([(i % n, j % n) for i, j in pairs], dtype=np.int64).reshape(-1, 2)
    parents = np.arange(n)
    for part in np.array_split(edges, 3):
        unite(parents, part[:, 0], part[:, 1], kernel=kernel)

    first = first_of_sets(parents)
    found = {frozenset(np.flatnonzero(first == f).tolist()) for f in set(first.tolist())}
    expected = {frozenset(s) for s in joins.clusters(edges.tolist()) if len(s) > 1}
    assert {s for s in found if len(s) > 1} == expected
    assert all(int(min(s)) == int(first[min(s)]) for s in found)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"radius": -1}, ParameterError),
        ({"radius": 1.5}, ParameterError),
        ({"left": np.zeros((2, 3))}, CodeError),
        ({"right": np.zeros((2, 3), np.uint8)}, CodeError),
        ({"left": np.full((2, 2), 255, np.uint8), "n_bits": 12}, CodeError),
        ({"right": np.full((2, 2), 255, np.uint8), "n_bits": 12}, CodeError),
        ({"n_bits": 30}, CodeError),
    ],
    ids=str,
)
def test_join_refuses_bad_arguments_at_once(change, error):
    """Before the first batch is asked for."""
    arguments = {"left": np.zeros((2, 2), np.uint8), "radius": 1} | change
    with pytest.raises(error, match="join") as caught:
        native.join(**arguments)
    assert isinstance(caught.value, DiffhashError)
