"""One split of paired objects: directions from one part, judged on the other part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ...errors import InputError, ParameterError
from ...learning.paired_directions import (
    PairedDirections,
    PrincipalAxes,
    covariance_blocks,
    decreasing_strengths,
    held_out_strengths,
    pair_covariance,
    paired_directions,
)
from ...maps import FeatureMap, MappedView
from ...maps.landmarks import choose_landmarks, random_landmarks
from ...maps.learning_space import RowBasis
from ...maps.mapped_view import block_rows
from ...maps.representation import Representation, fit_representation
from ...maps.wide_rows import WideRows, fit_linear_rows
from ...pairs.couples import ResolvedCouple, ResolvedCouples
from ...pairs.objects import HeldOutCouples
from ...pairs.resolved import ResolvedPairs
from ...threads import in_threads
from ...types import FloatArray, IntArray, PairIndex
from .couple_needs import multiply_weights
from .couple_scores import weighted_mean
from .fit_options import ViewSetting

__all__ = [
    "DirectionSetting",
    "PairTrial",
    "ViewBasis",
    "distinct_landmarks",
    "fit_basis",
    "score_similarities",
    "trial_rank",
]

#: Landmarks and components of each view in a trial, and components of all views together.
_TRIAL_LANDMARKS, _TRIAL_RANK, _TOTAL_TRIAL_RANK = 300, 300, 900
#: Listed pairs of each kind from which directions are learned in a trial.
_TRIAL_LISTED = 20_000
#: Largest number of directions.
MAX_DIRECTIONS = 256


#: One setting for each view.
DirectionSetting = tuple[ViewSetting, ...]


@dataclass(frozen=True)
class ViewBasis:
    """A fitted representation: map, principal axes, and coordinates of the rows along them.

    With very many sparse features, the axes are those of coordinates in a basis of the space of the rows.
    """

    map: FeatureMap
    axes: PrincipalAxes
    coordinates: FloatArray
    rows: RowBasis | None = None

    def projection(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Projection of the mapped features, and what to add, for weights (rank, n_bits) of the coordinates."""
        found = np.asarray((self.axes.directions @ weights).T, dtype=np.float64)
        constant = -(found @ self.axes.mean)
        return (found if self.rows is None else self.rows.spread(found)), constant


def trial_rank(n_views: int) -> int:
    """Largest number of principal coordinates of each view in a trial."""
    return min(_TRIAL_RANK, _TOTAL_TRIAL_RANK // n_views)


def fit_basis(
    X: Any,
    representation: Representation,
    landmarks: FloatArray | None,
    *,
    max_rank: int,
    who: str,
) -> ViewBasis:
    """Fit a representation and its principal axes to the rows of a view. Linear features ignore landmarks."""
    rows, in_rows = None, None
    if representation.features == "linear" and scipy.sparse.issparse(X) and WideRows.suits(X):
        in_rows = fit_linear_rows(X, representation, who=who)
    if in_rows is not None:
        fitted, view, rows = in_rows
    else:
        fitted = fit_representation(X, representation, landmarks, who=who)
        view = MappedView(X, fitted)
    # Signs of components are arbitrary. Those of the products of rows do not depend on how rows are represented.
    axes = PrincipalAxes.of(view, max_rank, by_rows=rows is not None).normalised()
    coordinates = axes.coordinates(view)
    return ViewBasis(fitted, axes.measured_on(coordinates), coordinates, rows)


class PairTrial:
    """Directions of all settings on one split. What several settings share is computed once.

    Parameters
    ----------
    views : list of arrays
    split : HeldOutCouples
    random_state : int or None
    who : list of str
        Prefix of error messages of each view.
    wide : list of WideRows or None, optional
        All rows of views that have very many features, if there are not too many rows.
    """

    def __init__(
        self,
        views: list[Any],
        split: HeldOutCouples,
        random_state: int | None,
        who: list[str],
        wide: Sequence[WideRows | None] | None = None,
    ) -> None:
        self.split = split
        self._rows = [
            _TrialRows.of(view, fit_rows, scored_rows, known)
            for view, fit_rows, scored_rows, known in zip(
                views, split.fit_rows, split.scored_rows, wide or [None] * len(views), strict=True
            )
        ]
        self._max_rank = trial_rank(len(views))
        self._random_state = random_state
        self._learned = _fewer_listed(split.fit, _TRIAL_LISTED, random_state)
        self._who = who
        #: Of each setting that was scored: the score with weights from the learning objects alone.
        self.plain_scores: dict[DirectionSetting, float] = {}
        self._bases: dict[tuple[int, Representation], tuple[ViewBasis, FloatArray] | None] = {}
        self._landmarks: dict[int, IntArray] = {}
        self._covariances: dict[tuple[int, int, Representation, Representation], FloatArray] = {}

    def with_weights(self, factors: Mapping[tuple[int, int], float]) -> PairTrial:
        """The same split, with other weights of the couples while learning; the judge keeps the old ones.

        Parameters
        ----------
        factors : dict of float by (view, view)
            The weight of a couple is multiplied by its factor.
        """
        other = copy(self)
        other.split = replace(self.split, fit=multiply_weights(self.split.fit, factors))
        other._learned = multiply_weights(self._learned, factors)
        other.plain_scores = {}
        return other

    def score(self, setting: DirectionSetting) -> float:
        """Score of real-valued similarities of the held-out objects; 0 if the setting cannot be fitted."""
        if not self.can_fit(setting):
            return 0.0
        found, of_views = self._learn_directions(setting)
        scored = self._values(setting, of_views, scored=True)
        couples = self.split.scored
        held_out = decreasing_strengths([held_out_strengths(scored, couples)])
        scores = []
        for strengths in (None, held_out):
            weighted = []
            for side, values in enumerate(scored):
                if strengths is None:
                    weights = found.strengths
                else:
                    deviations = values.std(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
                    weights = strengths[side] / deviations
                weighted.append(_unit(values * weights.astype(values.dtype)))
            scores.append(_score_of_couples(weighted, couples))
        self.plain_scores[setting] = scores[0]
        return max(scores)

    def prepare(self, settings: Sequence[DirectionSetting]) -> None:
        """Compute what several of the settings share, at the same time and each only once."""
        for side in range(len(self._rows)):
            if any(setting[side].representation.features == "kernel" for setting in settings):
                # If there are no landmarks, no kernel of the view can be fitted, and `_basis` says so.
                with suppress(InputError):
                    self._landmarks_of(side)
        needed = [(side, view.representation) for setting in settings for side, view in enumerate(setting)]
        wide = {(side, self._rows[side].key(r)): (side, r) for side, r in needed}
        in_threads(lambda key: self._rows[key[0]].prepare(key[1], who=self._who[key[0]]), list(wide.values()))
        in_threads(lambda key: self._basis(*key), list(dict.fromkeys(needed)))
        distinct = {tuple(view.representation for view in setting): setting for setting in settings}
        in_threads(self._prepare_covariances, [s for s in distinct.values() if self.can_fit(s)])

    def _prepare_covariances(self, setting: DirectionSetting) -> None:
        coordinates = [basis.coordinates for basis, _ in self._bases_of(setting)]
        for couple in self._learned:
            self._covariance(setting, coordinates, couple)

    def can_fit(self, setting: DirectionSetting) -> bool:
        """Whether the setting can be fitted to so few objects; for example, they may all be equal."""
        return all(self._basis(side, view.representation) is not None for side, view in enumerate(setting))

    def directions(
        self, setting: DirectionSetting
    ) -> tuple[PairedDirections, list[FloatArray], list[FloatArray]]:
        """Paired directions, and for each view the values of the fit rows and of the held-out rows."""
        found, weights = self._learn_directions(setting)
        return (
            found,
            self._values(setting, weights, scored=False),
            self._values(setting, weights, scored=True),
        )

    def _learn_directions(self, setting: DirectionSetting) -> tuple[PairedDirections, list[FloatArray]]:
        """Paired directions, and for each view the weights of its coordinates."""
        bases = [basis for basis, _ in self._bases_of(setting)]
        covariances = covariance_blocks(
            [basis.coordinates for basis in bases], self._learned, partial(self._covariance, setting)
        )
        scales = [basis.axes.scales(view.ridge) for basis, view in zip(bases, setting, strict=True)]
        found = paired_directions(covariances, scales, MAX_DIRECTIONS)
        return found, [s[:, None] * d for s, d in zip(scales, found.parts, strict=True)]

    def _values(
        self, setting: DirectionSetting, weights: list[FloatArray], *, scored: bool
    ) -> list[FloatArray]:
        """For each view, values of the held-out rows along the directions, or of the fit rows."""
        of_views = [rows if scored else basis.coordinates for basis, rows in self._bases_of(setting)]
        return [values @ w.astype(values.dtype) for values, w in zip(of_views, weights, strict=True)]

    def _bases_of(self, setting: DirectionSetting) -> list[tuple[ViewBasis, FloatArray]]:
        bases = []
        for side, view in enumerate(setting):
            basis = self._basis(side, view.representation)
            assert basis is not None, "the representation cannot be fitted"
            bases.append(basis)
        return bases

    def _covariance(
        self, setting: DirectionSetting, coordinates: Sequence[FloatArray], couple: ResolvedCouple
    ) -> FloatArray:
        """The covariance of a couple, computed once for two representations."""
        u, v = couple.sides
        key = u, v, setting[u].representation, setting[v].representation
        if key not in self._covariances:
            self._covariances[key] = pair_covariance(coordinates, couple)
        return self._covariances[key]

    def _basis(self, side: int, representation: Representation) -> tuple[ViewBasis, FloatArray] | None:
        key = side, representation
        if key not in self._bases:
            landmarks = None
            try:
                if representation.features == "kernel":
                    landmarks = self._landmarks_of(side)
                used = self._rows[side].compared(representation, landmarks, who=self._who[side])
                basis = fit_basis(
                    used.fit,
                    used.representation,
                    used.landmarks,
                    max_rank=self._max_rank,
                    who=self._who[side],
                )
            except (InputError, ParameterError):
                self._bases[key] = None
            else:
                scored = basis.axes.coordinates(MappedView(used.scored, basis.map))
                finite = np.isfinite(scored).all() and np.isfinite(basis.coordinates).all()
                self._bases[key] = (basis, scored) if finite else None
        return self._bases[key]

    def _landmarks_of(self, side: int) -> IntArray:
        """Positions of the landmarks of a view among the fit rows; all metrics and widths share them."""
        if side not in self._landmarks:
            rng = np.random.default_rng(self._random_state)
            found = random_landmarks(self._rows[side].fit, _TRIAL_LANDMARKS, rng)
            _check_landmarks(found, _TRIAL_LANDMARKS, who=self._who[side])
            self._landmarks[side] = found
        return self._landmarks[side]


@dataclass(frozen=True)
class _Compared:
    """What a representation is fitted to: rows, or their coordinates with the representation that means the same."""

    representation: Representation
    fit: Any
    scored: Any
    landmarks: FloatArray | None


@dataclass(frozen=True)
class _TrialRows:
    """The rows of a view in a trial.

    Attributes
    ----------
    fit, scored : arrays of shape (n, n_features), dense or CSR
    wide : WideRows or None
        Given if there are very many features; the two arrays of positions are those of the rows in it.
    """

    fit: Any
    scored: Any
    wide: WideRows | None
    fit_positions: IntArray
    scored_positions: IntArray

    @classmethod
    def of(cls, X: Any, fit_rows: IntArray, scored_rows: IntArray, wide: WideRows | None) -> _TrialRows:
        n_fit, n = len(fit_rows), len(fit_rows) + len(scored_rows)
        positions = fit_rows, scored_rows
        if wide is None and WideRows.suits(X, n):
            wide = WideRows(X[np.concatenate(positions)])
            positions = np.arange(n_fit), np.arange(n_fit, n)
        return cls(X[fit_rows], X[scored_rows], wide, *positions)

    def key(self, representation: Representation) -> Any:
        """Equal for representations with the same coordinates."""
        return None if self.wide is None else self.wide.key(representation.metric, self.fit_positions)

    def prepare(self, representation: Representation, *, who: str) -> None:
        """Compute the coordinates of the rows, if the representation is compared in them."""
        # If they cannot be computed, the representation cannot be fitted, and `_basis` says so.
        with suppress(InputError, ParameterError):
            if self.wide is not None and self.wide.metric(representation.metric) is not None:
                self.wide.coordinates(representation.metric, self.fit_positions, who=who)

    def compared(self, representation: Representation, landmarks: IntArray | None, *, who: str) -> _Compared:
        """What the representation is fitted to."""
        metric = None if self.wide is None else self.wide.metric(representation.metric)
        fit, scored = self.fit, self.scored
        found = None
        if self.wide is not None and metric is not None:
            found = self.wide.coordinates(representation.metric, self.fit_positions, who=who)
        if found is not None and metric is not None:
            fit, scored = found[self.fit_positions], found[self.scored_positions]
            representation = replace(representation, metric=metric)
        points = None
        if landmarks is not None:
            taken = fit[landmarks]
            points = np.asarray(taken.toarray() if scipy.sparse.issparse(taken) else taken)
        return _Compared(representation, fit, scored, points)


def _score_of_couples(values: list[FloatArray], couples: ResolvedCouples) -> float:
    """The weighted mean score of similarities over the couples."""
    return weighted_mean(couples, lambda c: score_similarities(values[c.first], values[c.second], c.pairs))


def score_similarities(x: FloatArray, y: FloatArray, pairs: ResolvedPairs) -> float:
    """Score products of rows as similarities; higher is better.

    If positive and negative pairs are listed, this is the probability that a positive pair is more similar
    than a negative one. Otherwise it is the mean reciprocal rank of the positives, of both directions. Ties
    count as half. Pairs count by their weights.

    Parameters
    ----------
    x, y : arrays of shape (n, k), (n', k)
    pairs : ResolvedPairs

    Examples
    --------
    >>> from diffhash import Pairs
    >>> score_similarities(np.eye(2), np.eye(2), Pairs.aligned(2).resolve(2, 2))
    1.0
    """
    if pairs.positive is not None and pairs.negative is not None:
        near, far = (np.einsum("ij,ij->i", x[i], y[j]) for i, j in (pairs.positive, pairs.negative))
        order = np.argsort(far)
        weights = np.ones(len(far)) if pairs.negative_weights is None else pairs.negative_weights[order]
        mass, far = np.r_[0.0, np.cumsum(weights)], far[order]
        below = mass[np.searchsorted(far, near, "left")] + mass[np.searchsorted(far, near, "right")]
        return float(np.average(below, weights=pairs.positive_weights) / (2 * mass[-1]))
    similarities = x @ y.T
    i, j = _all_positives(pairs)
    # In units of their mean, so that they sum to the number of pairs.
    weights = np.ones(len(i)) if pairs.positive_weights is None else pairs.positive_weights
    weights = weights / (weights.mean() if len(weights) else 1.0)
    if pairs.one_view:
        np.fill_diagonal(similarities, -np.inf)
        return _mean_reciprocal_rank(similarities, (np.r_[i, j], np.r_[j, i]), np.tile(weights, 2))
    directions = (similarities, (i, j)), (similarities.T, (j, i))
    return sum(_mean_reciprocal_rank(*direction, weights) for direction in directions) / 2


def _mean_reciprocal_rank(similarities: FloatArray, index: PairIndex, weights: FloatArray) -> float:
    total, (i, j) = 0.0, index
    for rows in block_rows(len(i), similarities.shape[1]):
        own = similarities[i[rows], j[rows]][:, None]
        others = similarities[i[rows]]
        # The own item is one of the ties.
        ranks = (others > own).sum(axis=1) + ((others == own).sum(axis=1) + 1) / 2
        total += float((weights[rows] / ranks).sum())
    return total / max(len(i), 1)


def _all_positives(pairs: ResolvedPairs) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row numbers of the positives, also of those that labels imply. There are few rows."""
    groups = pairs.groups
    if groups is None:
        assert pairs.positive is not None, "without labels the positives are always listed"
        return pairs.positive
    if groups.sets is None:
        similar = groups.x[:, None] == groups.y
    else:
        similar = groups.sets[groups.x].astype(np.float32) @ groups.sets[groups.y].T.astype(np.float32) > 0
    i, j = np.nonzero(np.triu(similar, 1) if pairs.one_view else similar)
    return i, j


def _fewer_listed(couples: ResolvedCouples, limit: int, random_state: int | None) -> ResolvedCouples:
    """The same pairs with at most ``limit`` listed pairs of each kind of a couple, if both kinds are listed."""
    found = []
    for couple in couples:
        pairs = couple.pairs
        if pairs.positive is not None and pairs.negative is not None:
            rng = np.random.default_rng(random_state)
            positive, positive_weights = _draw(pairs.positive, pairs.positive_weights, limit, rng)
            negative, negative_weights = _draw(pairs.negative, pairs.negative_weights, limit, rng)
            pairs = replace(
                pairs,
                positive=positive,
                negative=negative,
                aligned=False,
                positive_weights=positive_weights,
                negative_weights=negative_weights,
            )
        found.append(replace(couple, pairs=pairs))
    return replace(couples, couples=tuple(found))


def _draw(
    index: PairIndex, weights: FloatArray | None, limit: int, rng: np.random.Generator
) -> tuple[PairIndex, FloatArray | None]:
    """At most ``limit`` of listed pairs, in their order, and their weights."""
    rows = np.sort(rng.permutation(len(index[0]))[:limit])
    return (index[0][rows], index[1][rows]), None if weights is None else weights[rows]


def distinct_landmarks(X: Any, n_landmarks: int, random_state: int | None, *, who: str) -> FloatArray:
    """Random rows; every different row if there are fewer."""
    landmarks = choose_landmarks(X, n_landmarks, "random", random_state, caller=who, modality=who)
    _check_landmarks(landmarks, n_landmarks, who=who)
    return landmarks


def _check_landmarks(landmarks: Any, n_landmarks: int, *, who: str) -> None:
    if len(landmarks) < 2 and n_landmarks > 1:
        raise InputError(f"{who}: every feature is constant, so nothing can be learned. Give other features.")


def _unit(values: FloatArray) -> FloatArray:
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    return np.asarray(values / np.where(lengths > 0, lengths, 1.0)[:, None])
