"""The contract of hashers with 1, 2, 3 and 5 modalities, with gaps and several rows of an object."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import diffhash as dh
from diffhash.errors import InputError, PairsError, ParameterError, TooManyBitsError

HASHERS = {
    "diff": dh.DiffHash(n_bits=6),
    "diff-whitened": dh.DiffHash(n_bits=6, whiten=True),
    "diff-rotated": dh.DiffHash(n_bits=16, whiten=True, rotate=True, shrinkage=0.1),
    "kernel": dh.KernelDiffHash(n_bits=6, n_landmarks=50),
    "kernel-rotated": dh.KernelDiffHash(n_bits=16, n_landmarks=50, whiten=True, rotate=True, shrinkage=0.1),
    "boosted": dh.BoostedHash(n_bits=8, n_directions=3, sample_size=(2000, 4000)),
    "boosted-whitened": dh.BoostedHash(n_bits=8, whiten=True, shrinkage=0.1, sample_size=(2000, 4000)),
    "refined": dh.RefinedHash(n_bits=16, features="linear", metric="diagonal", ridge=0.01, max_iter=8),
    "refined-kernel": dh.RefinedHash(
        n_bits=16, features="kernel", metric="euclidean", width=1.0, ridge=0.01, n_landmarks=60, max_iter=8
    ),
}
NAMES = ("image", "text", "speech", "touch", "label")
N_CLASSES = 8


@dataclass(frozen=True)
class Objects:
    """Views of objects, with the id and the class of each row."""

    views: dict[str, Any]
    ids: dict[str, Any]
    labels: dict[str, Any]


def make_objects(n_modalities: int, *, seed: int = 0, n: int = 240) -> Objects:
    """A third of the rows is missing in every view but the first, and the second has some objects twice.

    The last of five modalities are the class indicators.
    """
    rng = np.random.default_rng(seed)
    classes = np.random.default_rng(1)
    means = {m: classes.normal(size=(N_CLASSES, 9 + 2 * k)) * 1.6 for k, m in enumerate(NAMES[:n_modalities])}
    labels = rng.permutation(np.arange(n) % N_CLASSES)
    views, ids = {}, {}
    for k, m in enumerate(means):
        kept = np.arange(n) if k == 0 else rng.permutation(n)[: 2 * n // 3]
        ids[m] = np.concatenate([kept, kept[:20]]) if k == 1 else kept
        if m == "label":
            views[m] = np.eye(N_CLASSES)[labels[ids[m]]]
        else:
            views[m] = means[m][labels[ids[m]]] + rng.normal(size=(len(ids[m]), means[m].shape[1]))
    return Objects(views, ids, {m: labels[each] for m, each in ids.items()})


@pytest.fixture(params=HASHERS, ids=str)
def hasher(request):
    return clone(HASHERS[request.param])


@pytest.fixture(params=[1, 2, 3, 5])
def n_modalities(request):
    return request.param


@pytest.fixture
def train(n_modalities):
    return make_objects(n_modalities)


def fit(hasher, views, pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.RankWarning)
        return hasher.fit(views, pairs)


def directions(hasher, test):
    """Mean average precision from every modality into every modality."""
    found = dh.evaluation.evaluate_model(hasher, test.views, test.labels)
    return {key: each.mean_average_precision for key, each in found.items()}


def test_unseen_objects_find_each_other_in_all_directions(hasher, train, n_modalities):
    fit(hasher, train.views, dh.Pairs.from_labels(train.labels))

    found = directions(hasher, make_objects(n_modalities, seed=7))

    assert hasher.modalities_ == NAMES[:n_modalities]
    assert len(found) == n_modalities**2
    assert min(found.values()) > 0.3, "chance is 0.125"


def test_ids_with_gaps_and_repeated_rows_are_enough(hasher, train, n_modalities):
    """One view alone has no two rows of one object, so it gets labels."""
    pairs = dh.Pairs.from_ids(train.ids) if n_modalities > 1 else dh.Pairs.from_labels(train.labels)
    fit(hasher, train.views, pairs)

    found = directions(hasher, make_objects(n_modalities, seed=7))

    assert np.mean(list(found.values())) > 0.25, "chance is 0.125"


def test_codes_are_signs_and_come_back_from_a_file(hasher, train, tmp_path):
    fit(hasher, train.views, dh.Pairs.from_labels(train.labels)).save(tmp_path / "model.dhm")
    loaded = dh.load(tmp_path / "model.dhm")

    assert loaded.get_params() == hasher.get_params()
    assert loaded.modalities_ == hasher.modalities_
    for m, X in train.views.items():
        values = hasher.project(X, modality=m)
        codes = hasher.encode(X, modality=m)
        assert hasher.projections_[m].shape == (hasher.n_bits, hasher.maps_[m].n_features_out)
        np.testing.assert_array_equal(dh.codes.unpack(codes, hasher.n_bits), values >= 0)
        np.testing.assert_array_equal(loaded.encode(X, modality=m), codes)


def test_fitting_twice_gives_the_same_model_and_changes_no_input(hasher, train):
    before = {m: X.copy() for m, X in train.views.items()}
    pairs = dh.Pairs.from_labels(train.labels)

    first, again = (fit(clone(hasher), train.views, pairs) for _ in range(2))

    for m, X in train.views.items():
        np.testing.assert_array_equal(first.projections_[m], again.projections_[m])
        np.testing.assert_array_equal(first.thresholds_[m], again.thresholds_[m])
        np.testing.assert_array_equal(X, before[m])


def test_shorter_codes_of_plain_forms_are_prefixes_of_longer_ones(hasher, train):
    if getattr(hasher, "rotate", False) or isinstance(hasher, dh.RefinedHash):
        return  # a rotated code of few bits uses only the strongest directions
    pairs = dh.Pairs.from_labels(train.labels)
    long = fit(clone(hasher), train.views, pairs)
    short = fit(clone(hasher).set_params(n_bits=3), train.views, pairs)

    for m, X in train.views.items():
        bits = [dh.codes.unpack(h.encode(X, modality=m), h.n_bits) for h in (short, long)]
        np.testing.assert_array_equal(bits[0], bits[1][:, :3])


def test_sparse_views_give_the_codes_of_dense_ones(hasher, train):
    pairs = dh.Pairs.from_labels(train.labels)
    rounded = {m: np.round(X) for m, X in train.views.items()}
    if "standardize" in hasher.get_params():
        hasher.set_params(standardize=True)
    dense = fit(clone(hasher), rounded, pairs)
    sparse = fit(clone(hasher), {m: scipy.sparse.csr_array(X) for m, X in rounded.items()}, pairs)

    for m, X in rounded.items():
        assert (dense.encode(X, modality=m) != sparse.encode(X, modality=m)).mean() < 0.02


def test_all_forms_of_the_same_pairs_give_the_same_model(hasher):
    """Aligned rows, equal ids, and a dict of couples."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(150, 6))
    views = {m: shared @ rng.normal(size=(6, 8)) + 0.3 * rng.normal(size=(150, 8)) for m in NAMES[:3]}
    rows = np.arange(150)
    forms = [
        dh.Pairs.aligned(150),
        dh.Pairs.from_ids(dict.fromkeys(views, rows.astype(str))),
        dict.fromkeys(combinations(views, 2), dh.Pairs.aligned(150)),
        {couple: dh.Pairs(positive=(rows, rows)) for couple in combinations(views, 2)},
    ]

    first, *others = (fit(clone(hasher), views, form) for form in forms)

    for other in others:
        assert other.modalities_ == first.modalities_
        for m, X in views.items():
            assert (other.encode(X, modality=m) == first.encode(X, modality=m)).mean() > 0.98


def test_two_named_modalities_are_learned_as_without_names(hasher):
    objects = make_objects(2)
    labels = objects.labels

    plain = fit(clone(hasher), objects.views, dh.Pairs.from_labels(labels["image"], labels["text"]))
    named = fit(clone(hasher), objects.views, dh.Pairs.from_labels(labels))

    for m, X in objects.views.items():
        np.testing.assert_array_equal(plain.encode(X, modality=m), named.encode(X, modality=m))


def test_wide_views_are_learned_in_the_space_of_their_rows(hasher):
    """With more features than rows the result is that of the features, up to rounding."""
    rng = np.random.default_rng(3)
    labels = np.arange(60) % 6
    means = rng.normal(size=(6, 100)) * 2
    views = {m: means[labels] @ rng.normal(size=(100, 100)) + rng.normal(size=(60, 100)) for m in NAMES[:3]}
    hasher.set_params(n_bits=4)

    fit(hasher, views, dh.Pairs.from_labels(dict.fromkeys(views, labels)))

    for m, X in views.items():
        codes = hasher.encode(X, modality=m)
        assert dh.evaluate(codes, codes, labels, labels).mean_average_precision > 0.4, "chance is 0.15"


def test_similarity_within_a_modality_improves_retrieval_within_it(hasher):
    """Pairs across say nothing about a second kind of classes that only the pictures show."""
    rng = np.random.default_rng(5)
    n = 400
    shared, private = rng.integers(0, 3, size=n), rng.integers(0, 3, size=n)
    image = np.column_stack(
        [
            np.eye(3)[shared] * 3 + rng.normal(size=(n, 3)),
            np.eye(3)[private] * 3 + rng.normal(size=(n, 3)),
            rng.normal(size=(n, 6)),
        ]
    )
    text = np.eye(3)[shared] @ rng.normal(size=(3, 8)) * 3 + rng.normal(size=(n, 8))
    views = {"image": image, "text": text}
    across = {("image", "text"): dh.Pairs.from_labels(shared, shared)}
    within = {**across, ("image", "image"): dh.Pairs.from_labels(private)}
    hasher.set_params(n_bits=4)

    scores = []
    for pairs in (across, within):
        codes = fit(clone(hasher), views, pairs).encode(image, modality="image")
        scores.append(dh.evaluate(codes, codes, private, private).mean_average_precision)

    assert scores[1] > scores[0] + 0.03


def test_a_heavy_couple_determines_the_codes(hasher):
    """Two couples contradict each other; the one with the large weight wins."""
    rng = np.random.default_rng(6)
    n = 300
    one, other = rng.integers(0, 3, size=n), rng.integers(0, 3, size=n)
    image = np.column_stack(
        [np.eye(3)[one] * 3 + rng.normal(size=(n, 3)), np.eye(3)[other] * 3 + rng.normal(size=(n, 3))]
    )
    views = {
        "image": image,
        "text": np.eye(3)[one] * 3 + rng.normal(size=(n, 3)),
        "speech": np.eye(3)[other] * 3 + rng.normal(size=(n, 3)),
    }
    pairs = {
        ("image", "text"): dh.Pairs.from_labels(one, one),
        ("image", "speech"): dh.Pairs.from_labels(other, other),
    }
    hasher.set_params(n_bits=2)

    found = {}
    for heavy in pairs:
        fitted = fit(clone(hasher).set_params(couple_weights={heavy: 20.0}), views, pairs)
        codes = fitted.encode(image, modality="image")
        found[heavy[1]] = [
            dh.evaluate(codes, codes, truth, truth).mean_average_precision for truth in (one, other)
        ]

    assert found["text"][0] > found["text"][1] + 0.1
    assert found["speech"][1] > found["speech"][0] + 0.1


def test_pairs_with_small_weights_count_little(hasher):
    """Some positive pairs join objects of one class with objects of the next."""
    rng = np.random.default_rng(8)
    n = 300
    labels = rng.integers(0, 4, size=n)
    views = {m: np.eye(4)[labels] * 3 + rng.normal(size=(n, 4)) for m in ("x", "y")}
    right = dh.Pairs.from_labels(labels, labels, n_positive=400, n_negative=1, random_state=0).positive
    wrong = rng.integers(0, n, size=(2, 1200))
    wrong = wrong[:, (labels[wrong[0]] + 1) % 4 == labels[wrong[1]]]
    i, j = (np.concatenate(sides) for sides in zip(right, wrong, strict=True))
    hasher.set_params(n_bits=3)

    found = []
    for weights in ((1.0, 1e-3), (1e-3, 1.0)):
        pairs = dh.Pairs((i, j), weights=np.repeat(weights, [400, wrong.shape[1]]))
        codes = fit(clone(hasher), views, pairs)
        x, y = (codes.encode(X, modality=m) for m, X in views.items())
        found.append(dh.evaluate(x, y, labels, labels).mean_average_precision)

    assert found[0] > 0.5, "chance is 0.25"
    assert found[0] > found[1] + 0.2


BAD = {
    "alone": (
        lambda o: (o.views, dh.Pairs.from_ids({**o.ids, "speech": o.ids["speech"] + 10_000})),
        PairsError,
        "modality 'speech' has no positive pair with any other",
    ),
    "parts": (
        lambda o: (
            {**o.views, "touch": o.views["speech"]},
            {
                ("image", "text"): dh.Pairs.from_labels(o.labels["image"], o.labels["text"]),
                ("speech", "touch"): dh.Pairs.aligned(160),
            },
        ),
        PairsError,
        "2 separate parts: 'image' and 'text'; 'speech' and 'touch'",
    ),
    "unknown": (
        lambda o: (o.views, {("image", "smell"): dh.Pairs.aligned(240)}),
        InputError,
        "unknown modality 'smell'",
    ),
    "no rows": (
        lambda o: ({**o.views, "speech": np.empty((0, 5))}, dh.Pairs.from_labels(o.labels)),
        InputError,
        "modality 'speech' is empty",
    ),
    "ids of another view": (
        lambda o: (o.views, dh.Pairs.from_ids({**o.ids, "text": o.ids["image"]})),
        PairsError,
        "modality 'text' has 180 rows, but there are ids or labels for 240",
    ),
    "unequal": (lambda o: (o.views, dh.Pairs.aligned(240)), PairsError, "240 aligned rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_error_and_changes_nothing(hasher, case):
    objects = make_objects(3)
    fit(hasher, objects.views, dh.Pairs.from_labels(objects.labels))
    model = hasher.model_
    make, error, message = BAD[case]

    with pytest.raises(error, match=message) as caught:
        hasher.fit(*make(objects))

    assert str(caught.value).startswith(type(hasher).__name__)
    assert hasher.model_ is model


@pytest.mark.parametrize("weight", [0, -1.0, np.nan, "heavy"])
def test_a_couple_weight_must_be_above_zero(hasher, weight):
    objects = make_objects(3)
    hasher.set_params(couple_weights={("image", "text"): weight})

    with pytest.raises(ParameterError, match="finite number above 0"):
        hasher.fit(objects.views, dh.Pairs.from_labels(objects.labels))
    assert not hasattr(hasher, "model_")


def test_too_many_bits_are_refused_with_the_limit_of_all_modalities():
    objects = make_objects(3)  # 9, 11 and 13 features
    with pytest.raises(TooManyBitsError, match="limit of 20 with 9 features of 'image' and 11"):
        dh.DiffHash(n_bits=21).fit(objects.views, dh.Pairs.from_labels(objects.labels))
