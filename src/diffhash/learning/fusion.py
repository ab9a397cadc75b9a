r"""How reliable each modality is for each bit: log-likelihood ratios of projections.

A *fused* code has one bit for all that is known about an object. If :math:`z_{ub}` is the projection of the
object in modality u, threshold included, then :math:`\lambda_{ub} = s_{ub} z_{ub}` is the log-likelihood ratio of
bit b being one, and the fused bit is the sign of the sum of :math:`\lambda_{ub}` over the modalities that the
object has. The *slope* :math:`s_{ub}` is that of a logistic curve.

**The target.** The right bit of an object is the one that the queries for it have. So the target is the
*consensus* of the partners of a row: the mean sign of the rows that positive pairs join with it, first in each
modality, then over the modalities. With labels, the partners are all rows of its class, also in its own modality,
without the row itself. The curve is fitted to the sign of the consensus, with its magnitude as weight: where the
partners disagree, there is no right bit.

**No constant term.** The curve goes through the threshold of the model, so an object with one modality gets the code
of that modality.

**Held-out objects.** Projections of training objects are too good, in some modalities more than in others. So the
curves come from a second model that did not see the objects. Its bits are others than those of the model (rotations
are arbitrary); :func:`transferred_values` expresses its values in the bits of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from ..pairs.couples import ResolvedCouples
from ..pairs.labels import LabelGroups
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray, IntArray
from .moments import incidence

__all__ = ["partner_consensus", "reliability_slopes", "transferred_values"]

#: Slopes of values of unit mean square are at least this: a modality that says nothing decides only if it is alone.
_SMALLEST_SLOPE = 0.01
#: Precision of the prior of the slopes: that of all bits together around 0, and that of a bit around the common one.
_COMMON_PRECISION, _BIT_PRECISION = 0.01, 4.0
#: Halvings of the interval in which a slope is searched.
_N_HALVINGS = 40
#: Ridge of the regression between the bits of two models, in multiples of the mean variance.
_TRANSFER_RIDGE = 1e-3


def transferred_values(
    model: Sequence[FloatArray], second: Sequence[FloatArray], held_out: Sequence[FloatArray]
) -> list[FloatArray]:
    """Values of a second model, expressed in the bits of the model.

    One linear map for all modalities is fitted to the objects that both models know, after centring. It
    turns rotated, reordered or flipped bits into those of the model, and changes nothing in how reliable the
    modalities are compared with each other.

    Parameters
    ----------
    model, second : arrays of shape (n, n_bits), one for each modality
        Projections of the same rows by both models.
    held_out : arrays of shape (n', n_bits), one for each modality
        Projections of other rows by the second model.

    Returns
    -------
    list of float64 arrays of shape (n', n_bits)

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=(200, 2))
    >>> (found,) = transferred_values([z[:, ::-1] + 1.0], [-z], [np.array([[3.0, 1.0]])])
    >>> found.round(1)
    array([[ 0., -2.]])
    """
    n_bits = model[0].shape[1]
    second_moments, cross_moments = np.zeros((n_bits, n_bits)), np.zeros((n_bits, n_bits))
    means = []
    for target, values in zip(model, second, strict=True):
        means.append((np.mean(target, axis=0, dtype=np.float64), np.mean(values, axis=0, dtype=np.float64)))
        x = values - means[-1][1]
        # Every modality counts the same, whatever its scale and its number of rows.
        weight = 1.0 / max(float(np.vdot(x, x)), np.finfo(np.float64).tiny)
        second_moments += weight * (x.T @ x)
        cross_moments += weight * (x.T @ (target - means[-1][0]))
    ridge = _TRANSFER_RIDGE * np.trace(second_moments) / n_bits
    second_moments[np.diag_indices(n_bits)] += max(ridge, np.finfo(np.float64).tiny)
    transfer = np.linalg.solve(second_moments, cross_moments)
    return [
        np.asarray((rows - mean) @ transfer + target_mean)
        for rows, (target_mean, mean) in zip(held_out, means, strict=True)
    ]


def partner_consensus(
    values: Sequence[FloatArray],
    couples: ResolvedCouples,
    *,
    within_classes: bool = True,
    real_valued: bool = False,
) -> list[FloatArray]:
    """For each row and bit, the mean sign of its partners: -1 to 1, and 0 without partners.

    Parameters
    ----------
    values : arrays of shape (n, n_bits), one for each modality
        Projections; a bit is one where the value is >= 0.
    couples : ResolvedCouples
    within_classes : bool
        Whether labels of a couple of two modalities also make rows of the same modality partners.
    real_valued : bool
        Take the values themselves, each bit of each modality in units of its root mean square, instead of signs.

    Returns
    -------
    list of float64 arrays of shape (n, n_bits)

    Examples
    --------
    >>> from diffhash import Pairs
    >>> couples = ResolvedCouples.of_pairs(Pairs(positive=([0, 0, 0], [0, 1, 2])).resolve(2, 3))
    >>> partner_consensus([np.array([[1.0], [1.0]]), np.array([[5.0], [-1.0], [2.0]])], couples)[0].round(2)
    array([[0.33],
           [0.  ]])
    """
    signs = [_unit_mean_square(each) if real_valued else np.where(each >= 0, 1.0, -1.0) for each in values]
    totals, counts = [np.zeros_like(each) for each in signs], [np.zeros((len(each), 1)) for each in signs]
    within_known = {couple.first for couple in couples if couple.within}
    for couple in couples:
        pairs, sides = couple.pairs, couple.sides
        sums: list[tuple[int, FloatArray, FloatArray]] = []
        if couple.within:
            sums.append((sides[0], *_partners_within(signs[sides[0]], pairs)))
        else:
            sums.append((sides[0], *_partner_sums(signs[sides[1]], pairs)))
            sums.append((sides[1], *_partner_sums(signs[sides[0]], _flipped(pairs))))
            if within_classes and pairs.positive is None and pairs.groups is not None:
                # Rows of one class are similar within a modality as well.
                for side, groups in zip(sides, (pairs.groups.x, pairs.groups.y), strict=True):
                    if side not in within_known:
                        within_known.add(side)
                        sums.append((side, *_class_sums(signs[side], groups, pairs.groups)))
        for side, total, count in sums:
            known = count > 0
            totals[side] += np.where(known, total / np.where(known, count, 1.0), 0.0)
            counts[side] += known
    return [total / np.maximum(count, 1.0) for total, count in zip(totals, counts, strict=True)]


def _unit_mean_square(values: FloatArray) -> FloatArray:
    scale = np.sqrt(np.mean(np.square(values, dtype=np.float64), axis=0))
    return np.asarray(values / np.where(scale > 0, scale, 1.0))


def _flipped(pairs: ResolvedPairs) -> ResolvedPairs:
    """The same positives with the two views exchanged."""
    positive = None if pairs.positive is None else pairs.positive[::-1]
    groups = None if pairs.groups is None else pairs.groups.flipped()
    return ResolvedPairs(
        pairs.n_y, pairs.n_x, pairs.one_view, positive, None, groups, positive_weights=pairs.positive_weights
    )


def _partner_sums(signs: FloatArray, pairs: ResolvedPairs) -> tuple[FloatArray, FloatArray]:
    """For each row of the first view: the sum of its partners' signs in the second view, and how many there are."""
    if pairs.positive is not None:
        return _listed_sums(signs, pairs)
    groups = pairs.groups
    assert groups is not None, "without labels the positives are always listed"
    sums, sizes = _group_tables(signs, groups.y, groups)
    return sums[groups.x], sizes[groups.x]


def _listed_sums(signs: FloatArray, pairs: ResolvedPairs) -> tuple[FloatArray, FloatArray]:
    assert pairs.positive is not None
    matrix: Any = incidence(pairs.positive, pairs.n_x, pairs.n_y, np.float64, pairs.positive_weights)
    return np.asarray(matrix @ signs), np.asarray(matrix.sum(axis=1)).reshape(-1, 1)


def _partners_within(signs: FloatArray, pairs: ResolvedPairs) -> tuple[FloatArray, FloatArray]:
    """The same for pairs within one view, which are unordered."""
    if pairs.positive is None:
        assert pairs.groups is not None, "without labels the positives are always listed"
        return _class_sums(signs, pairs.groups.x, pairs.groups)
    (there, n_there), (back, n_back) = _listed_sums(signs, pairs), _listed_sums(signs, _flipped(pairs))
    return there + back, n_there + n_back


def _class_sums(signs: FloatArray, rows: IntArray, groups: LabelGroups) -> tuple[FloatArray, FloatArray]:
    """For each row, the sum over the other rows of the same view with a common label."""
    sums, sizes = _group_tables(signs, rows, groups)
    itself = groups.self_related()[rows][:, None]
    return sums[rows] - itself * signs, sizes[rows] - itself


def _group_tables(signs: FloatArray, rows: IntArray, groups: LabelGroups) -> tuple[FloatArray, FloatArray]:
    """For each group: sum and number of the rows of all similar groups."""
    members: Any = incidence((rows, np.arange(len(rows))), groups.n_groups, len(rows), np.float64)
    sizes = np.bincount(rows, minlength=groups.n_groups).astype(np.float64)[:, None]
    return groups.related(np.asarray(members @ signs)), groups.related(sizes)


def reliability_slopes(values: FloatArray, consensus: FloatArray) -> FloatArray:
    r"""Slopes of the logistic curves that predict the consensus of the partners, one for each bit.

    With the value z scaled to a mean square of 1, the slope of bit b minimises

    .. math:: \sum_i |c_{ib}| \log\left(1 + e^{-s\,\mathrm{sign}(c_{ib}) z_{ib}}\right) + 2 (s - \bar s)^2

    where :math:`\bar s` is the slope of all bits together: few held-out rows cannot tell bits apart.

    Parameters
    ----------
    values : array of shape (n, n_bits)
        Projections of held-out rows of one modality.
    consensus : array of shape (n, n_bits)
        See :func:`partner_consensus`.

    Returns
    -------
    positive float64 array of shape (n_bits,)
        Factors of the projections.

    Examples
    --------
    The second bit is as often right as wrong:

    >>> z = np.tile([[1.0, 1.0], [-1.0, -1.0]], (50, 1))
    >>> right = np.where(np.arange(100)[:, None] % 10 > [0, 4], np.sign(z), -np.sign(z))
    >>> reliability_slopes(z, right).round(1)
    array([1.8, 0.1])
    """
    weights, signed = np.abs(consensus), np.where(consensus >= 0, values, -values).astype(np.float64)
    scale = np.sqrt(np.mean(signed**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    signed = signed / scale
    n_bits = values.shape[1]
    common = _slope(weights.reshape(-1, 1), signed.reshape(-1, 1), np.zeros(1), n_bits * _COMMON_PRECISION)
    slopes = _slope(weights, signed, np.repeat(common, n_bits), _BIT_PRECISION)
    return np.asarray(np.maximum(slopes, _SMALLEST_SLOPE) / scale)


def _slope(weights: FloatArray, signed: FloatArray, prior: FloatArray, precision: float) -> FloatArray:
    """Zero of the derivative of the penalised loss, for each column; the loss is convex."""
    # At the zero, the pull of the prior equals that of the rows, which is at most this.
    reach = np.einsum("ij,ij->j", weights, np.abs(signed)) / precision
    low, high = prior - reach, prior + reach
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        pull = np.einsum("ij,ij,ij->j", weights, signed, expit(-middle * signed))
        rising = precision * (middle - prior) > pull
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray((low + high) / 2)
