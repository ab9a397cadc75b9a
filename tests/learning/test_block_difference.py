"""The block matrix of all couples and its directions, against loops over pairs and plain eigenvectors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning import block_difference as module
from diffhash.learning.block_difference import (
    BlockMatrix,
    block_difference,
    block_directions,
    largest_rank,
)
from diffhash.learning.view_difference import DifferenceSettings
from diffhash.maps.learning_space import plain_view
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples

from ..reference import couples as reference
from ..strategies import many_views


def directions_up_to_sign(found, expected):
    """Whether rows are equal after the signs of whole directions are made equal."""
    signs = np.sign(np.sum(found[0] * expected[0], axis=1))[:, None]
    return all(np.allclose(one, signs * other, atol=1e-6) for one, other in zip(found, expected, strict=True))


@given(many_views(), st.sampled_from([0.5, 10.0]))
def test_blocks_are_those_of_loops_over_pairs(problem, gamma):
    n = len(problem.views)
    matrix = block_difference(
        [plain_view(X) for X in problem.views],
        problem.resolved,
        DifferenceSettings(gamma, center=(True,) * n),
    )

    expected = reference.block_matrix(problem.views, problem.couples, gamma)
    if len(problem.couples) == 1:  # one couple: the weight has no effect and is left out
        expected = expected / problem.couples[0][2]
    np.testing.assert_allclose(matrix.dense(), expected, atol=1e-9)
    vector = np.random.default_rng(0).normal(size=(len(expected), 2))
    np.testing.assert_allclose(matrix.times(vector), expected @ vector, atol=1e-9)


@given(many_views(n_modalities=3), st.sampled_from([1.0, 10.0]))
def test_directions_are_split_eigenvectors_of_the_most_negative_eigenvalues(problem, gamma):
    dense = reference.block_matrix(problem.views, problem.couples, gamma)
    values, expected, lengths = reference.split_directions(dense, [X.shape[1] for X in problem.views], 2)

    blocks = block_difference(
        [plain_view(X) for X in problem.views],
        problem.resolved,
        DifferenceSettings(gamma, center=(True,) * 3),
    )
    if len(blocks.blocks) == 1:
        return  # one couple is not an eigenproblem
    found = block_directions(blocks, 2, exact=True)

    np.testing.assert_allclose(found.strengths[:2], np.maximum(-values[:2], 0), atol=1e-9)
    for k in range(2):
        # Nearly equal eigenvalues have no definite directions, and tiny parts are rounding errors.
        gap = np.abs(np.delete(values, k) - values[k]).min()
        if gap > 1e-4 * np.abs(values).max() and lengths[:, k].min() > 1e-3:
            assert directions_up_to_sign(
                *([part[[k]] for part in parts] for parts in (found.parts, expected))
            )


@given(st.integers(0, 2**31))
def test_two_modalities_give_the_singular_vectors(seed):
    """With two modalities and nothing within them, the block solution is the paper's."""
    rng = np.random.default_rng(seed)
    block = rng.normal(size=(5, 4))
    sides = block_directions(BlockMatrix((5, 4), {(0, 1): block}), 3, exact=True)
    # A diagonal of zeros changes nothing but the way: now it is an eigenproblem.
    zeros = {(0, 1): block, (0, 0): np.zeros((5, 5))}
    joint = block_directions(BlockMatrix((5, 4), zeros), 3, exact=True)

    assert directions_up_to_sign(joint.parts, sides.parts)
    np.testing.assert_allclose(joint.strengths[:3], sides.strengths[:3], atol=1e-9)


def low_rank_blocks(rng, sizes, rank, noise=0.0):
    means = [rng.normal(size=(rank, d)) for d in sizes]
    return BlockMatrix(
        tuple(sizes),
        {
            (u, v): -means[u].T @ means[v] + noise * rng.normal(size=(sizes[u], sizes[v]))
            for u, v in combinations(range(len(sizes)), 2)
        },
    )


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_wide_views_give_the_directions_of_the_full_decomposition(rng, noise, monkeypatch):
    """Only the leading directions are computed there."""
    matrix = low_rank_blocks(rng, (150, 120, 130), 6, noise)
    expected = block_directions(matrix, 6, exact=True)
    monkeypatch.setattr(module, "_MIN_KRYLOV_SIZE", 100)
    full, original = [], module.smallest_eigenvectors
    monkeypatch.setattr(module, "smallest_eigenvectors", lambda m, k: full.append(len(m)) or original(m, k))

    found = block_directions(matrix, 6, exact=False)

    assert max(full) < 400, "the whole matrix is not decomposed"
    assert directions_up_to_sign(found.parts, expected.parts)
    np.testing.assert_allclose(found.strengths, expected.strengths, rtol=1e-6)


def test_directions_that_must_be_exact_and_are_hard_to_find_come_from_the_full_decomposition(
    rng, monkeypatch
):
    monkeypatch.setattr(module, "_MIN_KRYLOV_SIZE", 100)
    matrix = low_rank_blocks(rng, (60, 70, 50), 2, noise=1.0)
    dense = matrix.dense()

    found = block_directions(matrix, 10, exact=True)

    whole = np.linalg.eigvalsh(dense)[:10]
    np.testing.assert_allclose(found.strengths, -whole, rtol=1e-10)


def test_many_directions_of_a_matrix_that_is_little_larger_are_right(rng, monkeypatch):
    """Products with that many columns would span more than the whole space."""
    monkeypatch.setattr(module, "_MIN_KRYLOV_SIZE", 100)
    matrix = low_rank_blocks(rng, (80, 70, 60), 60, noise=0.1)

    found = block_directions(matrix, 30, exact=False)

    expected = np.linalg.eigvalsh(matrix.dense())[:30]
    np.testing.assert_allclose(found.strengths, -expected, rtol=1e-6)


def test_a_modality_that_says_nothing_in_a_direction_gets_zeros(rng):
    """Its part is a rounding error, which would become a random direction of unit length."""
    one, other = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    blocks = {(0, 1): -np.outer(one, rng.normal(size=3)), (0, 2): -0.1 * np.outer(other, [1.0, 1.0])}

    found = block_directions(BlockMatrix((4, 3, 2), blocks), 2, exact=True)

    assert not found.parts[2][0].any()
    assert not found.parts[1][1].any()
    np.testing.assert_allclose(np.linalg.norm(found.parts[0], axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(found.parts[2][1]), 1.0)


def test_small_units_of_a_modality_do_not_make_its_part_tiny(rng):
    """A part is compared with the size of the blocks of its modality."""
    views = [rng.normal(size=(50, 3)) for _ in range(3)]
    views[1] += views[0]
    views[2] += views[0]
    views[2] *= 1e-7
    pairs = dh.Pairs.aligned(50).resolve(50, 50)
    couples = [ResolvedCouple(u, v, 1.0, pairs) for u, v in combinations(range(3), 2)]
    resolved = ResolvedCouples((50,) * 3, tuple(couples))
    matrix = block_difference(
        [plain_view(X) for X in views], resolved, DifferenceSettings(10.0, center=(True,) * 3)
    )

    found = block_directions(matrix, 2, exact=True)

    for part in found.parts:
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1.0)


@given(st.integers(0, 2**31), st.integers(1, 5))
def test_there_are_never_more_negative_eigenvalues_than_the_limit(seed, n):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n).tolist()
    every = [(u, v) for u in range(n) for v in range(u, n)]
    couples = [pair for pair in every if rng.random() < 0.6] or [every[0]]
    blocks = {}
    for u, v in couples:
        block = rng.normal(size=(sizes[u], sizes[v]))
        blocks[u, v] = -block @ block.T if u == v else block
    values = np.linalg.eigvalsh(BlockMatrix(tuple(sizes), blocks).dense())

    assert (values < -1e-9).sum() <= largest_rank(sizes, couples)


def test_the_limit_of_a_long_chain_is_found_quickly():
    """A search without memory would visit billions of sets of 80 modalities."""
    assert largest_rank([3] * 80, [(u, u + 1) for u in range(79)]) == 120
