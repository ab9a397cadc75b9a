"""Batches of rows: the model of any split is that of all rows in memory."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import diffhash as dh
from diffhash.errors import FeatureCountError, InputError, NonFiniteError, PairsError, UnknownModalityError
from diffhash.learning import sample_keys
from diffhash.learning.batch_source import first_form
from diffhash.learning.block_source import ArrayRows, BlockSource

N = 150
HASHERS = {
    "diff": dh.DiffHash(4),
    "plain": dh.DiffHash(4, center=False, standardize=False, thresholds="zero"),
    "median": dh.DiffHash(4, gamma=np.inf, thresholds="median"),
    "whitened": dh.DiffHash(4, whiten=True, shrinkage=0.1),
    "rotated": dh.DiffHash(12, whiten=True, rotate=True),
    "kernel": dh.KernelDiffHash(4, n_landmarks=20),
    "kernel-centred": dh.KernelDiffHash(4, n_landmarks=20, center=True, whiten=True, shrinkage=0.1),
    "kernel-cosine": dh.KernelDiffHash(4, n_landmarks=20, metric="cosine"),
    "kernel-mahalanobis": dh.KernelDiffHash(4, n_landmarks=20, metric="mahalanobis"),
}


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """Without this the sample would have all rows, and everything would be learned in memory."""
    monkeypatch.setattr(sample_keys, "MAX_SAMPLE_ROWS", 60)
    monkeypatch.setattr(sample_keys, "MIN_SAMPLE_ROWS", 30)
    monkeypatch.setattr(sample_keys, "MAX_STREAM_ROWS", 60)


def make_views(n_modalities=2, *, sparse=False, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, size=N)
    views = {}
    for k in range(n_modalities):
        X = 2 * rng.normal(size=(5, 8 + k))[labels] + rng.normal(size=(N, 8 + k)) + 3 * rng.normal(size=8 + k)
        views[f"view {k}"] = X.astype(dtype)
    if sparse:
        views["view 0"] = scipy.sparse.csr_array(np.maximum(np.round(views["view 0"]), 0))
    return views, labels


def split(ends, rows):
    """Slices of the rows between the ends."""
    ends = [0, *sorted(set(ends)), rows]
    return [slice(a, b) for a, b in itertools.pairwise(ends) if a < b]


def problem(kind, n_modalities, slices, *, sparse=False, dtype=np.float64):
    """Views, pairs of all rows, and the same in batches."""
    views, labels = make_views(n_modalities, sparse=sparse, dtype=dtype)
    names = list(views)
    sets = np.zeros((N, 5), bool)
    sets[np.arange(N), labels] = True
    sets[::7, 2] = True
    rng = np.random.default_rng(1)
    by_batch = []
    listed_i, listed_j, negative_i, negative_j, weights = [], [], [], [], []
    for rows in slices:
        m = rows.stop - rows.start
        i, j = rng.integers(0, m, size=(2, 4 * m))
        same = labels[rows][i] == labels[rows][j]
        keep = i != j
        listed_i.append(i[same & keep] + rows.start)
        listed_j.append(j[same & keep] + rows.start)
        negative_i.append(i[~same] + rows.start)
        negative_j.append(j[~same] + rows.start)
        weights.append(0.5 + rng.random(int((same & keep).sum())))
    for number, rows in enumerate(slices):
        m = rows.stop - rows.start
        positive = listed_i[number] - rows.start, listed_j[number] - rows.start
        negative = negative_i[number] - rows.start, negative_j[number] - rows.start
        part = {m_: X[rows] for m_, X in views.items()}
        by_batch.append(
            (
                part,
                {
                    "aligned": lambda m=m: dh.Pairs.aligned(m),
                    "labels": lambda r=rows: dh.Pairs.from_labels(dict.fromkeys(names, labels[r])),
                    "sets": lambda r=rows: dh.Pairs.from_labels(dict.fromkeys(names, sets[r])),
                    "ids": lambda r=rows: dh.Pairs.from_ids(dict.fromkeys(names, np.arange(N)[r] // 2)),
                    "listed": lambda p=positive, q=negative: _couples(names, dh.Pairs(p, q)),
                    "weighted": lambda p=positive, w=weights[number]: _couples(names, dh.Pairs(p, weights=w)),
                }[kind](),
            )
        )
    positive = np.concatenate(listed_i), np.concatenate(listed_j)
    negative = np.concatenate(negative_i), np.concatenate(negative_j)
    pairs = {
        "aligned": lambda: dh.Pairs.aligned(N),
        "labels": lambda: dh.Pairs.from_labels(dict.fromkeys(names, labels)),
        "sets": lambda: dh.Pairs.from_labels(dict.fromkeys(names, sets)),
        "ids": lambda: dh.Pairs.from_ids(dict.fromkeys(names, np.arange(N) // 2)),
        "listed": lambda: _couples(names, dh.Pairs(positive, negative)),
        "weighted": lambda: _couples(names, dh.Pairs(positive, weights=np.concatenate(weights))),
    }[kind]()
    return views, pairs, by_batch


def _couples(names, pairs):
    if len(names) == 1:
        return {(names[0], names[0]): pairs}
    return {(names[0], other): pairs for other in names[1:]}


def share_of_equal_bits(one, other, views):
    equal = [
        one.encode(X, modality=m)[:, :, None] >> np.arange(8) & 1
        == other.encode(X, modality=m)[:, :, None] >> np.arange(8) & 1
        for m, X in views.items()
    ]
    return np.mean([each.mean() for each in equal])


def fit_both(hasher, views, pairs, batches):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.RankWarning)
        return clone(hasher).fit(views, pairs), clone(hasher).fit_batches(batches)


@pytest.mark.parametrize("name", HASHERS)
@settings(max_examples=5, deadline=None)
@given(
    kind=st.sampled_from(["aligned", "labels", "sets", "ids", "listed", "weighted"]),
    n_modalities=st.sampled_from([2, 3]),
    ends=st.lists(st.integers(1, N // 2 - 1).map(lambda k: 2 * k), max_size=5),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_batches_of_any_split_give_the_model_of_all_rows(name, kind, n_modalities, ends, dtype):
    views, pairs, batches = problem(kind, n_modalities, split(ends, N), dtype=dtype)

    one, other = fit_both(HASHERS[name], views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


@pytest.mark.parametrize("kind", ["labels", "sets", "listed", "weighted"])
@pytest.mark.parametrize("statistic", ["product", "difference"])
def test_batches_of_one_view_give_the_model_of_all_rows(kind, statistic):
    views, pairs, batches = problem(kind, 1, split([20, 90], N))

    one, other = fit_both(dh.DiffHash(4, statistic=statistic), views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


@pytest.mark.parametrize("kind", ["aligned", "labels", "listed"])
def test_sparse_batches_give_the_model_of_all_rows(kind):
    views, pairs, batches = problem(kind, 2, split([50], N), sparse=True)

    one, other = fit_both(dh.DiffHash(4, whiten=True, shrinkage=0.2), views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


def test_a_function_and_a_list_are_read_several_times_and_an_iterator_is_refused():
    views, _, batches = problem("aligned", 2, split([50], N))
    of_list = dh.DiffHash(4).fit_batches(batches)

    of_function = dh.DiffHash(4).fit_batches(lambda: iter(batches))

    assert share_of_equal_bits(of_list, of_function, views) == 1.0
    with pytest.raises(InputError, match="can be read only once"):
        dh.DiffHash(4).fit_batches(iter(batches))
    once = iter(batches)
    with pytest.raises(InputError, match="same batches every time"):
        dh.DiffHash(4).fit_batches(lambda: once)


def bad(batches, number, change):
    views, pairs = batches[number]
    return [*batches[:number], change(dict(views), pairs), *batches[number + 1 :]]


def test_an_error_names_the_batch_and_the_row():
    _, _, batches = problem("aligned", 2, split([50, 100], N))

    def with_nan(views, pairs):
        views["view 1"] = views["view 1"].copy()
        views["view 1"][5, 2] = np.nan
        return views, pairs

    with pytest.raises(NonFiniteError, match=r"batch 2: modality 'view 1' has NaN in row 5, feature 2"):
        dh.DiffHash(4).fit_batches(bad(batches, 2, with_nan))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda v, p: (v | {"view 0": v["view 0"][:, :3]}, p),
            FeatureCountError,
            "batch 1.*3 features, but 8",
        ),
        (
            lambda v, p: ({"view 0": v["view 0"]}, p),
            UnknownModalityError,
            "batch 1: modality 'view 1' is missing",
        ),
        (lambda v, p: (v | {"other": v["view 0"]}, p), UnknownModalityError, "unknown modality 'other'"),
        (lambda v, p: ({m: X[:0] for m, X in v.items()}, p), InputError, "batch 1"),
        (
            lambda v, p: (v | {"view 0": scipy.sparse.csr_array(v["view 0"])}, p),
            InputError,
            "is sparse, but dense",
        ),
        (lambda v, p: v, InputError, "batch 1 must be a tuple"),
        (lambda v, p: (v, dh.Pairs(([0], [0]), ([1], [0]))), PairsError, "another kind"),
        (lambda v, p: (v, {("view 0", "view 0"): dh.Pairs(([0], [1]))}), PairsError, "same couples"),
    ],
)
def test_a_batch_that_differs_from_the_first_is_refused(change, error, message):
    _, _, batches = problem("aligned", 2, split([50, 100], N))

    with pytest.raises(error, match=message):
        dh.DiffHash(4).fit_batches(bad(batches, 1, change))


def test_an_id_in_two_batches_is_refused():
    views, _ = make_views()
    rows = [slice(0, 80), slice(80, N)]
    batches = [
        (
            {m: X[r] for m, X in views.items()},
            dh.Pairs.from_ids(dict.fromkeys(views, np.arange(N)[r] % 90)),
        )
        for r in rows
    ]

    with pytest.raises(PairsError, match="the id 0 occurs in batch 0 and in batch 1"):
        dh.DiffHash(4).fit_batches(batches)


def test_pairs_must_exist_in_all_batches_together_not_in_each():
    """A batch of one class has no negatives of its own."""
    views, labels = make_views()
    order = np.argsort(labels, kind="stable")
    views, labels = {m: X[order] for m, X in views.items()}, labels[order]
    slices = split(np.flatnonzero(np.diff(labels)) + 1, N)
    batches = [
        ({m: X[r] for m, X in views.items()}, dh.Pairs.from_labels(labels[r], labels[r])) for r in slices
    ]

    one, other = fit_both(dh.DiffHash(4), views, dh.Pairs.from_labels(labels, labels), batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999
    with pytest.raises(PairsError, match="no negative pair"):
        dh.DiffHash(4).fit_batches([batches[0]])


def test_a_view_may_have_no_rows_in_a_batch():
    views, _ = make_views(3)
    views["view 2"] = views["view 2"][:60]
    ids = {m: np.arange(len(X)) for m, X in views.items()}
    batches = [
        ({m: X[r] for m, X in views.items()}, equal_numbers(ids, r)) for r in (slice(0, 100), slice(100, N))
    ]

    one, other = fit_both(dh.DiffHash(4), views, equal_numbers(ids, slice(None)), batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


def equal_numbers(ids, rows):
    return {
        ("view 0", m): dh.Pairs(_same(ids["view 0"][rows], each[rows]))
        for m, each in ids.items()
        if m != "view 0"
    }


def _same(a, b):
    _, i, j = np.intersect1d(a, b, return_indices=True)
    return i, j


def test_boosted_hash_learns_from_a_sample_of_batches(monkeypatch):
    """If the sample has all rows, the model is that of all rows."""
    views, pairs, batches = problem("labels", 2, split([70], N))
    hasher = dh.BoostedHash(4, sample_size=(200, 400))
    _, sampled = fit_both(hasher, views, pairs, batches)
    monkeypatch.setattr(sample_keys, "MAX_SAMPLE_ROWS", 1000)
    monkeypatch.setattr(sample_keys, "MIN_SAMPLE_ROWS", 1000)

    one, other = fit_both(hasher, views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999
    assert 0.5 < share_of_equal_bits(one, sampled, views) < 1


def stream(hasher, batches, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.RankWarning)
        for views, pairs in batches:
            hasher.partial_fit(views, pairs, **options)
    return hasher


@pytest.mark.parametrize("kind", ["aligned", "labels", "listed", "weighted"])
@pytest.mark.parametrize("n_modalities", [2, 3])
def test_data_that_pass_once_give_the_projections_of_fit(kind, n_modalities):
    views, pairs, batches = problem(kind, n_modalities, split(range(10, N, 10), N))
    hasher = dh.DiffHash(4, whiten=True, shrinkage=0.1)

    once = stream(clone(hasher), batches)
    whole = clone(hasher).fit(views, pairs)

    for m in views:
        np.testing.assert_allclose(once.projections_[m], whole.projections_[m], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["aligned", "labels"])
def test_a_hundred_batches_that_pass_once_give_the_bits_of_fit(kind, monkeypatch):
    monkeypatch.undo()
    views, labels = make_views()
    views = {m: np.concatenate([X + 0.01 * k for k in range(40)]) for m, X in views.items()}
    labels = np.tile(labels, 40)
    slices = split(range(60, 40 * N, 60), 40 * N)

    def pairs(rows):
        n = len(labels[rows])
        return dh.Pairs.aligned(n) if kind == "aligned" else dh.Pairs.from_labels(labels[rows], labels[rows])

    batches = [({m: X[rows] for m, X in views.items()}, pairs(rows)) for rows in slices]
    once = stream(dh.DiffHash(4), batches)

    assert len(batches) == 100
    assert share_of_equal_bits(once, dh.DiffHash(4).fit(views, pairs(slice(None))), views) >= 0.99


def test_a_kernel_with_given_landmarks_gives_the_projections_of_fit():
    views, pairs, batches = problem("aligned", 2, split(range(10, N, 10), N))
    landmarks = {m: X[:12] for m, X in views.items()}
    hasher = dh.KernelDiffHash(4, landmarks=landmarks, metric="euclidean", center=True)

    once = stream(clone(hasher), batches)
    whole = clone(hasher).fit(views, pairs)

    for m in views:
        np.testing.assert_allclose(once.projections_[m], whole.projections_[m], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(once.maps_[m].mean, whole.maps_[m].mean, rtol=1e-9)


def test_old_batches_are_forgotten():
    """After a change of the data, a hasher that forgets comes near to what the new data alone give."""
    old, _, first = problem("aligned", 2, split(range(10, N, 10), N))
    rng = np.random.default_rng(5)
    turn = {m: np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0] for m, X in old.items()}
    second = [({m: X @ turn[m] for m, X in views.items()}, pairs) for views, pairs in first]
    new = {m: X @ turn[m] for m, X in old.items()}
    alone = dh.DiffHash(3).fit(new, dh.Pairs.aligned(N))

    keeps, forgets = (stream(stream(dh.DiffHash(3), first), second, forget=f) for f in (0.0, 0.4))

    assert share_of_equal_bits(forgets, alone, new) > 0.85
    assert share_of_equal_bits(forgets, alone, new) > share_of_equal_bits(keeps, alone, new) + 0.05


@pytest.mark.parametrize(("limit", "expected"), [(1000, (12, 40)), (60, (5, 30))])
def test_the_sample_of_a_stream_forgets_exponentially(limit, expected, monkeypatch):
    """A quarter of the 75 old rows stays, and if there are too many rows, the old ones count a quarter."""
    monkeypatch.setattr(sample_keys, "MAX_STREAM_ROWS", limit)
    _, _, batches = problem("aligned", 2, split([74], N))

    hasher = dh.DiffHash(4).partial_fit(*batches[0]).partial_fit(*batches[1], forget=0.75)

    first, second = hasher._stream.sums.sample.views
    np.testing.assert_array_equal(np.sort(first.numbers), np.sort(second.numbers))
    assert expected[0] <= (first.numbers < 74).sum() <= expected[1]
    assert len(first.numbers) <= limit


def test_a_failed_partial_fit_changes_nothing():
    views, _, batches = problem("aligned", 2, split([50, 100], N))
    hasher = stream(dh.DiffHash(4), batches[:2])
    before = hasher.model_
    broken = {m: np.where(np.arange(len(X))[:, None] == 3, np.nan, X) for m, X in batches[2][0].items()}

    with pytest.raises(NonFiniteError, match="row 3"):
        hasher.partial_fit(broken, batches[2][1])

    assert hasher.model_ is before
    once = stream(hasher, batches[2:])
    np.testing.assert_allclose(
        once.projections_["view 0"], stream(dh.DiffHash(4), batches).projections_["view 0"]
    )
    assert set(views) == set(hasher.modalities_)


@pytest.mark.parametrize("in_batches", [False, True])
def test_fit_begins_a_new_stream(in_batches):
    views, pairs, batches = problem("aligned", 2, split([50, 100], N))
    hasher = stream(dh.DiffHash(4), batches[:2])
    hasher = hasher.fit_batches(batches) if in_batches else hasher.fit(views, pairs)

    hasher.partial_fit(*batches[2])

    alone = dh.DiffHash(4).partial_fit(*batches[2])
    np.testing.assert_allclose(hasher.projections_["view 0"], alone.projections_["view 0"])


def test_partial_fit_refuses_what_needs_several_passes():
    _, _, batches = problem("labels", 1, split([50], N))
    with pytest.raises(dh.errors.ParameterError, match="several passes"):
        dh.DiffHash(4, statistic="difference").partial_fit(*batches[0])
    with pytest.raises(dh.errors.ParameterError, match="forget"):
        dh.DiffHash(4).partial_fit(*batches[0], forget=1.0)


@pytest.mark.parametrize("kind", ["aligned", "labels", "sets", "ids", "listed", "weighted"])
@pytest.mark.parametrize("n_modalities", [1, 2, 3])
def test_blocks_of_arrays_give_the_model_of_all_rows(kind, n_modalities):
    """Also if listed pairs are between rows of different blocks."""
    if n_modalities == 1 and kind in ("aligned", "ids"):
        pytest.skip("pairs between views")
    views, pairs, _ = problem(kind, n_modalities, [slice(0, N)])
    statistics = ["product", "difference"] if n_modalities == 1 else ["product"]
    for statistic in statistics:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dh.errors.RankWarning)
            check_blocks(
                dh.DiffHash(1 if statistic == "difference" else 4, statistic=statistic), views, pairs
            )


def check_blocks(hasher, views, pairs):
    whole = clone(hasher).fit(views, pairs)
    data = whole._checked(views, pairs, "test")
    source = BlockSource(
        data.modalities,
        [ArrayRows(X) for X in data.views.values()],
        data.couples,
        caller="test",
        block_bytes=views["view 0"].nbytes // 3,
    )

    blocks = clone(hasher).fit_batches(source)

    assert source.n_batches >= 3
    assert share_of_equal_bits(whole, blocks, views) >= 0.9999


@pytest.mark.parametrize("name", ["diff", "plain", "median", "kernel"])
@pytest.mark.parametrize("n_modalities", [2, 3])
def test_the_number_of_passes_is_known_before(name, n_modalities):
    views, _, batches = problem("aligned", n_modalities, split([50, 100], N), dtype=np.float32)
    passes = []

    def read():
        passes.append(1)
        return iter(batches)

    hasher = clone(HASHERS[name]).fit_batches(read)

    form = first_form(*batches[0], None, caller="test")
    # The first batch alone is read once more before, for the form.
    assert len(passes) - 1 == hasher.count_passes(form)
    assert set(hasher.modalities_) == set(views)


def test_values_that_are_too_small_are_refused():
    _, _, batches = problem("aligned", 2, split([50, 100], N))
    tiny = [({m: X * 1e-90 for m, X in views.items()}, pairs) for views, pairs in batches]

    with pytest.raises(InputError, match="squares of such values are 0"):
        dh.DiffHash(4).fit_batches(tiny)
