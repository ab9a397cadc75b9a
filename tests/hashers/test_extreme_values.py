"""Features of extreme size, and parameters out of range: codes, or one clear error."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import DiffhashError, InputError, ParameterError

N = 90
LABELS = np.arange(N) % 3
HASHERS = {
    "diff": lambda: dh.DiffHash(n_bits=2),
    "diff unscaled": lambda: dh.DiffHash(n_bits=2, standardize=False),
    "diff rotated": lambda: dh.DiffHash(n_bits=2, rotate=True),
    "kernel": lambda: dh.KernelDiffHash(n_bits=2, n_landmarks=20),
    "kernel euclidean": lambda: dh.KernelDiffHash(n_bits=2, n_landmarks=20, metric="euclidean"),
    "kernel mahalanobis": lambda: dh.KernelDiffHash(n_bits=2, n_landmarks=20, metric="mahalanobis"),
    "boosted": lambda: dh.BoostedHash(n_bits=2),
    "refined": lambda: dh.RefinedHash(n_bits=2),
}


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(3, 14))
    both = centres[LABELS] + rng.normal(size=(N, 14))
    return {"x": both[:, :8], "y": both[:, 8:]}


def precision(hasher, views):
    codes = {m: hasher.encode(X, modality=m) for m, X in views.items()}
    return dh.evaluate(codes["x"], codes["y"], LABELS, LABELS).mean_average_precision


@pytest.mark.parametrize("make", HASHERS.values(), ids=HASHERS.keys())
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_float32_features_of_any_scale_are_learned_from(make, scale, views):
    """The default scale of the features must not matter: the precision is that of the plain features."""
    scaled = {m: (scale * X).astype(np.float32) for m, X in views.items()}
    plain = {m: X.astype(np.float32) for m, X in views.items()}
    pairs = dh.Pairs.from_labels(LABELS, LABELS)

    hasher, usual = (make().fit(data, pairs) for data in (scaled, plain))

    assert all(np.isfinite(P).all() for P in hasher.projections_.values())
    assert precision(hasher, scaled) > precision(usual, plain) - 0.1


@pytest.mark.parametrize("make", HASHERS.values(), ids=HASHERS.keys())
@pytest.mark.filterwarnings("ignore::diffhash.errors.RankWarning")
@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e30])
def test_one_feature_of_another_scale_does_not_disturb_the_fit(make, scale, views):
    mixed = {m: X.astype(np.float32) for m, X in views.items()}
    mixed["x"][:, 0] *= np.float32(scale)
    try:
        hasher = make().fit(mixed, dh.Pairs.from_labels(LABELS, LABELS))
    except InputError as error:
        assert "Divide" in str(error)  # noqa: PT017 - only some hashers need it
    else:
        assert all(np.isfinite(P).all() for P in hasher.projections_.values())
        assert precision(hasher, mixed) > 0.3


@pytest.mark.parametrize("make", HASHERS.values(), ids=HASHERS.keys())
@pytest.mark.parametrize("sparse", [False, True])
def test_features_beyond_float64_are_named(make, sparse, views):
    large = {m: X.copy() for m, X in views.items()}
    large["y"][7, 2] = 1e300
    given = {m: scipy.sparse.csr_array(X) for m, X in large.items()} if sparse else large

    with pytest.raises(InputError, match=r"modality 'y' has 1e\+300 in row 7, feature 2.*Divide"):
        make().fit(given, dh.Pairs.aligned(N))


def test_features_whose_squares_vanish_are_named(views):
    with pytest.raises(InputError, match=r"modality 'x' has no value larger than .*e-30.*Multiply"):
        dh.DiffHash(n_bits=2).fit({m: 1e-300 * X for m, X in views.items()}, dh.Pairs.aligned(N))


def test_a_row_that_is_too_large_is_not_encoded(views):
    hasher = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(N))

    with pytest.raises(InputError, match="row 0, feature 0"):
        hasher.encode(np.full((1, 8), 1e300), modality="x")
    assert hasher.encode(np.full((1, 8), 1e-300), modality="x").shape == (1, 1)


@pytest.mark.parametrize("make", HASHERS.values(), ids=HASHERS.keys())
@pytest.mark.parametrize("n_bits", [4097, 2**40, 10**400, 0, -1, True, 4.0])
def test_the_number_of_bits_is_bounded(make, n_bits, views):
    with pytest.raises(ParameterError, match="n_bits"):
        make().set_params(n_bits=n_bits).fit(views, dh.Pairs.aligned(N))


def test_a_damaged_sparse_array_is_refused_by_fit_and_encode(views):
    X = scipy.sparse.csr_array(views["x"])
    hasher = dh.DiffHash(n_bits=2).fit({"x": X, "y": views["y"]}, dh.Pairs.aligned(N))
    X.indices[3] = 10**6

    for use in (
        lambda: hasher.fit({"x": X, "y": views["y"]}, dh.Pairs.aligned(N)),
        lambda: hasher.encode(X, modality="x"),
    ):
        with pytest.raises(DiffhashError, match="damaged sparse array"):
            use()
