"""The fit of RefinedHash to pairs without classes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.codes import pack
from diffhash.evaluation.pair_score import score_codes
from diffhash.hashers.refined.fit_options import FitOptions, ViewOptions
from diffhash.hashers.refined.pair_fit import fit_pairs
from diffhash.hashers.refined.pair_trial import score_similarities
from diffhash.pairs.couples import ResolvedCouples
from tests.strategies import Problem, problems


def shared_signal(n, d=(40, 20), seed=0, noise=0.3):
    """Two views of one latent vector."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 8))
    return [latent @ rng.normal(size=(8, k)) + noise * rng.normal(size=(n, k)) for k in d]


def fit(views, pairs, n_bits=16, **kwargs):
    couples = ResolvedCouples.of_pairs(pairs)
    who = ["x", "y"][: len(views)]
    return fit_pairs(views, couples, FitOptions(n_bits, **kwargs), progress=None, who=who)


def codes(found, views):
    sides = zip(found.maps, views, found.projections, found.thresholds, strict=True)
    return [pack(m.project(X, P, t) >= 0) for m, X, P, t in sides]


def usable(found, views, n_bits):
    for fitted, X, projection, threshold in zip(
        found.maps, views, found.projections, found.thresholds, strict=True
    ):
        assert projection.shape == (n_bits, fitted.n_features_out)
        assert projection.dtype == threshold.dtype == np.float64
        assert np.isfinite(projection).all()
        assert np.isfinite(fitted.project(X, projection, threshold)).all()


def test_new_objects_are_found_and_the_expected_score_is_honest():
    """The score on held-out objects is close to the score on objects that nothing has seen."""
    views = shared_signal(800)
    train, test = [X[:600] for X in views], [X[600:750] for X in views]
    found = fit(train, dh.Pairs.aligned(600).resolve(600, 600), 64)

    score = score_codes(*codes(found, test), dh.Pairs.aligned(150).resolve(150, 150))

    assert score > 0.8
    assert found.score == pytest.approx(score, abs=0.1)
    assert found.chance == pytest.approx(0.037, abs=0.01)
    assert found.tried
    assert any(tried.description.startswith("rotated") for tried in found.tried)


def test_fit_is_deterministic():
    """The same seed gives the same projections."""
    views, pairs = shared_signal(120), dh.Pairs.aligned(120).resolve(120, 120)

    first, second = fit(views, pairs), fit(views, pairs)

    for a, b in zip(
        first.projections + first.thresholds, second.projections + second.thresholds, strict=True
    ):
        assert np.array_equal(a, b)


@given(problems(), st.sampled_from([np.float32, np.float64]), st.booleans())
@settings(deadline=None, max_examples=25)
def test_small_problems_with_every_kind_of_pairs_give_finite_codes(problem: Problem, dtype, sparse):
    """Ties, repeated rows, one feature, one view, listed and implied pairs."""
    views = [problem.x] if problem.one_view else [problem.x, problem.y]
    views = [scipy.sparse.csr_array(X.astype(dtype)) if sparse else X.astype(dtype) for X in views]
    pairs = problem.pairs.resolve(len(problem.x), None if problem.one_view else len(problem.y))
    assume(problem.x.std(axis=0).any() and problem.y.std(axis=0).any())

    usable(fit(views, pairs, 5), views, 5)


@pytest.mark.parametrize("n", [10, 60])
@pytest.mark.parametrize(
    "kind", ["one feature", "duplicates", "wide", "sparse", "heavy tails", "constant feature"]
)
def test_unusual_features_give_finite_codes(n, kind):
    """Nothing crashes on data from which little can be learned."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(n, 4)).astype(np.float32), rng.normal(size=(n, 3)).astype(np.float32)]
    if kind == "one feature":
        views = [X[:, :1] for X in views]
    if kind == "duplicates":
        views[0][n // 4 :] = views[0][0]
    if kind == "wide":
        views = [rng.normal(size=(n, 500)).astype(np.float32) for _ in range(2)]
    if kind == "sparse":
        views[0] = scipy.sparse.random_array((n, 300), density=0.02, rng=rng, format="csr", dtype=np.float32)
    if kind == "heavy tails":
        views[0] = (np.sign(views[0]) * np.exp(20 * np.abs(views[0]))).astype(np.float32)
        views[0][0, 0] = 1e30
    if kind == "constant feature":
        views[0][:, 0] = 7.0

    usable(fit(views, dh.Pairs.aligned(n).resolve(n, n), 8), views, 8)


def test_a_constant_view_is_an_error_that_names_the_view():
    """Nothing can be learned from it."""
    views = [np.ones((30, 3)), shared_signal(30)[1]]

    with pytest.raises(dh.errors.InputError, match=r"^x: "):
        fit(views, dh.Pairs.aligned(30).resolve(30, 30))


def test_with_too_few_pairs_the_default_is_used_without_a_search():
    """Two objects cannot be split."""
    views = shared_signal(2)
    found = fit(views, dh.Pairs.aligned(2).resolve(2, 2), 4)

    assert found.score is None
    assert found.tried == []
    assert found.chosen.startswith("linear cosine, ridge 0.1")


def test_fixed_choices_are_respected():
    """A value that the user fixed is the only choice."""
    views, pairs = shared_signal(100), dh.Pairs.aligned(100).resolve(100, 100)
    fixed = ViewOptions(("kernel",), ("euclidean",), (4.0,), (0.2,))

    options = FitOptions(8, views=(fixed, ViewOptions()), max_iter=0)
    couples = ResolvedCouples.of_pairs(pairs)
    found = fit_pairs(views, couples, options, progress=None, who=["x", "y"])

    assert found.chosen.startswith("kernel euclidean, width 4, ridge 0.2")
    assert found.losses == []


def test_one_view_with_pairs():
    """Partners within one view find each other."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(100, 6))
    X = np.concatenate([latent, latent]) @ rng.normal(size=(6, 20)) + 0.2 * rng.normal(size=(200, 20))
    X[:, :5] += 5 * rng.normal(size=(200, 5))
    pairs = dh.Pairs(positive=(np.arange(100), np.arange(100, 200))).resolve(200, None)

    found = fit([X], pairs, 32)

    assert len(found.maps) == 1
    assert found.score > 5 * found.chance


def test_the_number_of_threads_does_not_change_the_result(monkeypatch):
    """Candidates are compared in several threads; none depends on the others."""
    views = shared_signal(120, noise=1.5)
    pairs = dh.Pairs.aligned(120).resolve(120, 120)
    found = []
    for n_threads in ("1", "3"):
        monkeypatch.setenv("DIFFHASH_NUM_THREADS", n_threads)
        found.append(fit(views, pairs, 16))

    one, three = found
    assert one.tried == three.tried
    assert one.chosen == three.chosen
    for a, b in zip(one.projections, three.projections, strict=True):
        np.testing.assert_array_equal(a, b)


def test_progress_goes_from_0_to_1():
    """Every message has a share that does not decrease."""
    views, shares = shared_signal(60), []
    options = FitOptions(8)
    fit_pairs(
        views,
        ResolvedCouples.of_pairs(dh.Pairs.aligned(60).resolve(60, 60)),
        options,
        progress=lambda done, _: shares.append(done),
        who=["x", "y"],
    )

    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


@given(problems())
@settings(deadline=None, max_examples=60)
def test_score_of_similarities_equals_a_loop(problem: Problem):
    """Reciprocal ranks, or the share of pairs in the right order; ties count as half."""
    k = min(problem.x.shape[1], problem.y.shape[1])
    x, y = problem.x[:, :k], problem.y[:, :k]
    pairs = problem.pairs.resolve(len(x), None if problem.one_view else len(y))
    if pairs.labelled and pairs.positive is not None:
        return  # positives that were drawn from labels: all similar pairs count
    if not problem.positive or (pairs.negative is not None and not problem.negative):
        return
    s = x @ y.T
    if pairs.positive is not None and pairs.negative is not None:
        won = [
            0.5 if np.isclose(s[p], s[q]) else float(s[p] > s[q])
            for p in problem.positive
            for q in problem.negative
        ]
        assert score_similarities(x, y, pairs) == pytest.approx(np.mean(won), abs=0.02)
        return
    ranks = []
    directions = ((s, problem.positive), (s.T, {(j, i) for i, j in problem.positive}))
    for table, positives in directions:
        of_direction = []
        for i, j in positives:
            others = [c for c in range(table.shape[1]) if c != j and not (problem.one_view and c == i)]
            above = sum(
                1.0 if table[i, c] > table[i, j] else 0.5 * (table[i, c] == table[i, j]) for c in others
            )
            of_direction.append(1 / (1 + above))
        ranks.append(np.mean(of_direction))
    assert score_similarities(x, y, pairs) == pytest.approx(np.mean(ranks), abs=1e-6)
