"""The contract of all hashers: every test runs for every hasher."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import diffhash as dh
from diffhash.errors import (
    DiffhashError,
    FeatureCountError,
    InputError,
    NonFiniteError,
    NotFittedError,
    PairsError,
    ParameterError,
    UnknownModalityError,
)

# Fixed values instead of "auto", which fits many times; test_refined.py tests "auto".
FIXED = {"ridge": 0.01, "penalty": 0.003, "negative_target": -1.0, "validation_share": 0.1, "max_iter": 60}
HASHERS = {
    "diff": dh.DiffHash(n_bits=4, standardize=True),
    "diff-whitened": dh.DiffHash(n_bits=4, whiten=True, thresholds="median"),
    "kernel": dh.KernelDiffHash(n_bits=4, n_landmarks=60),
    "kernel-centred": dh.KernelDiffHash(
        n_bits=4, n_landmarks={"x": 50, "y": 40}, center={"x": True, "y": False}
    ),
    "diff-rotated": dh.DiffHash(n_bits=4, whiten=True, rotate=True),
    "kernel-rotated": dh.KernelDiffHash(n_bits=4, n_landmarks=60, whiten=True, rotate=True),
    "boosted": dh.BoostedHash(n_bits=4, standardize=True),
    "boosted-5": dh.BoostedHash(n_bits=4, n_directions=5, standardize=False),
    "refined": dh.RefinedHash(
        n_bits=4, n_landmarks=60, **FIXED, features="kernel", metric="diagonal", width=1.5
    ),
    "refined-linear": dh.RefinedHash(n_bits=4, **FIXED, features="linear"),
}
# Refined codes are not nested, and rounding may lead the optimisation to another minimum of the same quality.
ITERATIVE = dh.RefinedHash


@pytest.fixture(params=HASHERS, ids=str)
def hasher(request):
    return clone(HASHERS[request.param])


@pytest.fixture
def fitted(hasher, small_data, small_pairs):
    return hasher.fit(small_data.train.views, small_pairs)


def bits_of(hasher, X, modality):
    return dh.codes.unpack(hasher.encode(X, modality=modality), hasher.n_bits)


def test_fit_returns_self_and_sets_the_learned_attributes(fitted, small_data):
    assert fitted.modalities_ == ("x", "y")
    assert fitted.n_features_in_ == {"x": 128, "y": 64}
    for modality in ("x", "y"):
        assert fitted.projections_[modality].shape == (4, fitted.maps_[modality].n_features_out)
        assert fitted.thresholds_[modality].shape == (4,)
    check_is_fitted(fitted)


@pytest.mark.parametrize("modality", ["x", "y"])
def test_encode_is_the_sign_of_project(fitted, small_data, modality):
    X = small_data.test.views[modality]
    codes, values = fitted.encode(X, modality=modality), fitted.project(X, modality=modality)
    assert codes.dtype == np.uint8
    assert codes.shape == (len(X), 1)
    assert values.shape == (len(X), 4)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(dh.codes.unpack(codes, 4), values >= 0)
    assert not (codes >> 4).any(), "padding bits are zero"


def test_unseen_objects_of_either_modality_find_each_other(fitted, small_data):
    views, labels = small_data.test.views, small_data.test.labels
    codes = {m: fitted.encode(views[m], modality=m) for m in ("x", "y")}
    for query, database in (("x", "y"), ("y", "x")):
        result = dh.evaluate(codes[query], codes[database], labels[query], labels[database])
        assert result.mean_average_precision > 0.5, "chance is 0.2"


def test_fitting_twice_gives_the_same_model(hasher, small_data, small_pairs):
    first = clone(hasher).fit(small_data.train.views, small_pairs)
    again = clone(hasher).fit(small_data.train.views, small_pairs)
    for modality in ("x", "y"):
        np.testing.assert_array_equal(first.projections_[modality], again.projections_[modality])
        np.testing.assert_array_equal(first.thresholds_[modality], again.thresholds_[modality])


def test_shorter_codes_are_prefixes_of_longer_ones(hasher, small_data, small_pairs):
    if isinstance(hasher, ITERATIVE) or getattr(hasher, "rotate", False):
        return  # a rotated code of few bits uses only the strongest directions
    long = clone(hasher).fit(small_data.train.views, small_pairs)
    short = clone(hasher).set_params(n_bits=2).fit(small_data.train.views, small_pairs)
    for modality in ("x", "y"):
        X = small_data.test.views[modality]
        np.testing.assert_array_equal(bits_of(short, X, modality), bits_of(long, X, modality)[:, :2])


@pytest.mark.parametrize("kind", ["labels", "aligned", "rest"])
def test_every_kind_of_pairs_is_accepted(hasher, small_data, kind):
    labels = small_data.train.labels
    i = np.arange(400)
    pairs = {
        "labels": dh.Pairs.from_labels(labels["x"], labels["y"]),
        "aligned": dh.Pairs.aligned(400),
        "rest": dh.Pairs(positive=(i, i)),
    }[kind]
    hasher.fit(small_data.train.views, pairs)
    assert hasher.encode(small_data.test.views["x"], modality="x").shape == (200, 1)


def test_aligned_rows_give_the_same_model_as_listed_pairs(hasher, small_data):
    """Aligned rows have their own fast code, which must give the same result."""
    i = np.arange(400)
    one = clone(hasher).fit(small_data.train.views, dh.Pairs.aligned(400))
    other = clone(hasher).fit(small_data.train.views, dh.Pairs(positive=(i, i)))
    for modality in ("x", "y"):
        if isinstance(hasher, ITERATIVE):
            X = small_data.train.views[modality]
            assert (bits_of(one, X, modality) == bits_of(other, X, modality)).mean() > 0.8
        else:
            np.testing.assert_allclose(one.projections_[modality], other.projections_[modality], atol=1e-3)


def test_one_view_learns_one_hash_function(hasher, small_data):
    if any(isinstance(value, dict) for value in hasher.get_params().values()):
        hasher.set_params(n_landmarks=50, center=False)
    labels = small_data.train.labels["x"]
    hasher.fit({"x": small_data.train.views["x"]}, dh.Pairs.from_labels(labels))
    codes = hasher.encode(small_data.test.views["x"])
    truth = small_data.test.labels["x"]
    assert hasher.modalities_ == ("x",)
    assert dh.evaluate(codes, codes, truth, truth).mean_average_precision > 0.5


def test_a_named_couple_sets_the_order_of_views_and_ignores_other_views(hasher, small_data, small_pairs):
    views = {"z": np.ones((7, 2)), "y": small_data.train.views["y"], "x": small_data.train.views["x"]}
    with pytest.raises(UnknownModalityError, match="say between which two"):
        hasher.fit(views, small_pairs)
    named = clone(hasher).fit(views, {("x", "y"): small_pairs})
    plain = clone(hasher).fit(small_data.train.views, small_pairs)
    assert named.modalities_ == ("x", "y")
    np.testing.assert_array_equal(named.projections_["y"], plain.projections_["y"])


@pytest.mark.parametrize("form", ["float64", "fortran", "list", "strided", "sparse", "int"])
def test_all_forms_of_arrays_are_accepted_and_not_changed(hasher, small_data, small_pairs, form):
    def convert(X):
        X = np.round(X)
        return {
            "float64": lambda: X.astype(np.float64),
            "fortran": lambda: np.asfortranarray(X),
            "list": lambda: X.tolist(),
            "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
            "sparse": lambda: scipy.sparse.coo_matrix(X),
            "int": lambda: X.astype(np.int16),
        }[form]()

    views = {m: convert(X) for m, X in small_data.train.views.items()}
    rounded = {m: np.round(X) for m, X in small_data.train.views.items()}
    reference = clone(hasher).fit(rounded, small_pairs)
    found = clone(hasher).fit(views, small_pairs)
    for modality in ("x", "y"):
        one = reference.encode(rounded[modality], modality=modality)
        other = found.encode(views[modality], modality=modality)
        if isinstance(hasher, ITERATIVE):
            truth = small_data.train.labels[modality]
            assert dh.evaluate(other, other, truth, truth).mean_average_precision > 0.5, "chance is 0.2"
        else:
            assert (one != other).mean() < 0.02, "only rounding at a threshold may differ"
    if isinstance(views["x"], np.ndarray):
        np.testing.assert_array_equal(views["x"], convert(small_data.train.views["x"]))


def test_zero_rows_give_zero_codes(fitted):
    assert fitted.encode(np.empty((0, 128)), modality="x").shape == (0, 1)


def test_hashers_are_scikit_learn_estimators(hasher):
    parameters = hasher.get_params()
    assert clone(hasher).get_params() == parameters
    assert hasher.set_params(n_bits=7).n_bits == 7
    assert type(hasher).__name__ in repr(hasher)
    assert type(hasher).__name__ in hasher._repr_html_()
    for name in parameters:
        assert name in type(hasher).__doc__, "every parameter is described"


def test_save_and_load_give_the_same_codes_bit_for_bit(fitted, small_data, tmp_path):
    path = tmp_path / "model.dhm"
    fitted.save(path)
    loaded = dh.load(path)
    assert repr(loaded) == repr(fitted)
    assert loaded.get_params() == fitted.get_params()
    for modality in ("x", "y"):
        X = small_data.test.views[modality]
        np.testing.assert_array_equal(
            loaded.project(X, modality=modality), fitted.project(X, modality=modality)
        )
        np.testing.assert_array_equal(loaded.projections_[modality], fitted.projections_[modality])
    for name in fitted.extra_attributes:
        np.testing.assert_array_equal(getattr(loaded, f"{name}_"), getattr(fitted, f"{name}_"))


def test_using_an_unfitted_hasher_is_an_error(hasher, tmp_path):
    for use in (
        lambda: hasher.encode(np.ones((2, 3)), modality="x"),
        lambda: hasher.project(np.ones((2, 3)), modality="x"),
        lambda: hasher.save(tmp_path / "model.dhm"),
    ):
        with pytest.raises(NotFittedError, match="Call fit first"):
            use()
    assert not list(tmp_path.iterdir())


def test_encode_refuses_wrong_features_and_unknown_modalities(fitted):
    with pytest.raises(
        FeatureCountError, match=r"modality 'x' has 128 features, got an array of shape \(2, 5\)"
    ):
        fitted.encode(np.ones((2, 5)), modality="x")
    with pytest.raises(UnknownModalityError, match=r"unknown modality 'sound'\. Known: 'x', 'y'"):
        fitted.encode(np.ones((2, 128)), modality="sound")
    with pytest.raises(UnknownModalityError, match="None"):
        fitted.encode(np.ones((2, 128)))
    X = np.ones((2, 128))
    X[1, 3] = np.nan
    with pytest.raises(NonFiniteError, match="row 1, feature 3"):
        fitted.encode(X, modality="x")


def bad(small_data, **views):
    return {**small_data.train.views, **views}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda x: np.where(np.arange(128) == 5, np.nan, x),
            NonFiniteError,
            "modality 'x' has NaN in row 0, feature 5",
        ),
        (lambda x: np.where(x > 1e9, x, np.inf), NonFiniteError, "inf in row 0"),
        (lambda x: x + 1j, InputError, "complex"),
        (lambda x: x.astype(object), InputError, "object"),
        (lambda x: x[:0], InputError, "is empty"),
        (lambda x: x[0], InputError, "two dimensions"),
        (lambda x: x[:, :0], InputError, "is empty"),
        (lambda x: [[1.0, 2.0], [1.0]], InputError, "rows differ in length"),
        (lambda x: np.ones_like(x), DiffhashError, "every feature is constant|only 1 different objects"),
        (lambda x: x[:50], PairsError, "row"),
    ],
)
def test_bad_arrays_raise_an_error_and_do_not_change_the_hasher(
    fitted, small_data, small_pairs, make, error, message
):
    before = {name: fitted.projections_[name].copy() for name in ("x", "y")}
    with pytest.raises(error, match=message) as caught:
        fitted.fit(bad(small_data, x=make(small_data.train.views["x"])), small_pairs)
    assert isinstance(caught.value, DiffhashError)
    assert str(caught.value).startswith(type(fitted).__name__)
    for name, projection in before.items():
        np.testing.assert_array_equal(fitted.projections_[name], projection)


def test_nan_in_sparse_rows_is_found(hasher, small_data, small_pairs):
    X = scipy.sparse.lil_array(small_data.train.views["x"])
    X[7, 3] = np.nan
    with pytest.raises(NonFiniteError, match="row 7, feature 3"):
        hasher.fit(bad(small_data, x=X), small_pairs)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (
            lambda n: dh.Pairs.from_labels(np.zeros(n), np.zeros(n)),
            "no negative pair: all objects are similar",
        ),
        (lambda n: dh.Pairs.from_labels(np.zeros(n), np.ones(n)), "no positive pair"),
        (lambda n: dh.Pairs(positive=([], [])), "no positive pair"),
        (lambda n: dh.Pairs(positive=([0], [0]), negative=([], [])), "no negative pair"),
        (lambda n: "pairs", "got str"),
        (lambda n: {("x", "y"): dh.Pairs.aligned(n), ("y", "x"): dh.Pairs.aligned(n)}, "given twice"),
        (lambda n: {}, "at least one couple"),
        (lambda n: {("x", "sound"): dh.Pairs.aligned(n)}, "unknown modality 'sound'"),
        (lambda n: {("x", "y", "z"): dh.Pairs.aligned(n)}, "names two modalities"),
    ],
)
def test_fit_refuses_bad_pairs(hasher, small_data, pairs, message):
    with pytest.raises(InputError, match=message):
        hasher.fit(small_data.train.views, pairs(400))
    assert not hasattr(hasher, "projections_")


@pytest.mark.parametrize("views", [None, {}, [np.ones((3, 2))], {1: np.ones((3, 2))}])
def test_views_must_be_a_dict_with_names(hasher, views):
    with pytest.raises(UnknownModalityError):
        hasher.fit(views, dh.Pairs.aligned(3))


@pytest.mark.parametrize("n_bits", [0, -1, 2.5, True, None, "8"])
def test_n_bits_must_be_a_positive_whole_number(hasher, small_data, small_pairs, n_bits):
    with pytest.raises(ParameterError, match="n_bits must be a whole number >= 1"):
        hasher.set_params(n_bits=n_bits).fit(small_data.train.views, small_pairs)


def test_parameters_may_be_numpy_numbers(hasher, small_data, small_pairs):
    hasher.set_params(n_bits=np.int64(3)).fit(small_data.train.views, small_pairs)
    assert hasher.encode(small_data.test.views["x"], modality="x").shape == (200, 1)
