"""Very many tiny groups are counted as listed pairs, with the same result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.moments import PairMoments
from diffhash.pairs import tiny_groups
from diffhash.pairs.labels import LabelGroups
from diffhash.pairs.tiny_groups import pairs_of_groups, with_listed_groups


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.integers(1, 6), st.booleans())
def test_pairs_of_groups_are_all_rows_with_equal_numbers(seed, n_x, n_y, n_groups, one_view):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n_groups, n_x)
    y = x if one_view else rng.integers(0, n_groups, n_y)

    i, j = pairs_of_groups(LabelGroups(x, y, n_groups), one_view=one_view)

    slow = [(a, b) for a in range(n_x) for b in range(len(y)) if x[a] == y[b] and (a < b or not one_view)]
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == slow


@pytest.mark.parametrize("one_view", [False, True])
def test_only_very_many_tiny_groups_are_listed(one_view, monkeypatch):
    labels = np.arange(60) // 3
    pairs = dh.Pairs.from_labels(labels, None if one_view else labels).resolve(60, None if one_view else 60)
    assert with_listed_groups(pairs) is pairs

    monkeypatch.setattr(tiny_groups, "_MIN_GROUPS", 5)
    listed = with_listed_groups(pairs)

    assert listed.positive is not None
    assert (listed.n_positive, listed.n_negative) == (pairs.n_positive, pairs.n_negative)
    monkeypatch.setattr(tiny_groups, "_MAX_PARTNERS", 0)
    assert with_listed_groups(pairs) is pairs


@pytest.mark.parametrize("thresholds", ["joint", "median"])
@pytest.mark.parametrize("hasher", [dh.DiffHash(6), dh.DiffHash(6, whiten=True, rotate=True)])
@pytest.mark.parametrize("one_view", [False, True])
def test_codes_do_not_depend_on_how_groups_are_counted(hasher, one_view, thresholds, monkeypatch):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 40, 160)
    centres = rng.normal(size=(40, 12))
    views = {m: centres[labels] + rng.normal(size=(160, 12)) for m in "xy"}
    views = {"x": views["x"]} if one_view else views
    pairs = dh.Pairs.from_labels(labels, None if one_view else labels)
    hasher = hasher.set_params(thresholds=thresholds)
    by_group = hasher.fit(views, pairs).encode(views["x"], modality="x")

    monkeypatch.setattr(tiny_groups, "_MIN_GROUPS", 5)
    by_pair = hasher.fit(views, pairs).encode(views["x"], modality="x")

    np.testing.assert_array_equal(by_pair, by_group)


@pytest.mark.parametrize("one_view", [False, True])
def test_masses_are_the_last_entries_of_the_sums(one_view, rng):
    labels = rng.integers(0, 4, 20)
    X = rng.normal(size=(20, 3))
    pairs = dh.Pairs.from_labels(labels, None if one_view else labels).resolve(20, None if one_view else 20)
    moments = PairMoments(pairs.scheme, np.zeros(3), np.zeros(3))
    moments.update(X, None if one_view else X, groups_x=labels, groups_y=None if one_view else labels)

    assert moments.masses() == pytest.approx([table[-1, -1] for table in moments.sums()])
    assert moments.masses() == (pairs.n_positive, pairs.n_negative)
