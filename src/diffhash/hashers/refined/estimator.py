"""RefinedHash: the recommended method, which chooses its settings itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ...errors import ParameterError, WeakModelWarning
from ...learning.batches import Source, SourceForm
from ...learning.class_scores import RIDGES
from ...learning.one_batch import one_batch
from ...maps import FeatureMap, KernelMap
from ...maps.representation import METRICS
from ...model import FitReport, HashModel
from ...pairs.couples import ResolvedCouples
from ...types import FloatArray
from ...validation import by_modality, check_choice, check_count, check_number, check_seed
from ..base import BaseHasher
from ..training_data import Learned, TrainingData
from .fit_options import FitOptions, RefinedFit, ViewOptions
from .label_fit import classes_are_tiny, fit_labels, list_pairs_of_tiny_classes
from .pair_fit import fit_pairs
from .row_survey import MAX_SUMMED_FEATURES, has_wide_views, learns_at_once, survey_rows, without_roots

__all__ = ["RefinedHash"]

T = TypeVar("T")
#: Choices for the refinement with labels, the default first.
_LABEL_PENALTIES, _LABEL_TARGETS = (0.001,), (-0.3, 0.0)
#: Names of the scores.
_PRECISION = "mean average precision"
_NEARER = "probability that a positive pair is nearer than a negative one"
#: A model is weak if its score is below this multiple of chance and below this share of the way to 1.
_WEAK_FACTOR, _WEAK_SHARE = 2.0, 0.02


class RefinedHash(BaseHasher):
    r"""The recommended method. It chooses its settings itself, on objects that it was not fitted to.

    With **labels**, each view is regressed to the labels by kernel or linear ridge regression. The
    leave-one-out error, which is known in closed form, chooses the ridge and the best representations of each
    view; a search among held-out objects chooses among the latter. The class scores are then rotated to bits,
    or multiplied by class codes, or refined: projections and thresholds minimise the paper's squared pair
    loss together, with tanh in place of the sign. Cross-fitting chooses among these. Labels that several
    couples of modalities share are shared by their scores.

    With **pairs** alone, each view is whitened with its own ridge, and the paper's singular value
    decomposition gives paired directions (canonical correlation analysis); with several couples of modalities, the
    eigenvectors of the block matrix of all couples do. They are weighted by their
    strength and rotated to bits, or refined with the squared loss or with a softmax loss, in which each object
    must find its partner. Held-out objects choose representations, ridges and all that follows. Labels whose
    classes mostly have one object count as pairs, and so do more than 4,096 classes with few objects each.

    Parameters
    ----------
    n_bits : int
        Length of the codes. It may be larger than the number of features.
    features : {"auto", "kernel", "linear"}, or dict by modality
        Similarities to landmarks, or the scaled features themselves.
    n_landmarks : int
        Number of kernel features. With fewer different objects there are fewer, see ``n_landmarks_``.
    metric : str, or dict by modality
        How features are scaled and compared: "euclidean" (centred), "diagonal" (divided by their standard
        deviation), "cosine" (centred, rows of unit length), "root-cosine" (roots, rows of unit length),
        "hellinger" (roots) or "mahalanobis"; the last two are for kernel features only. "auto" tries the
        first three, and "root-cosine" if no feature is negative.
    width : "auto" or float, or dict by modality
        Bandwidth of the kernel in multiples of the median squared distance between landmarks. "auto" tries
        1/4, 1 and 4.
    ridge : "auto" or float, or dict by modality
        Regularisation, in multiples of the largest variance of the features.
    penalty : "auto" or float
        Weight of the squared projections in the refinement.
    negative_target : "auto" or float in [-1, 1]
        Desired value of the normalised product of dissimilar codes in the refinement.
    positive_weight : float
        Weight of the positive term in the refinement; the negative term has weight 1.
    max_rank : "auto" or int
        Largest number of principal coordinates of each view. "auto": with labels all; with pairs 512 for
        kernel features and 1,024 for linear ones, fewer with very many objects.
    max_iter : int
        Iterations per round of the refinement. There are two rounds; the second uses a steeper tanh.
    min_share : float
        If fewer than this share of the training objects of a view are on one side of a bit, the bit gets
        the median as its threshold.
    validation_share : float
        Share of the training objects that is held out in each split of a comparison.
    couple_weights : dict of float by (modality, modality), or None
        How much each couple of modalities counts; couples that are not named count 1. With one couple it
        has no effect.
    progress : function or None
        Called as ``progress(done, message)`` with the share of the work that is done, 0 to 1.
    random_state : int or None

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.BaseHasher`.
    report_ : FitReport
        What was tried and chosen, and the accuracy to expect on new objects.
    losses_ : array of shape (n_iterations,)
        Loss after each iteration of the refinement; empty if bits are not refined.
    n_landmarks_ : dict by modality
        Number of landmarks of each modality with kernel features.

    Warns
    -----
    WeakModelWarning
        If the codes find held-out objects hardly better than by chance.

    Notes
    -----
    There may be any number of modalities and of couples of them. Losses and scores are means over the couples, by
    their weights; each couple uses the rows that it has. If one couple has no labels, or tiny classes, all are
    learned from as pairs. ``report_.notes`` has the score of each couple.

    With more than 20,000 objects (fewer if a view has more than 1,677 features), settings and bits are learned from a
    sample of this size, and the regressions to labels, or the directions of pairs, from sums over all objects. So the
    time is linear in the number of objects, and :meth:`fit_batches` gives the same model. With more than 4,096 features
    all objects are used at once. With pairs, representations of views with more than 2,048 features (16,384 if they
    are sparse), and more than four times as many as rows, are compared in the space of the rows. They are the same
    there up to rounding, and the time hardly depends on the number of features.

    Codes are not nested: the first bits of a long code are not the code of a shorter model.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=300, n_test=100, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.RefinedHash(n_bits=16, features="linear").fit(data.train.views, pairs)
    >>> hasher.encode(data.test.views["x"], modality="x").shape
    (100, 2)
    >>> hasher.report_.measure
    'mean average precision'
    """

    extra_attributes = ("losses",)
    learns_from_all_rows = True
    #: With more features than this, ``fit_batches`` collects all rows in memory.
    max_summed_features: ClassVar[int] = MAX_SUMMED_FEATURES
    callbacks = ("progress",)

    def __init__(
        self,
        n_bits: int = 64,
        *,
        features: str | Mapping[str, str] = "auto",
        n_landmarks: int = 1000,
        metric: str | Mapping[str, str] = "auto",
        width: float | str | Mapping[str, float | str] = "auto",
        ridge: float | str | Mapping[str, float | str] = "auto",
        penalty: float | str = "auto",
        negative_target: float | str = "auto",
        positive_weight: float = 1.0,
        max_rank: int | str = "auto",
        max_iter: int = 20,
        min_share: float = 0.02,
        validation_share: float = 0.25,
        couple_weights: Mapping[tuple[str, str], float] | None = None,
        progress: Callable[[float, str], None] | None = None,
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
        self.couple_weights = couple_weights
        self.progress = progress
        self.random_state = random_state

    @property
    def losses_(self) -> FloatArray:
        """Loss after each iteration of the refinement."""
        return self._fitted("losses_").extra["losses"]

    @property
    def report_(self) -> FitReport:
        """What was tried and chosen, and the accuracy to expect on new objects."""
        report = self._fitted("report_").report
        if report is None:
            raise AttributeError(
                "RefinedHash.report_: this model was fitted by a diffhash that kept no report."
            )
        return report

    @property
    def n_landmarks_(self) -> dict[str, int]:
        """Number of landmarks of each modality with kernel features."""
        maps = {m: getattr(each, "inner", each) for m, each in self._fitted("n_landmarks_").maps.items()}
        return {m: each.n_features_out for m, each in maps.items() if isinstance(each, KernelMap)}

    def _check_parameters(self) -> None:
        caller = self._caller
        check_seed(self.random_state, caller=caller)
        for name in ("n_bits", "n_landmarks", "max_iter"):
            check_count(getattr(self, name), name, caller=caller)
        if not _is_auto(self.max_rank):
            check_count(self.max_rank, "max_rank", caller=caller)
        for value in _values(self.features):
            check_choice(value, "features", ("auto", "kernel", "linear"), caller=caller)
        for value in _values(self.metric):
            check_choice(value, "metric", ("auto", *METRICS), caller=caller)
        limits = {"width": 1e6, "ridge": 1e6, "penalty": 1e6, "negative_target": 1.0}
        for name, high in limits.items():
            low = -1.0 if name == "negative_target" else 0.0
            for value in _values(getattr(self, name)):
                if not _is_auto(value):
                    check_number(value, name, caller=caller, low=low, high=high, open_low=name == "width")
        check_number(self.positive_weight, "positive_weight", caller=caller, open_low=True, high=1e6)
        check_number(self.min_share, "min_share", caller=caller, high=0.5)
        check_number(self.validation_share, "validation_share", caller=caller, open_low=True, high=0.9)
        if self.progress is not None and not callable(self.progress):
            raise ParameterError(f"{caller}: progress must be a function or None, got {self.progress!r}.")

    def _learn(self, data: TrainingData) -> Learned:
        views = list(data.views.values())
        couples = data.couples
        by_label = all(c.pairs.labelled and not classes_are_tiny(c.pairs) for c in couples)
        if not by_label:
            couples = list_pairs_of_tiny_classes(couples)
        source = one_batch(data.modalities, views, couples)
        if not learns_at_once(source.form):
            return self._learn_from(source)
        learn = fit_labels if by_label else fit_pairs
        options = self._options(data.modalities, by_label=by_label)
        fitted = learn(views, couples, options, progress=self.progress, who=self._who(data.modalities))
        return self._learned(data.modalities, fitted, _measure(data.couples))

    def _learn_from(self, source: Source) -> Learned:
        """Learn in passes over a source: settings and bits on a sample, regressions or directions from all rows."""
        if has_wide_views(source.form):
            return super()._learn_from(source)
        rows = survey_rows(source, need_negatives=self._needs_negatives(), caller=self._caller)
        modalities = source.form.modalities
        if isinstance(rows, TrainingData):
            return self._learn(rows)
        by_label = rows.labelled is not None
        options = without_roots(
            self._options(modalities, by_label=by_label), rows.low, modalities, caller=self._caller
        )
        views, couples, progress, who = rows.views, rows.couples, self.progress, self._who(modalities)
        if rows.labelled is not None:
            fitted = fit_labels(views, couples, options, progress=progress, who=who, all_rows=rows.labelled)
        else:
            fitted = fit_pairs(views, couples, options, progress=progress, who=who, all_rows=rows.paired)
        return self._learned(modalities, fitted, _measure(rows.couples))

    def count_passes(self, form: SourceForm) -> int:
        """Number of times that a source is read: once if all rows are known to fit into the sample, otherwise twice."""
        return 1 if learns_at_once(form) else 2

    def _who(self, modalities: Sequence[str]) -> list[str]:
        return [f"{self._caller}: modality {m!r}" for m in modalities]

    def _learned(self, modalities: tuple[str, ...], fitted: RefinedFit, measure: str) -> Learned:
        self._warn_if_weak(fitted)
        maps = dict(zip(modalities, fitted.maps, strict=True))
        report = FitReport(
            fitted.chosen,
            measure,
            fitted.score,
            fitted.chance,
            tuple(fitted.tried),
            (*self._notes(maps), *_couple_notes(modalities, fitted)),
            fitted.parameters(modalities),
        )
        extra = {"losses": np.array(fitted.losses), "report": report.to_array()}
        return Learned(
            maps,
            dict(zip(modalities, fitted.projections, strict=True)),
            dict(zip(modalities, fitted.thresholds, strict=True)),
            extra,
        )

    def _second_hasher(self, model: HashModel) -> Self:
        """The representations and ridges that the first fit chose are the only choices of the second."""
        second = super()._second_hasher(model)
        settings = {} if model.report is None else model.report.settings
        # Settings of an extended model lack the modalities that joined later.
        if all(set(by_modality) == set(model.modalities) for by_modality in settings.values()):
            second.set_params(**settings)
            second._check_parameters()
        return second

    def _options(self, modalities: tuple[str, ...], *, by_label: bool) -> FitOptions:
        """The choices that the parameters leave open."""
        caller = self._caller
        default, views = ViewOptions(), []
        ridges = tuple(RIDGES) if by_label else default.ridges
        by_name = {
            name: by_modality(getattr(self, name), modalities, name, caller=caller)
            for name in ("features", "metric", "width", "ridge")
        }
        for m in modalities:
            metric, features = by_name["metric"][m], by_name["features"][m]
            if features != "kernel" and metric in ("hellinger", "mahalanobis"):
                if features == "linear":
                    raise ParameterError(
                        f"{caller}: modality {m!r}: metric={metric!r} is for kernel features only. Use "
                        "'euclidean', 'diagonal', 'cosine' or 'root-cosine' with features='linear'."
                    )
                features = "kernel"
            views.append(
                ViewOptions(
                    _choices(features, default.features),
                    _choices(metric, default.metrics),
                    _choices(by_name["width"][m], default.widths),
                    _choices(by_name["ridge"][m], ridges),
                )
            )
        base = FitOptions(self.n_bits)
        penalties = _LABEL_PENALTIES if by_label else base.penalties
        targets = _LABEL_TARGETS if by_label else base.negative_targets
        return FitOptions(
            n_bits=self.n_bits,
            n_landmarks=self.n_landmarks,
            views=tuple(views),
            penalties=_choices(self.penalty, penalties),
            negative_targets=_choices(self.negative_target, targets),
            positive_weight=self.positive_weight,
            max_iter=self.max_iter,
            max_rank=None if _is_auto(self.max_rank) else int(self.max_rank),
            min_share=self.min_share,
            validation_share=self.validation_share,
            random_state=self.random_state,
        )

    def _notes(self, maps: Mapping[str, FeatureMap]) -> tuple[str, ...]:
        inner = {m: getattr(each, "inner", each) for m, each in maps.items()}
        return tuple(
            f"{m}: {each.n_features_out} landmarks, because there are no more different objects"
            for m, each in inner.items()
            if isinstance(each, KernelMap) and each.n_features_out < self.n_landmarks
        )

    def _warn_if_weak(self, fitted: RefinedFit) -> None:
        if fitted.score is None or fitted.chance is None:
            return
        lift = fitted.score - fitted.chance
        if fitted.score < _WEAK_FACTOR * fitted.chance and lift < _WEAK_SHARE * (1 - fitted.chance):
            warnings.warn(
                f"{self._caller}: held-out objects are found hardly better than by chance (score "
                f"{fitted.score:.3f}, by chance {fitted.chance:.3f}). Check that the rows of the views and "
                "the labels or pairs are in the same order. If they are, give more objects or other features.",
                WeakModelWarning,
                stacklevel=5,
            )

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """The representation of scikit-learn; after fit with the report."""
        html: Callable[[], str] = super()._repr_html_
        if not self.__sklearn_is_fitted__() or self.model_.report is None:
            return html
        report = self.model_.report
        return lambda: html() + report.to_html()


def _measure(couples: ResolvedCouples) -> str:
    listed = [c.pairs.positive is not None and c.pairs.negative is not None for c in couples]
    measures = [_NEARER] * any(listed) + [_PRECISION] * (not all(listed))
    return " and ".join(measures)


def _couple_notes(modalities: Sequence[str], fitted: RefinedFit) -> list[str]:
    """The score of each couple, if there are several."""
    if len(fitted.by_couple) < 2:
        return []
    return [f"{modalities[u]}, {modalities[v]}: {score:.3f}" for (u, v), score in fitted.by_couple.items()]


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _values(value: Any) -> Sequence[Any]:
    """The values of a parameter that may be a dict by modality."""
    return list(value.values()) if isinstance(value, Mapping) else [value]


def _choices(value: T | str, choices: tuple[T, ...]) -> tuple[T, ...]:
    """The choices if the value is "auto"; otherwise only the value."""
    return choices if _is_auto(value) else (value,)  # type: ignore[return-value]
