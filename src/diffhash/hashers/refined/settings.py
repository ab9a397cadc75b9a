"""The settings that RefinedHash tries when a parameter is "auto"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

__all__ = [
    "RefinedParameters",
    "Setting",
    "as_start",
    "first_settings",
    "other_targets",
    "search_plan",
]

#: Iterations of a trial fit.
_SEARCH_ITERATIONS = 12
#: "hellinger" is tried only if a view has no negative values.
_METRICS = ["euclidean", "diagonal", "hellinger"]


@dataclass(frozen=True)
class RefinedParameters:
    """The parameters of RefinedHash as the user gave them. The search chooses those that are "auto"."""

    n_bits: int
    features: str
    n_landmarks: int
    metric: str
    width: float | str
    ridge: float | str
    penalty: float | str
    negative_target: float | str
    positive_weight: float
    max_rank: int | str
    max_iter: int
    random_state: int | None


@dataclass(frozen=True)
class Setting:
    """All values that "auto" chooses. With 0 iterations the spectral start is not refined."""

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
        """The values that determine the features; settings of the same kind share their features."""
        return self.features, self.metric, self.width


T = TypeVar("T")
#: From the best setting so far to the settings to try next.
Step: TypeAlias = Callable[[Setting], list[Setting]]


def search_plan(
    parameters: RefinedParameters, *, partnered: bool, histograms: bool
) -> tuple[list[Setting], list[Step]]:
    """The settings to try first, and the steps that follow.

    With labels the refinement improves the score much, so kinds of features are compared after it. If
    objects are ``partnered`` (each is similar to one or a few partners only), the spectral start is often
    as good and much faster, so kinds of features are compared by their starts.
    """
    kinds = first_settings(parameters, partnered=partnered, histograms=histograms)
    widths, penalties, ridges, targets = _neighbours(parameters, partnered)
    if not partnered:
        return kinds, [widths, penalties, ridges, targets, lambda best: [as_start(best)]]
    starts = [as_start(kind) for kind in kinds]
    wide = [setting for start in starts for setting in widths(start)]
    default = kinds[0]

    def refined(best: Setting) -> list[Setting]:
        return [
            replace(
                best,
                iterations=default.iterations,
                penalty=default.penalty,
                negative_target=default.negative_target,
            )
        ]

    return starts + wide, [ridges, ridges, _strongest_only, refined, penalties, ridges, targets]


def _strongest_only(best: Setting) -> list[Setting]:
    return [replace(best, strongest_only=True)]


def as_start(setting: Setting) -> Setting:
    """The spectral start of a setting. It does not depend on penalty and target."""
    return replace(setting, iterations=0, penalty=0.0, negative_target=0.0)


def first_settings(parameters: RefinedParameters, *, partnered: bool, histograms: bool) -> list[Setting]:
    """One setting for each kind of features, with medium regularisation."""
    base = Setting(
        features="kernel",
        metric=_METRICS[0],
        strict_metric=parameters.metric != "auto",
        width=_options(parameters.width, [1.5])[0],
        ridge=_options(parameters.ridge, [0.03])[0],
        strongest_only=False,
        penalty=_options(parameters.penalty, [0.003])[0],
        negative_target=_targets(parameters, partnered)[0],
        iterations=min(_SEARCH_ITERATIONS, parameters.max_iter),
    )
    found = []
    for kind in _options(parameters.features, ["kernel", "linear"]):
        if kind == "linear":
            found.append(replace(base, features="linear", width=1.0))
            continue
        metrics = _options(parameters.metric, _METRICS if histograms else _METRICS[:2])
        found += [replace(base, metric=metric) for metric in metrics]
    return found


def other_targets(parameters: RefinedParameters, setting: Setting) -> list[Setting]:
    """The same setting with the other targets for negatives; none if the user gave the target or it has no effect."""
    free = _targets(parameters, partnered=False) if setting.iterations else []
    return [replace(setting, negative_target=t) for t in free if t != setting.negative_target]


def _neighbours(parameters: RefinedParameters, partnered: bool) -> tuple[Step, Step, Step, Step]:
    """Steps that each change one "auto" value: width, penalty, ridge, target."""

    def widths(best: Setting) -> list[Setting]:
        wide = parameters.width == "auto" and best.features == "kernel"
        return [replace(best, width=4.0)] if wide else []

    def penalties(best: Setting) -> list[Setting]:
        lighter = parameters.penalty == "auto" and best.iterations
        return [replace(best, penalty=best.penalty / 10)] if lighter else []

    def ridges(best: Setting) -> list[Setting]:
        factors = (0.1, 3.0) if parameters.ridge == "auto" else ()
        return [replace(best, ridge=best.ridge * factor) for factor in factors]

    def targets(best: Setting) -> list[Setting]:
        others = _targets(parameters, partnered)[1:] if best.iterations else []
        return [replace(best, negative_target=target) for target in others]

    return widths, penalties, ridges, targets


def _targets(parameters: RefinedParameters, partnered: bool) -> list[float]:
    # With many classes no code can be opposite to all the others.
    return _options(parameters.negative_target, [-1.0 if partnered else -0.7, 0.0])


def _options(value: T | str, choices: list[T]) -> list[T]:
    """The choices if the value is "auto"; otherwise only the value."""
    return choices if isinstance(value, str) and value == "auto" else [value]  # type: ignore[list-item]
