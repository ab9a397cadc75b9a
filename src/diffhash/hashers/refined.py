"""RefinedHash: the pairwise loss minimised directly, from the spectral solution on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..codes import pack
from ..errors import ConvergenceWarning, ParameterError
from ..maps import FeatureMap, KernelMap, LinearMap, MappedView
from ..maps.landmarks import choose_landmarks
from ..maps.whitening import whitening_weights
from ..pairs import ResolvedPairs
from ..refinement import Affine, PairLoss, refine
from ..selection import hold_out, score_codes
from ..spectral_start import spectral_start
from ..types import FloatArray
from ..validation import check_choice, check_count, check_number
from .base import BaseHasher, Couple, Learned

__all__ = ["RefinedHash"]

_SEARCH_OBJECTS = 1500
_SLOPES = (1.0, 2.0)


@dataclass(frozen=True)
class Effort:
    """What a fit may cost; the search for settings takes less than the final fit."""

    n_bits: int
    n_landmarks: int
    max_rank: int
    slopes: tuple[float, ...]


@dataclass(frozen=True)
class Setting:
    """What "auto" chooses."""

    features: str
    metric: str
    width: float
    ridge: float
    penalty: float
    negative_target: float
    iterations: int


@dataclass(frozen=True)
class Candidate:
    """A fitted setting: maps, whitening and affine functions of the whitened coordinates."""

    maps: list[FeatureMap]
    whitenings: list[FloatArray]
    start: Affine
    affine: Affine
    converged: bool

    def values(self, side: int, X: Any, affine: Affine | None = None) -> FloatArray:
        """Real values whose signs are the bits of one side."""
        affine = self.affine if affine is None else affine
        weights = self.whitenings[side] @ affine.weights[side]
        return self.maps[side].project(X, weights.T, affine.offsets[side])


class RefinedHash(BaseHasher):
    r"""The recommended method: minimise the pairwise loss itself, starting from the spectral solution.

    The paper relaxes its loss to a singular value decomposition and chooses thresholds afterwards.
    Here that solution, in whitened coordinates and rotated so that its bits are used well, is only
    the start: then the squared error of :math:`\frac1m h^T g` against 1 on positives and a target on
    negatives is minimised over projections and thresholds together, through a smooth sign, with
    either set given the same mass and with *all* implied pairs (:mod:`diffhash.refinement`).

    Parameters
    ----------
    n_bits : int
        Length of the codes; more than the features have dimensions is fine.
    features : {"auto", "kernel", "linear"}
        Similarities to landmarks, or the standardised features themselves.
    n_landmarks : int
        Of the kernel features; fewer if there are fewer objects.
    metric : {"auto", "diagonal", "euclidean", "mahalanobis"}
        Distance in the kernel, see :class:`KernelDiffHash`.
    width : "auto" or float
        Bandwidth of the kernel in multiples of the "balanced" one.
    ridge : "auto" or float
        How little the small components of the features count, see
        :func:`~diffhash.maps.whitening.whitening_weights`.
    penalty : "auto" or float
        Weight of the squared projections in the loss.
    negative_target : "auto" or float in [-1, 1]
        What the normalised product of dissimilar codes should be.
    positive_weight : float
        Mass of the positives when the negatives have 1.
    max_rank : int
        Whitened coordinates kept of each view.
    max_iter : int
        At most this many iterations in each of the two rounds, of which the second has a steeper sign.
    min_share : float
        A bit that fewer than this share of a view's training objects have (or lack) gets the median
        as its threshold.
    validation_share : float
        Of the training objects on which "auto" judges (at most 2,000 objects take part).
    progress : function or None
        Called as ``progress(iteration, loss)``.
    random_state : int or None

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.base.BaseHasher`.
    losses_ : array of shape (n_iterations,)
        Loss after each iteration.

    Notes
    -----
    Settings that are "auto" are chosen on held-out objects of the training data; where the spectral
    start alone does better there, it is kept. Codes are not nested: a shorter model is another model.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=300, n_test=100, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.RefinedHash(n_bits=16, features="linear").fit(data.train.views, pairs)
    >>> hasher.encode(data.test.views["x"], modality="x").shape
    (100, 2)
    """

    extra_attributes = ("losses",)

    def __init__(
        self,
        n_bits: int = 64,
        *,
        features: str = "auto",
        n_landmarks: int = 500,
        metric: str = "auto",
        width: float | str = "auto",
        ridge: float | str = "auto",
        penalty: float | str = "auto",
        negative_target: float | str = "auto",
        positive_weight: float = 1.0,
        max_rank: int = 256,
        max_iter: int = 40,
        min_share: float = 0.02,
        validation_share: float = 0.25,
        progress: Callable[[int, float], None] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_bits = n_bits
        self.features = features
        self.n_landmarks = n_landmarks
        self.metric = metric
        self.width = width
        self.ridge = ridge
        self.penalty = penalty
        self.negative_target = negative_target
        self.positive_weight = positive_weight
        self.max_rank = max_rank
        self.max_iter = max_iter
        self.min_share = min_share
        self.validation_share = validation_share
        self.progress = progress
        self.random_state = random_state

    def _check_parameters(self) -> None:
        caller = self._caller
        for name in ("n_bits", "n_landmarks", "max_rank", "max_iter"):
            check_count(getattr(self, name), name, caller=caller)
        check_choice(self.features, "features", ("auto", "kernel", "linear"), caller=caller)
        metrics = ("auto", "diagonal", "euclidean", "mahalanobis")
        check_choice(self.metric, "metric", metrics, caller=caller)
        limits = {
            "width": (0.0, 1e6),
            "ridge": (0.0, 1e6),
            "penalty": (0.0, 1e6),
            "negative_target": (-1.0, 1.0),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not (isinstance(value, str) and value == "auto"):
                check_number(value, name, caller=caller, low=low, high=high, open_low=name == "width")
        check_number(self.positive_weight, "positive_weight", caller=caller, open_low=True, high=1e6)
        check_number(self.min_share, "min_share", caller=caller, high=0.5)
        check_number(self.validation_share, "validation_share", caller=caller, open_low=True, high=0.9)
        if self.progress is not None and not callable(self.progress):
            raise ParameterError(f"{caller}: progress must be a function or None, got {self.progress!r}.")

    def _learn(self, couple: Couple) -> Learned:
        views = [couple.views[m] for m in couple.modalities]
        setting, refined = self._choose(views, couple.pairs)
        losses: list[float] = []

        def progress(iteration: int, loss: float) -> None:
            losses.append(loss)
            if self.progress is not None:
                self.progress(iteration, loss)

        setting = replace(setting, iterations=self.max_iter if refined else 0)
        effort = Effort(self.n_bits, self.n_landmarks, self.max_rank, _SLOPES)
        fitted = self._fit(views, couple.pairs, setting, effort, progress)
        if not fitted.converged and len(losses) > 10 and losses[-1] < 0.9 * losses[-10]:
            warnings.warn(
                f"{self._caller}: the loss was still falling after {len(losses)} iterations. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        projections: dict[str, FloatArray] = {}
        thresholds: dict[str, FloatArray] = {}
        for side, modality in enumerate(couple.modalities):
            projections[modality] = (fitted.whitenings[side] @ fitted.affine.weights[side]).T
            values = fitted.values(side, views[side])
            thresholds[modality] = fitted.affine.offsets[side] + self._evened(values)
        maps = dict(zip(couple.modalities, fitted.maps, strict=True))
        return Learned(maps, projections, thresholds, {"losses": np.array(losses)})

    def _evened(self, values: FloatArray) -> FloatArray:
        """What to add so that a bit that hardly ever changes changes at its median."""
        share = (values >= 0).mean(axis=0)
        constant = np.minimum(share, 1 - share) < self.min_share
        return np.where(constant, -np.median(values, axis=0), 0.0)

    def _choose(self, views: list[Any], pairs: ResolvedPairs) -> tuple[Setting, bool]:
        """The setting to use, and whether refinement gains over the spectral start."""
        rng = np.random.default_rng(self.random_state)
        stages = self._stages(pairs)
        split = hold_out(pairs, self.validation_share, _SEARCH_OBJECTS, rng)
        if split is None:
            return stages[0](None)[0], True
        fit_views = [view[rows] for view, rows in zip(views, split.fit_rows, strict=False)]
        judge_views = [view[rows] for view, rows in zip(views, split.judge_rows, strict=False)]
        scores: dict[Setting, tuple[float, float]] = {}
        effort = Effort(
            min(self.n_bits, 32), min(self.n_landmarks, 250), min(self.max_rank, 128), _SLOPES[:1]
        )

        def judge(fitted: Candidate, affine: Affine) -> float:
            codes = [pack(fitted.values(s, X, affine) >= 0) for s, X in enumerate(judge_views)]
            return score_codes(codes[0], codes[-1], split.judge_pairs)

        best: Setting | None = None
        for stage in stages:
            for setting in stage(best):
                if setting not in scores:
                    fitted = self._fit(fit_views, split.fit_pairs, setting, effort, None)
                    scores[setting] = judge(fitted, fitted.affine), judge(fitted, fitted.start)
            best = max(scores, key=lambda setting: scores[setting])
        assert best is not None
        refined, started = scores[best]
        return best, refined >= started

    def _stages(self, pairs: ResolvedPairs) -> list[Callable[[Setting | None], list[Setting]]]:
        """What to try: kinds of features first, then how strongly to regularise the best of them."""

        def options(value: Any, choices: list[Any]) -> list[Any]:
            return choices if isinstance(value, str) and value == "auto" else [value]

        by_label = pairs.groups is not None
        targets = options(self.negative_target, [-1.0] if by_label else [-1.0, 0.0])
        ridge, penalty = options(self.ridge, [0.01])[0], options(self.penalty, [0.003])[0]
        base = Setting("kernel", "diagonal", 4.0, ridge, penalty, targets[0], min(20, self.max_iter))

        def features(_: Setting | None) -> list[Setting]:
            found = []
            for kind in options(self.features, ["kernel", "linear"]):
                if kind == "linear":
                    found.append(replace(base, features="linear", metric="diagonal", width=1.0))
                    continue
                for metric in options(self.metric, ["diagonal", "euclidean"]):
                    for width in options(self.width, [4.0, 1.5]):
                        found.append(replace(base, metric=metric, width=width))
            return found

        def regularisation(best: Setting | None) -> list[Setting]:
            assert best is not None
            ridges = options(self.ridge, [best.ridge, best.ridge / 10])
            penalties = options(self.penalty, [best.penalty, best.penalty / 10])
            tried = [replace(best, ridge=r, penalty=p) for r in ridges for p in penalties]
            return tried + [replace(best, negative_target=t) for t in targets[1:]]

        return [features, regularisation]

    def _fit(
        self,
        views: list[Any],
        pairs: ResolvedPairs,
        setting: Setting,
        effort: Effort,
        progress: Callable[[int, float], None] | None,
    ) -> Candidate:
        rng = np.random.default_rng(self.random_state)
        maps = [self._make_map(X, setting, side, effort.n_landmarks) for side, X in enumerate(views)]
        mapped = [MappedView(X, fitted) for X, fitted in zip(views, maps, strict=True)]
        whitenings = [whitening_weights(view, effort.max_rank, setting.ridge) for view in mapped]
        coordinates = [view.project(w.T) for view, w in zip(mapped, whitenings, strict=True)]
        x, y = coordinates[0], None if pairs.one_view else coordinates[-1]
        start = spectral_start(x, y, pairs, effort.n_bits, rng)
        affine, converged = start, True
        if setting.iterations:
            loss = PairLoss(pairs, effort.n_bits, setting.negative_target, self.positive_weight)
            affine, converged = refine(
                x,
                y,
                loss,
                start,
                penalty=setting.penalty,
                slopes=effort.slopes,
                max_iter=setting.iterations,
                progress=progress,
            )
        return Candidate(maps, whitenings, start, affine, converged)

    def _make_map(self, X: Any, setting: Setting, side: int, n_landmarks: int) -> FeatureMap:
        who = f"{self._caller}: view {side + 1}"
        if setting.features == "linear":
            return LinearMap.fit(X, standardize=True, who=who)
        landmarks = choose_landmarks(
            X,
            min(n_landmarks, X.shape[0]),
            "random",
            self.random_state,
            caller=self._caller,
            modality=str(side),
        )
        fitted = KernelMap.fit(X, landmarks, metric=setting.metric, who=who)
        wide = KernelMap(landmarks, fitted.scale, fitted.bandwidth * setting.width)
        return KernelMap(landmarks, wide.scale, wide.bandwidth, _mean_features(X, wide))


def _mean_features(X: Any, fitted: KernelMap) -> FloatArray:
    total = np.zeros(fitted.n_features_out)
    for _, block in MappedView(X, fitted, keep_bytes=0).blocks():
        total += block.sum(axis=0, dtype=np.float64)
    return np.asarray(total / X.shape[0])
