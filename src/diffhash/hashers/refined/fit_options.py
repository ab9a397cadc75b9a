"""What the fits to labels and to pairs take and return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ...maps import FeatureMap
from ...maps.kernel import never_negative
from ...maps.representation import HISTOGRAM_METRICS, Representation
from ...model import Tried
from ...types import FloatArray

__all__ = [
    "FitOptions",
    "FitProgress",
    "RefinedFit",
    "Tried",
    "ViewOptions",
    "ViewSetting",
    "compare_representations",
]

#: Called with the share of the work that is done, 0 to 1, and what is being done.
FitProgress = Callable[[float, str], None]


@dataclass(frozen=True)
class ViewOptions:
    """The choices for one view. If the user fixed a value, it is the only choice.

    Attributes
    ----------
    features : tuple of {"linear", "kernel"}
    metrics : tuple of str
        See :data:`~diffhash.maps.representation.METRICS`.
    widths : tuple of float
        Widths of the kernel. Linear features ignore them.
    ridges : tuple of float
        In multiples of the largest variance.
    """

    features: tuple[str, ...] = ("linear", "kernel")
    metrics: tuple[str, ...] = ("cosine", "euclidean", "diagonal", "root-cosine")
    widths: tuple[float, ...] = (1.0, 0.25, 4.0)
    ridges: tuple[float, ...] = (0.1, 1.0, 0.03, 0.01, 0.003, 0.001, 0.0001, 0.00001)

    def representations(self, X: Any) -> list[Representation]:
        """All combinations that suit the features; the first one is the default.

        With several metrics to choose from, those for histograms are left out if a feature is negative.

        Examples
        --------
        >>> import numpy as np
        >>> [str(r) for r in ViewOptions(features=("linear",)).representations(np.array([[-1.0, 1.0]]))]
        ['linear cosine', 'linear euclidean', 'linear diagonal']
        """
        metrics = self.metrics
        if len(metrics) > 1 and not never_negative(X):
            metrics = tuple(m for m in metrics if m not in HISTOGRAM_METRICS) or metrics
        found = []
        for features in self.features:
            if features == "linear":
                # Linear features have no other distances than these.
                linear = [m for m in metrics if m not in ("mahalanobis", "hellinger")] or ["diagonal"]
                found += [Representation("linear", metric) for metric in linear]
            else:
                found += [Representation("kernel", m, width) for m in metrics for width in self.widths]
        return found


class Judged(Protocol):
    """A representation and its error on objects that were left out."""

    @property
    def representation(self) -> Representation:
        """What was judged."""

    @property
    def error(self) -> float:
        """Smaller is better."""


J = TypeVar("J", bound=Judged)


def compare_representations(
    choices: ViewOptions, X: Any, judge: Callable[[list[Representation]], list[J]]
) -> list[J]:
    """Judge the representations of a view: kernels with the first width, then other widths of the best metric.

    Parameters
    ----------
    choices : ViewOptions
    X : array of shape (n, n_features), dense or CSR
    judge : function
        Judges representations; it may leave out some that do not suit the features.
    """
    every, first_width = choices.representations(X), choices.widths[0]
    found = judge([r for r in every if r.features == "linear" or r.width == first_width])
    kernels = [each for each in found if each.representation.features == "kernel"]
    if not kernels:
        return found
    metric = min(kernels, key=lambda each: each.error).representation.metric
    others = [r for r in every if r.features == "kernel" and r.metric == metric and r.width != first_width]
    return found + judge(others)


@dataclass(frozen=True)
class ViewSetting:
    """What was chosen for one view: representation and ridge.

    Examples
    --------
    >>> str(ViewSetting(Representation("kernel", "cosine", 0.25), 0.1))
    'kernel cosine, width 0.25, ridge 0.1'
    """

    representation: Representation
    ridge: float

    def __str__(self) -> str:
        return f"{self.representation}, ridge {self.ridge:.2g}"

    def parameters(self) -> dict[str, str | float]:
        """Parameters of RefinedHash that allow only this.

        Examples
        --------
        >>> ViewSetting(Representation("linear", "cosine"), 0.1).parameters()
        {'features': 'linear', 'metric': 'cosine', 'width': 'auto', 'ridge': 0.1}
        """
        chosen = self.representation
        width = "auto" if chosen.features == "linear" else float(chosen.width)
        return {
            "features": chosen.features,
            "metric": chosen.metric,
            "width": width,
            "ridge": float(self.ridge),
        }


@dataclass(frozen=True)
class FitOptions:
    """Parameters of the fits to labels and to pairs.

    Attributes
    ----------
    n_bits : int
    n_landmarks : int
        Number of kernel features of the final fit. With fewer different objects there are fewer.
    views : tuple of ViewOptions
        One for each view.
    penalties, negative_targets : tuple of float
        Choices for the refinement, the default first.
    positive_weight : float
        Weight of the positive pairs in the refinement; the negative pairs have weight 1.
    max_iter : int
        Iterations of the refinement.
    max_rank : int or None
        Largest number of principal coordinates of each view; None for the default of each fit.
    min_share : float
        If fewer than this share of the rows of a view are on one side of a bit, the bit gets the median
        as its threshold.
    validation_share : float
        Share of the objects that is held out to compare candidates.
    random_state : int or None
    """

    n_bits: int
    n_landmarks: int = 1000
    views: tuple[ViewOptions, ...] = (ViewOptions(), ViewOptions())
    penalties: tuple[float, ...] = (0.003, 0.0005, 0.02)
    negative_targets: tuple[float, ...] = (-0.3, -0.7, 0.0)
    positive_weight: float = 1.0
    max_iter: int = 20
    max_rank: int | None = None
    min_share: float = 0.02
    validation_share: float = 0.25
    random_state: int | None = 0


@dataclass(frozen=True)
class RefinedFit:
    """Result of the fits to labels and to pairs.

    Attributes
    ----------
    maps : list of FeatureMap
        One for each view.
    projections : list of float64 arrays of shape (n_bits, n_features_out)
    thresholds : list of float64 arrays of shape (n_bits,)
    tried : list of Tried
        Scores of representations are those of real-valued similarities; scores of bits those of codes.
    settings : list of ViewSetting
        What was chosen for each view.
    bits : str
        Description of how bits are made.
    score, chance : float or None
        Score of codes of held-out objects, and the score of codes that say nothing. The score is the mean
        average precision of both directions, which is the mean reciprocal rank if each object has one
        partner. If negatives are listed, it is the probability that a positive pair is nearer than a
        negative one. With several couples of views it is their weighted mean. None if there were too few
        pairs to hold some out.
    losses : list of float
        Loss after each iteration of the refinement; empty if the rotated directions are used as they are.
    by_couple : dict of float by (view, view)
        The score of each couple of views.
    """

    maps: list[FeatureMap]
    projections: list[FloatArray]
    thresholds: list[FloatArray]
    tried: list[Tried]
    settings: list[ViewSetting]
    bits: str
    score: float | None
    chance: float | None
    losses: list[float]
    by_couple: dict[tuple[int, int], float]

    @property
    def chosen(self) -> str:
        """Description of the chosen candidate."""
        return f"{' | '.join(map(str, self.settings))}; {self.bits}"

    def parameters(self, modalities: Sequence[str]) -> dict[str, dict[str, str | float]]:
        """What was chosen for each view, by parameter of RefinedHash and modality."""
        found: dict[str, dict[str, str | float]] = {}
        for modality, setting in zip(modalities, self.settings, strict=True):
            for name, value in setting.parameters().items():
                found.setdefault(name, {})[modality] = value
        return found
