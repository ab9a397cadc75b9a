"""One split of paired objects: directions from one part, judged on the other part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, ParameterError
from ...learning.paired_directions import (
    PairedDirections,
    PrincipalAxes,
    decreasing_strengths,
    held_out_strengths,
    pair_covariance,
    paired_directions,
)
from ...maps import FeatureMap, MappedView
from ...maps.landmarks import choose_landmarks
from ...maps.mapped_view import block_rows
from ...maps.representation import Representation, fit_representation
from ...pairs.holdout import HeldOut
from ...pairs.resolved import ResolvedPairs
from ...types import FloatArray

__all__ = [
    "DirectionSetting",
    "PairTrial",
    "ViewBasis",
    "ViewSetting",
    "distinct_landmarks",
    "fit_basis",
    "score_similarities",
]

#: Landmarks and components of each view in a trial.
_TRIAL_LANDMARKS, _TRIAL_RANK = 300, 300
#: Listed pairs of each kind from which directions are learned in a trial.
_TRIAL_LISTED = 20_000
#: Largest number of directions.
MAX_DIRECTIONS = 256


@dataclass(frozen=True)
class ViewSetting:
    """Representation and ridge of one view."""

    representation: Representation
    ridge: float

    def __str__(self) -> str:
        return f"{self.representation}, ridge {self.ridge:g}"


#: One setting for each view.
DirectionSetting = tuple[ViewSetting, ...]


@dataclass(frozen=True)
class ViewBasis:
    """A fitted representation: map, principal axes, and coordinates of the rows along them."""

    map: FeatureMap
    axes: PrincipalAxes
    coordinates: FloatArray


def fit_basis(
    X: Any,
    representation: Representation,
    landmarks: FloatArray | None,
    *,
    max_rank: int,
    who: str,
) -> ViewBasis:
    """Fit a representation and its principal axes to the rows of a view. Linear features ignore landmarks."""
    fitted = fit_representation(X, representation, landmarks, who=who)
    view = MappedView(X, fitted)
    axes = PrincipalAxes.of(view, max_rank).normalised()
    coordinates = axes.coordinates(view)
    return ViewBasis(fitted, axes.measured_on(coordinates), coordinates)


class PairTrial:
    """Directions of all settings on one split. What several settings share is computed once.

    Parameters
    ----------
    views : list of one or two arrays
    split : HeldOut
    random_state : int or None
    who : list of str
        Prefix of error messages of each view.
    """

    def __init__(self, views: list[Any], split: HeldOut, random_state: int | None, who: list[str]) -> None:
        self.split = split
        self.one_view = split.fit_pairs.one_view
        self._fit_views = [view[rows] for view, rows in zip(views, split.fit_rows, strict=False)]
        self._scored_views = [view[rows] for view, rows in zip(views, split.scored_rows, strict=False)]
        self._random_state = random_state
        self._learned_pairs = _fewer_listed(split.fit_pairs, _TRIAL_LISTED, random_state)
        self._who = who
        #: Of each setting that was scored: the score with weights from the learning objects alone.
        self.plain_scores: dict[DirectionSetting, float] = {}
        self._bases: dict[tuple[int, Representation], tuple[ViewBasis, FloatArray] | None] = {}
        self._landmarks: dict[int, FloatArray] = {}
        self._covariances: dict[tuple[Representation, ...], FloatArray] = {}

    def score(self, setting: DirectionSetting) -> float:
        """Score of real-valued similarities of the held-out objects; 0 if the setting cannot be fitted."""
        if not self.can_fit(setting):
            return 0.0
        found, _, scored = self.directions(setting)
        y = None if self.one_view else scored[-1]
        held_out = decreasing_strengths([held_out_strengths(scored[0], y, self.split.scored_pairs)])
        scores = []
        for power, strengths in ((1.0, found.strengths), (1.0, held_out)):
            weighted = []
            for values in scored:
                weights = strengths**power
                if strengths is held_out:
                    weights = weights / (values.std(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny)
                weighted.append(_unit(values * weights.astype(values.dtype)))
            scores.append(score_similarities(weighted[0], weighted[-1], self.split.scored_pairs))
        self.plain_scores[setting] = scores[0]
        return max(scores)

    def can_fit(self, setting: DirectionSetting) -> bool:
        """Whether the setting can be fitted to so few objects; for example, they may all be equal."""
        return all(self._basis(side, view.representation) is not None for side, view in enumerate(setting))

    def directions(
        self, setting: DirectionSetting
    ) -> tuple[PairedDirections, list[FloatArray], list[FloatArray]]:
        """Paired directions, and for each view the values of the fit rows and of the held-out rows."""
        bases = []
        for side, view in enumerate(setting):
            basis = self._basis(side, view.representation)
            assert basis is not None, "the representation cannot be fitted"
            bases.append(basis)
        key = tuple(view.representation for view in setting)
        if key not in self._covariances:
            x, y = bases[0][0].coordinates, None if self.one_view else bases[-1][0].coordinates
            self._covariances[key] = pair_covariance(x, y, self._learned_pairs)
        scales = [basis.axes.scales(view.ridge) for (basis, _), view in zip(bases, setting, strict=True)]
        found = paired_directions(self._covariances[key], scales, MAX_DIRECTIONS)
        weights = [s[:, None] * d for s, d in zip(scales, (found.x, found.y), strict=False)]
        fitted = [
            b.coordinates @ w.astype(b.coordinates.dtype) for (b, _), w in zip(bases, weights, strict=True)
        ]
        scored = [values @ w.astype(values.dtype) for (_, values), w in zip(bases, weights, strict=True)]
        return found, fitted, scored

    def _basis(self, side: int, representation: Representation) -> tuple[ViewBasis, FloatArray] | None:
        key = side, representation
        if key not in self._bases:
            try:
                basis = fit_basis(
                    self._fit_views[side],
                    representation,
                    self._landmarks_of(side) if representation.features == "kernel" else None,
                    max_rank=_TRIAL_RANK,
                    who=self._who[side],
                )
            except (InputError, ParameterError):
                self._bases[key] = None
            else:
                scored = basis.axes.coordinates(MappedView(self._scored_views[side], basis.map))
                finite = np.isfinite(scored).all() and np.isfinite(basis.coordinates).all()
                self._bases[key] = (basis, scored) if finite else None
        return self._bases[key]

    def _landmarks_of(self, side: int) -> FloatArray:
        """Landmarks of a view; all metrics and widths share them."""
        if side not in self._landmarks:
            self._landmarks[side] = distinct_landmarks(
                self._fit_views[side], _TRIAL_LANDMARKS, self._random_state, who=self._who[side]
            )
        return self._landmarks[side]


def score_similarities(x: FloatArray, y: FloatArray, pairs: ResolvedPairs) -> float:
    """Score products of rows as similarities; higher is better.

    If positive and negative pairs are listed, this is the probability that a positive pair is more similar
    than a negative one. Otherwise it is the mean reciprocal rank of the positives, of both directions. Ties
    count as half.

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
        far = np.sort(far)
        below = np.searchsorted(far, near, "left") + np.searchsorted(far, near, "right")
        return float(below.mean() / (2 * len(far)))
    similarities = x @ y.T
    i, j = _all_positives(pairs)
    if pairs.one_view:
        np.fill_diagonal(similarities, -np.inf)
        return _mean_reciprocal_rank(similarities, np.r_[i, j], np.r_[j, i])
    return (_mean_reciprocal_rank(similarities, i, j) + _mean_reciprocal_rank(similarities.T, j, i)) / 2


def _mean_reciprocal_rank(similarities: FloatArray, i: NDArray[Any], j: NDArray[Any]) -> float:
    total = 0.0
    for rows in block_rows(len(i), similarities.shape[1]):
        own = similarities[i[rows], j[rows]][:, None]
        others = similarities[i[rows]]
        # The own item is one of the ties.
        ranks = (others > own).sum(axis=1) + ((others == own).sum(axis=1) + 1) / 2
        total += float((1.0 / ranks).sum())
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


def _fewer_listed(pairs: ResolvedPairs, limit: int, random_state: int | None) -> ResolvedPairs:
    """The same pairs with at most ``limit`` listed pairs of each kind, if both kinds are listed."""
    if pairs.positive is None or pairs.negative is None:
        return pairs
    rng = np.random.default_rng(random_state)
    drawn = []
    for i, j in (pairs.positive, pairs.negative):
        rows = np.sort(rng.permutation(len(i))[:limit])
        drawn.append((i[rows], j[rows]))
    return replace(pairs, positive=drawn[0], negative=drawn[1], aligned=False)


def distinct_landmarks(X: Any, n_landmarks: int, random_state: int | None, *, who: str) -> FloatArray:
    """Random rows; every different row if there are fewer."""
    landmarks = choose_landmarks(X, n_landmarks, "random", random_state, caller=who, modality=who)
    if len(landmarks) < 2 and n_landmarks > 1:
        raise InputError(f"{who}: every feature is constant, so nothing can be learned. Give other features.")
    return landmarks


def _unit(values: FloatArray) -> FloatArray:
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    return np.asarray(values / np.where(lengths > 0, lengths, 1.0)[:, None])
