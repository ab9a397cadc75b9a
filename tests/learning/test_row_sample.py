"""The sample of rows does not depend on how they are split."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.batch_source import checked_batch, first_form
from diffhash.learning.row_sample import RowSample
from diffhash.learning.sample_keys import key_bound, row_keys, smallest_keys
from diffhash.maps.view_moments import ViewMoments

N = 40


def batches_of(kind, slices):
    rng = np.random.default_rng(0)
    views = {"x": rng.normal(size=(N, 3)), "y": rng.normal(size=(N, 2))}
    labels = rng.integers(0, 3, size=N)
    found, starts, form = [], (0, 0), None
    for number, rows in enumerate(slices):
        part, m = {name: X[rows] for name, X in views.items()}, rows.stop - rows.start
        pairs = {
            "aligned": lambda m=m: dh.Pairs.aligned(m),
            "labels": lambda r=rows: dh.Pairs.from_labels(labels[r], labels[r]),
            "listed": lambda m=m: dh.Pairs((np.arange(m), np.arange(m)[::2].repeat(2)[:m])),
        }[kind]()
        form = form or first_form(part, pairs, None, caller="test")
        found.append(checked_batch(part, pairs, form, None, number=number, starts=starts, caller="test"))
        starts = tuple(start + m for start in starts)
    return found, form


@given(st.lists(st.integers(1, N // 2 - 1).map(lambda k: 2 * k), max_size=4), st.sampled_from([4, 11, 100]))
@pytest.mark.parametrize("kind", ["aligned", "labels", "listed"])
def test_every_split_has_the_same_sample(kind, ends, limit):
    ends = [0, *sorted(set(ends)), N]
    slices = [slice(a, b) for a, b in itertools.pairwise(ends)]
    (whole,), form = batches_of(kind, [slice(0, N)])
    parts, _ = batches_of(kind, slices)

    views, couples = RowSample.of(whole, form.couples, limit).data()
    merged = RowSample.of(parts[-1], form.couples, limit)
    for part in parts[:-1]:
        merged = merged.merge(RowSample.of(part, form.couples, limit))
    other_views, other_couples = merged.data()

    for X, Y in zip(views, other_views, strict=True):
        np.testing.assert_array_equal(X, Y)
    one, other = couples.couples[0].pairs, other_couples.couples[0].pairs
    assert one.n_positive == other.n_positive
    if one.positive is not None:
        np.testing.assert_array_equal(one.positive, other.positive)
    else:
        related = [np.equal.outer(each.groups.x, each.groups.y) for each in (one, other)]
        np.testing.assert_array_equal(*related)


@given(st.integers(2000, 20_000), st.integers(1, 400), st.integers(1, 19))
def test_rows_above_the_bound_are_never_in_the_sample(n, limit, n_parts):
    """If the number of all rows is known, a part leaves out most of its rows; the sample of all is the same."""
    keys, numbers = row_keys(np.arange(n)), np.arange(n)
    bound = key_bound(n, limit)
    kept = np.concatenate(
        [part[smallest_keys(keys[part], part, limit, bound)] for part in np.array_split(numbers, n_parts)]
    )

    expected = np.sort(np.argsort(keys, kind="stable")[:limit])

    np.testing.assert_array_equal(np.sort(kept[smallest_keys(keys[kept], kept, limit)]), expected)


@pytest.mark.parametrize("kind", ["aligned", "listed"])
def test_partners_are_drawn_together(kind):
    (whole,), form = batches_of(kind, [slice(0, N)])

    _, couples = RowSample.of(whole, form.couples, 10).data()

    # By chance 10 * 10 / 40 of the pairs would be there.
    assert couples.couples[0].pairs.n_positive >= 6


@given(st.lists(st.integers(1, N - 1), max_size=4), st.booleans(), st.integers(0, 2**31))
def test_moments_of_parts_equal_those_of_all_rows(ends, full, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)) * [1.0, 1e-3, 0.0] + [1e3, 0.0, 0.1]
    ends = [0, *sorted(set(ends)), N]

    total = ViewMoments.of(X[:0], full=full)
    for a, b in itertools.pairwise(ends):
        total.merge(ViewMoments.of(X[a:b], full=full))

    centred = X - X.mean(axis=0)
    expected = centred.T @ centred if full else np.square(centred).sum(axis=0)
    np.testing.assert_allclose(total.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(total.second, expected, rtol=1e-9, atol=1e-12)
    assert total.variance[2] == 0
    assert total.n_rows == N
