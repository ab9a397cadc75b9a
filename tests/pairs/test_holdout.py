"""Splits of pairs into a part to fit and a part to score."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.pairs.holdout import hold_out


def test_held_out_objects_are_not_in_the_other_part():
    labels = np.arange(40) % 4
    resolved = dh.Pairs.from_labels(labels, labels).resolve(40, 40)
    split, other = hold_out(resolved, 0.25, 1000, np.random.default_rng(0), 2)
    assert len(split.scored_rows[0]) == 10
    assert not set(split.fit_rows[0]) & set(split.scored_rows[0])
    assert not set(split.scored_rows[0]) & set(other.scored_rows[0]), (
        "the second split has other scored objects"
    )
    assert split.scored_pairs.n_positive == sum(
        labels[i] == labels[j] for i in split.scored_rows[0] for j in split.scored_rows[1]
    )


@pytest.mark.parametrize("one_view", [False, True])
def test_with_listed_pairs_whole_pairs_are_held_out(one_view):
    """If single objects were drawn, few would have their partner in the same part."""
    rng = np.random.default_rng(0)
    n = 2000
    i = rng.permutation(n // 2)
    j = rng.permutation(n // 2) + (n // 2 if one_view else 0)
    negative = (rng.integers(0, n // 2, 5000), rng.integers(n // 2, n, 5000) - (0 if one_view else n // 2))
    keep = ~np.isin(negative[0] * n + negative[1], i * n + j)
    pairs = dh.Pairs((i, j), tuple(side[keep] for side in negative))
    resolved = pairs.resolve(n) if one_view else pairs.resolve(n // 2, n // 2)
    limit = 400 if one_view else 200
    splits = hold_out(resolved, 0.25, limit, np.random.default_rng(1), 2)
    assert len(splits) == 2
    for split in splits:
        assert split.fit_pairs.n_positive + split.scored_pairs.n_positive > 190
        assert split.scored_pairs.n_positive > 40
        assert not set(split.fit_rows[0]) & set(split.scored_rows[0])
        assert not set(split.fit_rows[1]) & set(split.scored_rows[1])


def test_all_captions_of_a_picture_are_in_the_same_part():
    resolved = dh.Pairs((np.repeat(np.arange(100), 5), np.random.default_rng(0).permutation(500))).resolve(
        100, 500
    )
    splits = hold_out(resolved, 0.25, 1000, np.random.default_rng(1), 2)
    assert len(splits) == 2
    for split in splits:
        assert split.fit_pairs.n_positive == 375
        assert split.scored_pairs.n_positive == 125


def test_rows_without_a_partner_are_added_up_to_the_limit():
    """With few pairs and many rows, feature maps should be learned from all rows."""
    i = np.arange(20)
    resolved = dh.Pairs((i, i + 5)).resolve(300, 200)
    (split,) = hold_out(resolved, 0.25, 250, np.random.default_rng(1))
    assert [len(a) + len(b) for a, b in zip(split.fit_rows, split.scored_rows, strict=True)] == [250, 200]
    assert split.fit_pairs.n_positive == 15
    assert split.scored_pairs.n_positive == 5
    one = dh.Pairs((i, i + 20)).resolve(300)
    (split,) = hold_out(one, 0.25, 250, np.random.default_rng(1))
    assert len(split.fit_rows[0]) + len(split.scored_rows[0]) == 250
    assert split.fit_pairs.n_positive + split.scored_pairs.n_positive == 20
