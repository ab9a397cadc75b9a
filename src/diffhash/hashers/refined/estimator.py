"""RefinedHash: minimises the pairwise loss directly, starting from the spectral solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ...errors import ConvergenceWarning, ParameterError
from ...threads import one_blas_thread
from ...types import FloatArray
from ...validation import check_choice, check_count, check_number, check_seed
from ..base import BaseHasher, Learned, TrainingData
from .fit import fit_setting, make_fitter
from .fit_size import final_fit_size
from .settings import RefinedParameters
from .settings_search import choose_settings, rows_to_compare, score_training_rows

__all__ = ["RefinedHash"]


class RefinedHash(BaseHasher):
    r"""The recommended method: minimise the pairwise loss itself, starting from the spectral solution.

    The paper relaxes its loss to a singular value decomposition and chooses thresholds afterwards.
    Here this solution, whitened and rotated, is only the start. Then projections and
    thresholds are optimised together: tanh replaces the sign, and the squared error of
    :math:`\frac1m h^T g` against 1 on positives and against a target on negatives is minimised. Both
    sets have the same weight, and *all* implied pairs are used (:mod:`diffhash.learning.pair_loss`).

    Parameters
    ----------
    n_bits : int
        Length of the codes. It may be larger than the number of features.
    features : {"auto", "kernel", "linear"}
        Similarities to landmarks, or the standardised features themselves.
    n_landmarks : int
        Number of kernel features. With fewer objects there are fewer.
    metric : {"auto", "diagonal", "euclidean", "mahalanobis", "hellinger"}
        Distance in the kernel, see :class:`KernelDiffHash`; "auto" tries "hellinger"
        on views without negative values.
    width : "auto" or float
        Bandwidth of the kernel in multiples of the "balanced" one.
    ridge : "auto" or float
        How much the small components of the features are damped, see
        :meth:`~diffhash.maps.whitening.Components.scales`.
    penalty : "auto" or float
        Weight of the squared projections in the loss.
    negative_target : "auto" or float in [-1, 1]
        Desired value of the normalised product of dissimilar codes.
    positive_weight : float
        Weight of the positive term; the negative term has weight 1.
    max_rank : "auto" or int
        Number of whitened coordinates of each view. "auto": 512 for kernel features (256 with more than
        50,000 objects), 1,024 for linear ones.
    max_iter : int
        Iterations per round. There are two rounds; the second uses a steeper tanh.
    min_share : float
        If fewer than this share of the training objects of a view are on one side of a bit, the bit gets
        the median as its threshold.
    validation_share : float
        Share of the training objects that is held out to choose the "auto" settings. At most 1,500
        objects take part (3,000 without labels).
    progress : function or None
        Called as ``progress(iteration, loss)``. With more than ``n_bits + 1`` classes the model is fitted
        twice; the iteration count restarts at 1.
    random_state : int or None

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.BaseHasher`.
    losses_ : array of shape (n_iterations,)
        Loss after each iteration; empty if the spectral start is used as it is.

    Notes
    -----
    Settings that are "auto" are chosen on held-out training objects. If the spectral start of the
    chosen setting scores better there than the refined model, the start is used. With more than
    ``n_bits + 1`` classes and one label per object, the model is fitted with both targets for
    negatives, and the fit with which training objects find each other better is kept. Codes are not
    nested: the first bits of a long code are not the code of a shorter model.

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
    callbacks = ("progress",)

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
        parameters, views, pairs = self._refined_parameters(), list(data.views.values()), data.pairs
        with one_blas_thread():
            settings = choose_settings(views, pairs, parameters, self.validation_share, caller=self._caller)
        size = final_fit_size(parameters, max(view.shape[0] for view in views))
        fitter = make_fitter(views, pairs, size, parameters, caller=self._caller)
        fits = [
            fit_setting(fitter, setting, parameters, self.min_share, self.progress) for setting in settings
        ]
        fitted, losses = fits[0]
        if len(fits) > 1:
            rows = rows_to_compare(pairs, np.random.default_rng(self.random_state))
            among = pairs.subset(*rows)
            fitted, losses = max(fits, key=lambda fit: score_training_rows(fit[0], rows, among))
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

    def _refined_parameters(self) -> RefinedParameters:
        return RefinedParameters(
            n_bits=self.n_bits,
            features=self.features,
            n_landmarks=self.n_landmarks,
            metric=self.metric,
            width=self.width,
            ridge=self.ridge,
            penalty=self.penalty,
            negative_target=self.negative_target,
            positive_weight=self.positive_weight,
            max_rank=self.max_rank,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
