"""RefinedHash in passes over a source: settings from a sample, sums over all rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import diffhash as dh
from diffhash.hashers.refined import row_survey
from diffhash.learning import sample_keys
from diffhash.learning.batch_source import first_form

from .test_batches import (
    N,
    check_blocks,
    equal_numbers,
    fit_both,
    make_views,
    problem,
    share_of_equal_bits,
    split,
)

LINEAR = dh.RefinedHash(8, features="linear", max_iter=3)
KERNEL = dh.RefinedHash(8, features="kernel", metric="diagonal", width=1.0, n_landmarks=20, max_iter=3)


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """Without this the sample would have all rows, and everything would be learned in memory."""
    monkeypatch.setattr(sample_keys, "MAX_SAMPLE_ROWS", 100)
    monkeypatch.setattr(sample_keys, "MIN_SAMPLE_ROWS", 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.WeakModelWarning)
        yield


@pytest.mark.parametrize("hasher", [LINEAR, KERNEL], ids=["linear", "kernel"])
@settings(max_examples=5, deadline=None)
@given(
    kind=st.sampled_from(["aligned", "labels", "sets", "ids", "listed", "weighted"]),
    n_modalities=st.sampled_from([2, 3]),
    ends=st.lists(st.integers(1, N // 2 - 1).map(lambda k: 2 * k), max_size=5),
)
def test_any_split_gives_the_model_of_all_rows(hasher, kind, n_modalities, ends):
    views, pairs, batches = problem(kind, n_modalities, split(ends, N))

    one, other = fit_both(hasher, views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999
    assert one.report_.chosen == other.report_.chosen


@pytest.mark.parametrize("kind", ["aligned", "labels", "sets", "ids", "listed", "weighted"])
@pytest.mark.parametrize("n_modalities", [2, 3])
def test_every_form_of_pairs(kind, n_modalities):
    views, pairs, batches = problem(kind, n_modalities, split([20, 70], N))

    one, other = fit_both(LINEAR, views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


@pytest.mark.parametrize("kind", ["labels", "sets", "listed"])
def test_pairs_within_one_view(kind):
    views, pairs, batches = problem(kind, 1, split([20, 90], N))

    one, other = fit_both(LINEAR, views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


@pytest.mark.parametrize("kind", ["labels", "aligned"])
def test_sparse_rows(kind):
    views, pairs, batches = problem(kind, 2, split([50], N), sparse=True)

    one, other = fit_both(LINEAR, views, pairs, batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


@pytest.mark.parametrize("kind", ["labels", "aligned"])
def test_rows_outside_the_sample_count(kind):
    """The sample has 100 of 150 rows; the sums have all of them."""
    views, pairs, batches = problem(kind, 2, split([50, 90], N))
    whole = clone(LINEAR).fit_batches(batches)
    sample = sample_keys.smallest_keys(sample_keys.row_keys(np.arange(N)), np.arange(N), 100)
    outside = np.setdiff1d(np.arange(N), sample)
    changed = {m: X.copy() for m, X in views.items()}
    for X in changed.values():
        X[outside] *= 0.5

    other = clone(LINEAR).fit(changed, pairs)

    assert (
        other.report_.chosen.split(";")[0].split(",")[0] == whole.report_.chosen.split(";")[0].split(",")[0]
    )
    assert not np.allclose(other.projections_["view 0"], whole.projections_["view 0"], rtol=1e-3)


def test_rows_that_fit_into_the_sample_give_the_model_of_memory_bit_for_bit(monkeypatch):
    views, pairs, batches = problem("labels", 2, split([50], N))
    monkeypatch.setattr(sample_keys, "MAX_SAMPLE_ROWS", N)
    monkeypatch.setattr(sample_keys, "MIN_SAMPLE_ROWS", N)

    one, other = fit_both(LINEAR, views, pairs, batches)

    for m in views:
        np.testing.assert_array_equal(one.projections_[m], other.projections_[m])


@pytest.mark.parametrize("kind", ["labels", "aligned"])
def test_the_number_of_passes_is_known_before(kind):
    _, _, batches = problem(kind, 2, split([50, 100], N))
    passes = []

    def read():
        passes.append(1)
        return iter(batches)

    hasher = clone(LINEAR).fit_batches(read)

    form = first_form(*batches[0], None, caller="test")
    # The first batch alone is read once more before, for the form.
    assert len(passes) - 1 == hasher.count_passes(form) == 2


def test_labels_that_mostly_occur_once_are_learned_from_a_sample_of_whole_classes():
    """Rows of one class are drawn together, although they have different row numbers in the two views."""
    views, _ = make_views()
    order = np.random.default_rng(3).permutation(N)
    views["view 1"] = views["view 0"][order] + 0.01
    labels = {"view 0": np.arange(N), "view 1": np.arange(N)[order]}
    # Batches that have all rows of some classes, and labels in a random order.
    position = np.argsort(order)
    batches = [
        (
            {"view 0": views["view 0"][r], "view 1": views["view 1"][position[r]]},
            dh.Pairs.from_labels({"view 0": labels["view 0"][r], "view 1": labels["view 1"][position[r]]}),
        )
        for r in split([40, 100], N)
    ]

    with pytest.warns(dh.errors.SampleWarning, match="most labels have only one row.*100 of the 150 rows"):
        hasher = clone(LINEAR).fit_batches(batches)

    one, other = (hasher.encode(views[m], modality=m) for m in views)
    assert np.mean(one[order] == other) > 0.9


@pytest.mark.parametrize("metric", ["auto", "root-cosine"])
def test_a_negative_value_outside_the_sample_rules_out_square_roots(metric):
    views, _, _ = problem("labels", 2, [slice(0, N)])
    views = {m: np.abs(X) for m, X in views.items()}
    sample = sample_keys.smallest_keys(sample_keys.row_keys(np.arange(N)), np.arange(N), 100)
    views["view 0"][np.setdiff1d(np.arange(N), sample)[0], 0] = -1.0
    _, labels = make_views()
    pairs = dh.Pairs.from_labels(labels, labels)
    hasher = clone(LINEAR).set_params(metric=metric)

    if metric == "root-cosine":
        with pytest.raises(dh.errors.InputError, match="'view 0': metric 'root-cosine' needs features"):
            hasher.fit(views, pairs)
    else:
        tried = [each.description for each in hasher.fit(views, pairs).report_.tried]
        assert not any("view 1: linear root-cosine" in each for each in tried)
        assert any("view 2: linear root-cosine" in each for each in tried)


def test_views_with_very_many_features_are_collected_in_memory(monkeypatch):
    monkeypatch.setattr(row_survey, "MAX_SUMMED_FEATURES", 8)
    views, pairs, batches = problem("labels", 2, split([50], N))

    one, other = fit_both(LINEAR, views, pairs, batches)

    for m in views:
        np.testing.assert_array_equal(one.projections_[m], other.projections_[m])


def test_progress_reaches_the_end():
    _, _, batches = problem("labels", 2, split([50], N))
    seen = []

    clone(LINEAR).set_params(progress=lambda done, message: seen.append((done, message))).fit_batches(batches)

    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (1.0, "done")
    assert any("all rows" in message for _, message in seen)


def test_a_view_may_have_no_rows_in_a_batch():
    views, _ = make_views(3)
    views["view 2"] = views["view 2"][:60]
    numbers = {m: np.arange(len(X)) for m, X in views.items()}
    batches = [({m: X[r] for m, X in views.items()}, equal_numbers(numbers, r)) for r in split([100], N)]

    one, other = fit_both(LINEAR, views, equal_numbers(numbers, slice(None)), batches)

    assert share_of_equal_bits(one, other, views) >= 0.9999


@pytest.mark.parametrize("kind", ["labels", "aligned", "listed"])
def test_blocks_of_arrays(kind):
    views, pairs, _ = problem(kind, 2, [slice(0, N)])

    check_blocks(LINEAR, views, pairs)
