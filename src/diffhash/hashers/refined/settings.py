"""What RefinedHash can choose between when a setting is "auto", and how much it spends on that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

__all__ = [
    "Effort",
    "Setting",
    "as_start",
    "first_settings",
    "full_effort",
    "other_targets",
    "search_effort",
    "search_plan",
]

#: Coordinates of each view when max_rank is "auto": features of sparse words need many; those of many
#: rows, which must stay in memory, get fewer.
_KERNEL_RANK, _KERNEL_RANK_OF_MANY, _LINEAR_RANK = 512, 256, 1024
_MANY_OBJECTS = 50_000
#: Slopes of the smooth sign, round after round.
_SLOPES = (1.0, 2.0)
#: Iterations while searching.
_SEARCH_ITERATIONS = 12
#: The last one where a view is never negative.
_METRICS = ["euclidean", "diagonal", "hellinger"]


@dataclass(frozen=True)
class Effort:
    """What a fit may cost; the search for settings takes less than the final fit."""

    n_bits: int
    n_landmarks: int
    kernel_rank: int
    linear_rank: int
    slopes: tuple[float, ...]


@dataclass(frozen=True)
class Setting:
    """What "auto" chooses; no iterations: the spectral start as it is."""

    features: str
    metric: str
    strict_metric: bool
    width: float
    ridge: float
    strongest_only: bool
    penalty: float
    negative_target: float
    iterations: int

    @property
    def kind(self) -> tuple[str, str, float]:
        """What decides the features."""
        return self.features, self.metric, self.width


#: Settings to try beside the best one so far.
Step: TypeAlias = Callable[[Setting], list[Setting]]


def full_effort(hasher: Any, n_objects: int) -> Effort:
    """Of the final fit to so many objects."""
    kernel = _KERNEL_RANK if n_objects <= _MANY_OBJECTS else _KERNEL_RANK_OF_MANY
    kernel, linear = (
        rank if hasher.max_rank == "auto" else hasher.max_rank for rank in (kernel, _LINEAR_RANK)
    )
    return Effort(hasher.n_bits, hasher.n_landmarks, kernel, linear, _SLOPES)


def search_effort(hasher: Any, *, partnered: bool) -> Effort:
    """Of each fit that only judges a setting."""
    full = full_effort(hasher, 0)
    return Effort(
        # Of partners the best settings for few bits and for many differ; otherwise few tell enough.
        n_bits=min(full.n_bits, 128 if partnered else 32),
        n_landmarks=min(full.n_landmarks, 250),
        kernel_rank=min(full.kernel_rank, 128),
        linear_rank=full.linear_rank,
        slopes=_SLOPES[:1],
    )


def search_plan(hasher: Any, *, partnered: bool, histograms: bool) -> tuple[list[Setting], list[Step]]:
    """What to try first, and then, one thing after another, beside the best setting so far.

    Refinement gains much where many objects belong together, so kinds of features are compared refined.
    Where objects are ``partnered``, each with its partner alone, the spectral start is often the better
    half of the method, and cheap: kinds of features are compared by it.
    """
    kinds = first_settings(hasher, partnered=partnered, histograms=histograms)
    widths, penalties, ridges, targets = _neighbours(hasher, partnered)
    if not partnered:
        return kinds, [widths, penalties, ridges, targets, lambda best: [as_start(best)]]
    starts = [as_start(kind) for kind in kinds]
    wide = [setting for start in starts for setting in widths(start)]
    like = kinds[0]

    def refined(best: Setting) -> list[Setting]:
        return [
            replace(
                best,
                iterations=like.iterations,
                penalty=like.penalty,
                negative_target=like.negative_target,
            )
        ]

    return starts + wide, [ridges, ridges, _strongest_only, refined, penalties, ridges, targets]


def _strongest_only(best: Setting) -> list[Setting]:
    return [replace(best, strongest_only=True)]


def as_start(setting: Setting) -> Setting:
    """The spectral start of a setting, to which penalty and target mean nothing."""
    return replace(setting, iterations=0, penalty=0.0, negative_target=0.0)


def first_settings(hasher: Any, *, partnered: bool, histograms: bool) -> list[Setting]:
    """Kinds of features, at a middling regularisation."""
    base = Setting(
        features="kernel",
        metric=_METRICS[0],
        strict_metric=hasher.metric != "auto",
        width=_options(hasher.width, [1.5])[0],
        ridge=_options(hasher.ridge, [0.03])[0],
        strongest_only=False,
        penalty=_options(hasher.penalty, [0.003])[0],
        negative_target=_targets(hasher, partnered)[0],
        iterations=min(_SEARCH_ITERATIONS, hasher.max_iter),
    )
    found = []
    for kind in _options(hasher.features, ["kernel", "linear"]):
        if kind == "linear":
            found.append(replace(base, features="linear", width=1.0))
            continue
        metrics = _options(hasher.metric, _METRICS if histograms else _METRICS[:2])
        found += [replace(base, metric=metric) for metric in metrics]
    return found


def other_targets(hasher: Any, setting: Setting) -> list[Setting]:
    """The same with other targets for negatives, where they are free to choose and matter."""
    free = _targets(hasher, partnered=False) if setting.iterations else []
    return [replace(setting, negative_target=t) for t in free if t != setting.negative_target]


def _neighbours(hasher: Any, partnered: bool) -> tuple[Step, Step, Step, Step]:
    """Settings that differ in one thing that is "auto": width, penalty, ridge, target."""

    def widths(best: Setting) -> list[Setting]:
        wide = hasher.width == "auto" and best.features == "kernel"
        return [replace(best, width=4.0)] if wide else []

    def penalties(best: Setting) -> list[Setting]:
        lighter = hasher.penalty == "auto" and best.iterations
        return [replace(best, penalty=best.penalty / 10)] if lighter else []

    def ridges(best: Setting) -> list[Setting]:
        factors = (0.1, 3.0) if hasher.ridge == "auto" else ()
        return [replace(best, ridge=best.ridge * factor) for factor in factors]

    def targets(best: Setting) -> list[Setting]:
        others = _targets(hasher, partnered)[1:] if best.iterations else []
        return [replace(best, negative_target=target) for target in others]

    return widths, penalties, ridges, targets


def _targets(hasher: Any, partnered: bool) -> list[float]:
    # Many classes, or a class for every object: no code can be opposite to all the others.
    return _options(hasher.negative_target, [-1.0 if partnered else -0.7, 0.0])


def _options(value: Any, choices: list[Any]) -> list[Any]:
    return choices if isinstance(value, str) and value == "auto" else [value]
