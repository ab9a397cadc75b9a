"""Bits from class scores: rotations, class codes (random or from class means), and thresholds that are spread apart.

Scores of all views have the same axes (see :mod:`.class_scores`). A bit is the sign of an affine function
of the scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import FloatArray
from .refinement import Affine
from .rotation import bits_in_subspace, rotated_frame, sample_rows

__all__ = ["class_code_bits", "class_mean_bits", "rotated_bits", "separated_codes", "without_constant_bits"]

#: Random codes among which each class takes the one that is farthest from the others.
_CANDIDATE_CODES = 256
_MAX_CHOSEN_CODES = 512
#: With more scores than this (and than bits), only their leading principal directions are rotated.
_MAX_ROTATED = 128
#: How much more a near pair of codes costs than a far one.
_NEARNESS = 4.0


def rotated_bits(
    scores: list[FloatArray], n_bits: int, rng: np.random.Generator, spread: float = 0.0
) -> Affine:
    """Signs of rotated scores.

    Parameters
    ----------
    scores : list of arrays of shape (n, n_scores)
        Of each view.
    n_bits : int
        With more bits than scores there are several rotations.
    rng : Generator
    spread : float in [0, 1)
        0: all thresholds are the means. Otherwise they are quantiles of the rotated scores, and those of
        the bits of one axis are spread over this share of the rows. With one or two scores (two or three
        classes) rotations alone give few different codes; spread thresholds tell weak scores from
        strong ones.
    """
    leading = _leading_directions(scores, max(n_bits, _MAX_ROTATED))
    rank = leading.shape[1]
    inside = [s @ leading.astype(s.dtype) for s in scores]
    mixes = [leading @ mix for mix in bits_in_subspace(inside, np.ones(rank), n_bits, rng)]
    values = [s @ mix.astype(s.dtype) for s, mix in zip(scores, mixes, strict=True)]
    if spread:
        n_rotations = -(-n_bits // rank)
        levels = (np.arange(n_rotations) + 0.5) / n_rotations - 0.5
        levels = rng.permuted(np.repeat(levels[:, None], rank, axis=1), axis=0).reshape(-1)[:n_bits]
        offsets = [-_quantiles(v, 0.5 + spread * levels) for v in values]
    else:
        offsets = [-v.mean(axis=0, dtype=np.float64) for v in values]
    return Affine(tuple(mixes), tuple(offsets))


def class_code_bits(
    scores: list[FloatArray], targets: FloatArray, n_bits: int, rng: np.random.Generator
) -> Affine:
    """Signs of the products of class scores with well separated class codes.

    Parameters
    ----------
    scores : list of arrays of shape (n, n_scores)
        Of each view.
    targets : array of shape (n_labels, n_scores)
        Axes of the scores.
    n_bits : int
    rng : Generator
    """
    return _coded_bits(scores, targets.T @ separated_codes(len(targets), n_bits, rng))


def class_mean_bits(
    scores: list[FloatArray], labels: list[Any], targets: FloatArray, n_bits: int, rng: np.random.Generator
) -> Affine:
    r"""Signs of the products of class scores with codes of the class means.

    The code of a class is the sign of its mean scores after a rotation: classes that the views confuse have similar
    codes, which are easier to predict than codes that are as far apart as possible. A bit is the sign of
    :math:`\sum_c f_c b_c` with the class scores f and the bits b of the classes. This is what ridge regression to
    the codes gives.

    Parameters
    ----------
    scores : list of arrays of shape (n, n_scores)
        Of each view.
    labels : list of sparse arrays of shape (n, n_labels)
        Indicators of the labels of the rows.
    targets : array of shape (n_labels, n_scores)
        Axes of the scores.
    n_bits : int
    rng : Generator
    """
    means, known = [], []
    for side, indicators in zip(scores, labels, strict=True):
        sizes = np.asarray(indicators.sum(axis=0), dtype=np.float64).reshape(-1)
        sums = np.asarray(indicators.T @ side, dtype=np.float64)
        centred = sums / np.maximum(sizes, 1.0)[:, None] - side.mean(axis=0, dtype=np.float64)
        centred[sizes == 0] = 0.0
        means.append(centred / (float(centred[sizes > 0].std()) or 1.0))
        known.append(sizes > 0)
    leading = _leading_directions(means, max(n_bits, _MAX_ROTATED))
    stacked = np.concatenate([mean[rows] for mean, rows in zip(means, known, strict=True)])
    frame = leading @ rotated_frame(sample_rows(stacked @ leading, rng), n_bits, rng)
    # A class without rows has the code 0.
    return _coded_bits(scores, targets.T @ np.sign(sum(means) @ frame))


def _coded_bits(scores: list[FloatArray], mix: FloatArray) -> Affine:
    """Bits of scores times a matrix: values of unit variance, thresholds at their means."""
    spreads = [float((s @ mix.astype(s.dtype)).std()) or 1.0 for s in scores]
    mixes = [np.asarray(mix / spread) for spread in spreads]
    offsets = [-(s.mean(axis=0, dtype=np.float64) @ m) for s, m in zip(scores, mixes, strict=True)]
    return Affine(tuple(mixes), tuple(offsets))


def separated_codes(n_codes: int, n_bits: int, rng: np.random.Generator) -> FloatArray:
    """Codes of ±1, of shape (n_codes, n_bits), that differ from each other in many bits.

    Each code is the one of 256 random codes that is farthest from the codes before it. After the first
    512 codes, the others are random.

    Examples
    --------
    >>> codes = separated_codes(4, 32, np.random.default_rng(0))
    >>> bool((codes @ codes.T - 32 * np.eye(4)).max() <= 8)
    True
    """
    codes = np.where(rng.random((n_codes, n_bits)) < 0.5, -1.0, 1.0)
    for number in range(min(n_codes, _MAX_CHOSEN_CODES)):
        candidates = np.where(rng.random((_CANDIDATE_CODES, n_bits)) < 0.5, -1.0, 1.0)
        nearness = candidates @ codes[:number].T / n_bits
        codes[number] = candidates[np.exp(_NEARNESS * nearness).sum(axis=1).argmin()]
    return codes


def _leading_directions(scores: list[FloatArray], limit: int) -> FloatArray:
    """The leading principal directions of the scores of all views, (n_scores, at most ``limit``)."""
    n_scores = scores[0].shape[1]
    if n_scores <= limit:
        return np.eye(n_scores)
    total = np.zeros((n_scores, n_scores))
    for side in scores:
        centred = side - side.mean(axis=0)
        # All views have the same weight.
        total += np.asarray(centred.T @ centred, dtype=np.float64) / max(
            float(np.vdot(centred, centred)), 1e-300
        )
    return np.ascontiguousarray(np.linalg.eigh(total)[1][:, ::-1][:, :limit])


def _quantiles(values: FloatArray, levels: FloatArray) -> FloatArray:
    """One quantile of each column."""
    ordered = np.sort(values, axis=0)
    rows = np.clip((levels * len(values)).astype(np.int64), 0, len(values) - 1)
    return np.asarray(ordered[rows, np.arange(values.shape[1])], dtype=np.float64)


def without_constant_bits(offsets: FloatArray, values: FloatArray, min_share: float) -> FloatArray:
    """Offsets of bits. A bit that is nearly constant is cut at the median of its values.

    Parameters
    ----------
    offsets : array of shape (n_bits,)
    values : array of shape (n, n_bits)
        Values of rows, offsets included: a bit is one where the value is >= 0.
    min_share : float
        A bit with a smaller share of zeros or ones is nearly constant.

    Examples
    --------
    >>> without_constant_bits(np.zeros(2), np.array([[1.0, -1.0], [2.0, 3.0], [4.0, 1.0]]), 0.1)
    array([-2.,  0.])
    """
    share = (values >= 0).mean(axis=0)
    (constant,) = np.nonzero(np.minimum(share, 1 - share) < min_share)
    found = np.array(offsets, dtype=np.float64)
    if len(constant):
        found[constant] -= np.median(values[:, constant], axis=0)
    return found
