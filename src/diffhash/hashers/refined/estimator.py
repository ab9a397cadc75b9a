"""RefinedHash: the pairwise loss minimised directly, from the spectral solution on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ConvergenceWarning, ParameterError
from ...maps.kernel import never_negative
from ...pairs.holdout import hold_out
from ...pairs.resolved import ResolvedPairs
from ...threads import one_blas_thread
from ...types import FloatArray
from ...validation import check_choice, check_count, check_number, check_seed
from ..base import BaseHasher, Learned, TrainingData
from .fit import Candidate, SettingFitter
from .search import Judge, SettingSearch, score_of_training, some_rows
from .settings import (
    Effort,
    Setting,
    as_start,
    first_settings,
    full_effort,
    other_targets,
    search_effort,
    search_plan,
)

__all__ = ["RefinedHash"]

#: Objects that take part in the search for settings: a label tells more of an object than one partner.
_SEARCH_LABELLED, _SEARCH_PAIRED = 1500, 3000
_SEARCH_SPLITS = 2


class RefinedHash(BaseHasher):
    r"""The recommended method: minimise the pairwise loss itself, starting from the spectral solution.

    The paper relaxes its loss to a singular value decomposition and chooses thresholds afterwards.
    Here that solution, in whitened coordinates and rotated so that its bits are used well, is only
    the start: then the squared error of :math:`\frac1m h^T g` against 1 on positives and a target on
    negatives is minimised over projections and thresholds together, through a smooth sign, with
    either set given the same mass and with *all* implied pairs (:mod:`diffhash.learning.refinement`).

    Parameters
    ----------
    n_bits : int
        Length of the codes; more than the features have dimensions is fine.
    features : {"auto", "kernel", "linear"}
        Similarities to landmarks, or the standardised features themselves.
    n_landmarks : int
        Of the kernel features; fewer if there are fewer objects.
    metric : {"auto", "diagonal", "euclidean", "mahalanobis", "hellinger"}
        Distance in the kernel, see :class:`KernelDiffHash`; "auto" tries Hellinger's on views that are
        never negative.
    width : "auto" or float
        Bandwidth of the kernel in multiples of the "balanced" one.
    ridge : "auto" or float
        How little the small components of the features count, see
        :meth:`~diffhash.maps.whitening.Components.scales`.
    penalty : "auto" or float
        Weight of the squared projections in the loss.
    negative_target : "auto" or float in [-1, 1]
        What the normalised product of dissimilar codes should be.
    positive_weight : float
        Mass of the positives when the negatives have 1.
    max_rank : "auto" or int
        Whitened coordinates kept of each view; "auto" is 512 of kernel features (256 for more than 50,000
        objects), 1,024 of linear ones.
    max_iter : int
        At most twice this many iterations, in two rounds of which the second has a steeper sign.
    min_share : float
        A bit that fewer than this share of a view's training objects have (or lack) gets the median
        as its threshold.
    validation_share : float
        Of the training objects on which "auto" judges (at most 1,500 objects take part, 3,000
        without labels).
    progress : function or None
        Called as ``progress(iteration, loss)``. Of more than ``n_bits + 1`` classes there are two fits, each from
        iteration 1 on.
    random_state : int or None

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.BaseHasher`.
    losses_ : array of shape (n_iterations,)
        Loss after each iteration; empty where the spectral start is used as it is.

    Notes
    -----
    Settings that are "auto" are chosen on held-out objects of the training data; where the spectral
    start of the chosen setting alone does better there, it is what is used. Of more than ``n_bits + 1`` classes,
    one label to each object, the last fit is made with either target for negatives, and the one with which the
    training objects find each other better is kept. Codes are not nested: a shorter model is another model.

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
        n_landmarks: int = 1000,
        metric: str = "auto",
        width: float | str = "auto",
        ridge: float | str = "auto",
        penalty: float | str = "auto",
        negative_target: float | str = "auto",
        positive_weight: float = 1.0,
        max_rank: int | str = "auto",
        max_iter: int = 20,
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

    @property
    def losses_(self) -> FloatArray:
        """Loss after each iteration."""
        return self._fitted("losses_").extra["losses"]

    def _check_parameters(self) -> None:
        caller = self._caller
        check_seed(self.random_state, caller=caller)
        for name in ("n_bits", "n_landmarks", "max_iter"):
            check_count(getattr(self, name), name, caller=caller)
        if not (isinstance(self.max_rank, str) and self.max_rank == "auto"):
            check_count(self.max_rank, "max_rank", caller=caller)
        check_choice(self.features, "features", ("auto", "kernel", "linear"), caller=caller)
        metrics = ("auto", "diagonal", "euclidean", "mahalanobis", "hellinger")
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

    def _learn(self, data: TrainingData) -> Learned:
        views = [data.views[m] for m in data.modalities]
        with one_blas_thread():
            settings = self._choose(views, data.pairs)
        n_objects = max(view.shape[0] for view in views)
        fitter = self._fitter(views, data.pairs, full_effort(self, n_objects))
        runs = [self._run(fitter, setting) for setting in settings]
        fitted, losses = runs[0]
        if len(runs) > 1:
            rows = some_rows(data.pairs, np.random.default_rng(self.random_state))
            among = data.pairs.subset(*rows)
            fitted, losses = max(runs, key=lambda run: score_of_training(run[0], rows, among))
        if not fitted.converged and len(losses) > 10 and losses[-1] < 0.9 * losses[-10]:
            warnings.warn(
                f"{self._caller}: the loss was still falling after {len(losses)} iterations. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        projections = {m: fitted.projection(side) for side, m in enumerate(data.modalities)}
        thresholds = dict(zip(data.modalities, fitted.affine.offsets, strict=False))
        maps = {m: basis.map for m, basis in zip(data.modalities, fitted.bases, strict=True)}
        return Learned(maps, projections, thresholds, {"losses": np.array(losses)})

    def _run(self, fitter: SettingFitter, setting: Setting) -> tuple[Candidate, list[float]]:
        """A whole fit, and its losses."""
        losses: list[float] = []

        def progress(iteration: int, loss: float) -> None:
            losses.append(loss)
            if self.progress is not None:
                self.progress(iteration, loss)

        iterations = self.max_iter if setting.iterations else 0
        fitted = fitter.fit(replace(setting, iterations=iterations), progress)
        return fitted.evened(self.min_share), losses

    def _fitter(self, views: list[Any], pairs: ResolvedPairs, effort: Effort) -> SettingFitter:
        return SettingFitter(
            views,
            pairs,
            effort,
            positive_weight=self.positive_weight,
            random_state=self.random_state,
            caller=self._caller,
        )

    def _choose(self, views: list[Any], pairs: ResolvedPairs) -> list[Setting]:
        """The setting to use, judged on held-out objects if there are enough, and its rivals."""
        rng = np.random.default_rng(self.random_state)
        # Each object has its partner, or a few, and every other is dissimilar.
        partnered = pairs.groups is None and pairs.negative is None
        histograms = any(map(never_negative, views))
        n_objects = _SEARCH_LABELLED if pairs.labelled else _SEARCH_PAIRED
        splits = hold_out(pairs, self.validation_share, n_objects, rng, _SEARCH_SPLITS)
        if not splits:
            return first_settings(self, partnered=partnered, histograms=histograms)[:1]
        effort = search_effort(self, partnered=partnered)
        search = SettingSearch(
            [Judge(views, pairs, split, lambda v, p: self._fitter(v, p, effort)) for split in splits]
        )
        first, steps = search_plan(self, partnered=partnered, histograms=histograms)
        best = search.try_all(first)
        for step in steps:
            best = search.try_all(step(best))
        if not pairs.one_view and pairs.negative is None:
            best = search.settle(as_start)
        return [best, *(r for r in self._rivals(best, pairs) if search.holds_its_own(r, as_start(r)))]

    def _rivals(self, setting: Setting, pairs: ResolvedPairs) -> list[Setting]:
        """Settings that only a whole fit can tell from this one: those with another target, of many classes.

        At most m + 1 vectors of m dimensions can all have negative products. Of more classes some come to share
        a code, more often with one target for negatives than with the other; the search, which judges
        by fewer objects and iterations, does not see that, but it shows on the objects learned from.
        """
        groups = pairs.groups
        if groups is None or groups.sets is not None or pairs.negative is not None:
            return []
        return other_targets(self, setting) if groups.n_groups > self.n_bits + 1 else []
