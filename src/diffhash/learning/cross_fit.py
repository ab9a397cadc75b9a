r"""How strong directions are on objects that they were not learned from.

With many features and few objects every covariance difference has strong directions, also that of
shuffled objects. So the objects are split into folds. Directions are learned without one fold, and their
*strength* is measured on the pairs within it: the mean product of the two sides over the positives minus
that over the negatives, divided by the standard deviations of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..maps import MappedView
from ..maps.learning_space import plain_view, row_space
from ..maps.whitening import Spectrum, spectrum, stronger_shrinkage
from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..pairs.labels import LabelGroups
from ..pairs.objects import HeldOutCouples, hold_out_couples
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray, IntArray, PairIndex
from .block_difference import JointDirections, block_difference, block_directions
from .moments import incidence
from .view_difference import DifferenceSettings

__all__ = [
    "CrossFit",
    "Shrinkage",
    "cross_fitted_strengths",
    "determined",
    "pair_correlations",
    "useful_rank",
]

#: Number of folds, and largest number of objects of each view in all folds together.
N_FOLDS, MAX_OBJECTS = 4, 2000
#: Number of times that the held-out objects are shuffled.
N_SHUFFLES = 19
#: Number of directions whose strength is measured, by default.
N_DIRECTIONS = 64
#: Strengths below this share of the largest are rounding errors of float32 features.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Shrinkage:
    """Shrinkage of the covariance of one view.

    Attributes
    ----------
    value : float or None
        The shrinkage; None for a multiple of the one of Ledoit and Wolf.
    factor : float
        If ``value`` is None: the factor of the odds, see
        :func:`~diffhash.maps.whitening.stronger_shrinkage`.
    """

    value: float | None = None
    factor: float = 1.0

    def of(self, view: Spectrum) -> float:
        """The shrinkage of features with this covariance."""
        return stronger_shrinkage(view.ledoit_wolf, self.factor) if self.value is None else self.value


@dataclass(frozen=True)
class CrossFit:
    """Strengths of directions on held-out pairs.

    Attributes
    ----------
    strengths : array of shape (k,)
        Mean over the folds of the strength of the first, second, ... direction.
    chance : array of shape (k,)
        The largest such mean when held-out objects are shuffled.
    """

    strengths: FloatArray
    chance: FloatArray

    @property
    def rank(self) -> int:
        """Number of useful directions, see :func:`useful_rank`."""
        return useful_rank(self.strengths, self.chance)

    @property
    def limit(self) -> int | None:
        """Largest number of directions to use; None if every measured direction is useful.

        A fold may lack a class, and so have fewer directions than all objects have. So nothing is known
        about the directions after the last measured one.
        """
        return None if self.rank == len(self.strengths) else self.rank

    def first(self, rank: int) -> FloatArray:
        """Strengths of the first directions; those that were not measured are as strong as the last."""
        return self.strengths[np.minimum(np.arange(rank), len(self.strengths) - 1)]

    @property
    def total(self) -> float:
        """Sum of the squared strengths of the useful directions: how much all of them tell together."""
        return float(np.square(np.maximum(self.strengths[: self.rank], 0.0)).sum())


def useful_rank(strengths: FloatArray, chance: FloatArray) -> int:
    """Number of directions that are stronger than by chance; at least 1.

    The sum of ``strengths - chance`` over the first directions is largest for this number. A single weak
    direction before strong ones is kept, a single lucky one after many weak ones is not.

    Examples
    --------
    >>> useful_rank(np.array([0.9, 0.1, 0.5, 0.0, 0.2]), np.full(5, 0.15))
    3
    """
    return int(np.argmax(np.cumsum(strengths - chance))) + 1


def cross_fitted_strengths(
    views: Sequence[FloatArray | MappedView],
    couples: ResolvedCouples,
    settings: DifferenceSettings,
    candidates: Sequence[Sequence[Shrinkage | None]],
    rng: np.random.Generator,
    *,
    n_directions: int = N_DIRECTIONS,
    n_folds: int = N_FOLDS,
    max_objects: int = MAX_OBJECTS,
    n_features: Sequence[int] | None = None,
) -> list[CrossFit]:
    """Strengths of the directions of the covariance difference on pairs that they were not learned from.

    Parameters
    ----------
    views : list of arrays of shape (n, d), or MappedView
        One for each modality.
    couples : ResolvedCouples
        With several couples, a strength is the mean over the couples, by their weights.
    settings : DifferenceSettings
    candidates : list of (shrinkage of the first view, ...)
        Ways to whiten; None: the view is not whitened.
    rng : Generator
        Draws the folds and shuffles the held-out objects.
    n_directions : int
        Number of directions whose strength is measured, if there are so many.
    n_folds, max_objects : int
        Number of folds, and largest number of objects of each view in all of them together.
    n_features : list of int, optional
        Number of features of each view, if the views are coordinates in the space of their rows.

    Returns
    -------
    list of CrossFit
        One per candidate. Empty if there are too few objects: no fold has both a positive and a negative
        pair.

    Examples
    --------
    >>> import diffhash as dh
    >>> from diffhash.pairs.couples import ResolvedCouples
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 6))
    >>> y = x[:, :2] + 0.5 * rng.normal(size=(200, 2))
    >>> pairs = dh.Pairs.aligned(200).resolve(200, 200, caller="example")
    >>> couples = ResolvedCouples.of_pairs(pairs)
    >>> white = (Shrinkage(0.0), Shrinkage(0.0))
    >>> found = cross_fitted_strengths([x, y], couples, DifferenceSettings(1.0), [white], rng)
    >>> found[0].rank, found[0].strengths.round(1)
    (2, array([0.9, 0.9]))
    """
    mapped = [plain_view(side) if isinstance(side, np.ndarray) else side for side in views]
    sizes = [view.n_features for view in mapped] if n_features is None else list(n_features)
    strengths: list[list[FloatArray]] = [[] for _ in candidates]
    shuffled: list[list[FloatArray]] = [[] for _ in candidates]
    for split in hold_out_couples(couples, 1.0 / n_folds, max_objects, rng, n_folds):
        fold = _Fold(mapped, sizes, split, settings)
        scored = [replace(c, pairs=_with_groups_that_occur(c.pairs)) for c in split.scored]
        for number, candidate in enumerate(candidates):
            values = fold.held_out_values(candidate, n_directions)
            real, null = zip(*(_couple_correlations(values, couple, rng) for couple in scored), strict=True)
            weights = [couple.weight for couple in scored]
            strengths[number].append(np.average(real, axis=0, weights=weights))
            shuffled[number].append(np.average(null, axis=0, weights=weights))
    return [
        CrossFit(_mean_over_folds(real), _mean_over_folds(null).max(axis=0))
        for real, null in zip(strengths, shuffled, strict=True)
        if real
    ]


def _couple_correlations(
    values: Sequence[FloatArray], couple: ResolvedCouple, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Correlations of a couple, of shape (k,), and the same after shuffling, of shape (N_SHUFFLES, k)."""
    p, q = values[couple.first], values[couple.second]
    return pair_correlations(p, q, couple.pairs), _shuffled_correlations(p, q, couple.pairs, rng)


class _Fold:
    """Principal coordinates of the rows of one split, and the covariance differences of its fit part."""

    def __init__(
        self,
        views: Sequence[MappedView],
        n_features: Sequence[int],
        split: HeldOutCouples,
        settings: DifferenceSettings,
    ) -> None:
        self._sides = [
            _principal_coordinates(view, size, fit_rows, scored_rows)
            for view, size, fit_rows, scored_rows in zip(
                views, n_features, split.fit_rows, split.scored_rows, strict=True
            )
        ]
        self._difference = block_difference(
            [plain_view(fit) for _, fit, _ in self._sides], split.fit, settings
        )

    def held_out_values(self, candidate: Sequence[Shrinkage | None], n_directions: int) -> list[FloatArray]:
        """Projections of the scored rows of each view, of shape (n_scored, k)."""
        scales = [
            np.ones(len(covariance.variances)) if how is None else covariance.scales(how.of(covariance))
            for (covariance, _, _), how in zip(self._sides, candidate, strict=True)
        ]
        matrix = self._difference.scaled(scales)
        found = determined(block_directions(matrix, n_directions, exact=False))
        return [
            scored @ (scale[:, None] * directions.T)
            for (_, _, scored), scale, directions in zip(self._sides, scales, found.parts, strict=True)
        ]


def determined(found: JointDirections) -> JointDirections:
    """Directions whose strength is not a rounding error; at least one."""
    strengths = found.strengths[: len(found.parts[0])]
    return found.first(max(1, int((strengths > _ROUNDING * strengths[0]).sum())))


def _principal_coordinates(
    view: MappedView, n_features: int, fit_rows: IntArray, scored_rows: IntArray
) -> tuple[Spectrum, FloatArray, FloatArray]:
    """Covariance of the fit rows, and coordinates of the fit rows and the scored rows along its eigenvectors."""
    fit, scored = view.centred_rows(fit_rows), view.centred_rows(scored_rows)
    mean = fit.mean(axis=0)
    coordinates, basis = plain_view(fit - mean), None
    if fit.shape[1] > len(fit):
        coordinates, basis = row_space(coordinates)
    covariance = spectrum(coordinates, n_features)
    turned = covariance.vectors if basis is None else basis.spread(covariance.vectors.T).T
    return covariance, coordinates.X @ covariance.vectors, (scored - mean) @ turned


def _with_groups_that_occur(pairs: ResolvedPairs) -> ResolvedPairs:
    """The same pairs without groups that have no rows: there may be many more groups than rows."""
    groups = pairs.groups
    if groups is None:
        return pairs
    present = np.union1d(groups.x, groups.y)
    x, y = (np.searchsorted(present, side) for side in (groups.x, groups.y))
    sets = None if groups.sets is None else groups.sets[present]
    return replace(pairs, groups=LabelGroups(x, y, len(present), sets))


def pair_correlations(p: FloatArray, q: FloatArray, pairs: ResolvedPairs) -> FloatArray:
    """For each column: mean of p q over the positives minus that over the negatives, over the deviations.

    Parameters
    ----------
    p, q : arrays of shape (n, k), (n', k)
        The same array with one view.
    pairs : ResolvedPairs

    Returns
    -------
    array of shape (k,)
        0 for a constant column.

    Examples
    --------
    >>> import diffhash as dh
    >>> p = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    >>> pairs = dh.Pairs.from_labels([0, 1, 0, 1], [0, 1, 0, 1]).resolve(4, 4, caller="example")
    >>> pair_correlations(p, p, pairs)
    array([2.])
    """
    p, q = p - p.mean(axis=0), q - q.mean(axis=0)
    positive, negative = _diagonal_sums(p, q, pairs)
    deviations = p.std(axis=0) * q.std(axis=0)
    means = positive / (pairs.positive_mass or 1.0) - negative / (pairs.negative_mass or 1.0)
    return np.asarray(means / np.where(deviations > 0, deviations, np.inf))


def _diagonal_sums(p: FloatArray, q: FloatArray, pairs: ResolvedPairs) -> tuple[FloatArray, FloatArray]:
    """Sums of p q over the positives and over the negatives, for each column."""
    own = np.square(p) if pairs.one_view else np.zeros_like(p)
    half = 0.5 if pairs.one_view else 1.0

    def listed(index: PairIndex | None, weights: FloatArray | None = None) -> FloatArray:
        if index is None:
            return np.zeros(p.shape[1])
        left = p[index[0]] if weights is None else p[index[0]] * weights[:, None]
        return np.asarray(np.einsum("ij,ij->j", left, q[index[1]]))

    def related() -> FloatArray:
        groups = pairs.groups
        assert groups is not None
        sums = [
            incidence((rows, np.arange(len(rows))), groups.n_groups, len(rows), np.float64) @ values
            for rows, values in ((groups.x, p), (groups.y, q))
        ]
        similar = groups.self_related()[groups.x]
        every = np.einsum("ij,ij->j", sums[0], groups.related(sums[1]))
        return np.asarray(half * (every - own[similar].sum(axis=0)))

    return pairs.scheme.compose(
        listed(pairs.positive, pairs.positive_weights),
        listed(pairs.negative, pairs.negative_weights),
        related,
        lambda: half * (p.sum(axis=0) * q.sum(axis=0) - own.sum(axis=0)),
        listed(pairs.positive) if pairs.scheme.counts_positives else None,
    )


def _shuffled_correlations(
    p: FloatArray, q: FloatArray, pairs: ResolvedPairs, rng: np.random.Generator
) -> FloatArray:
    """Correlations after shuffling one view (the only one, with one view), of shape (N_SHUFFLES, k)."""
    found = []
    for _ in range(N_SHUFFLES):
        order = rng.permutation(len(q))
        found.append(pair_correlations(p[order] if pairs.one_view else p, q[order], pairs))
    return np.array(found)


def _mean_over_folds(values: list[FloatArray]) -> FloatArray:
    """Mean of arrays whose last axes may differ: of the first, second, ... direction of each."""
    k = min(each.shape[-1] for each in values)
    return np.asarray(np.mean([each[..., :k] for each in values], axis=0))
