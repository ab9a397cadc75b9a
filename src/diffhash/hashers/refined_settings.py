"""What RefinedHash can choose between when a setting is "auto", and how much it spends on that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Effort", "Setting", "first_settings", "full_effort", "further_settings", "search_effort"]

#: Whitened coordinates of each view when max_rank is "auto". Kernel features crowd into few of them;
#: those of sparse words hardly do.
_RANKS = {"kernel": 256, "linear": 1024}
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
    """What "auto" chooses."""

    features: str
    metric: str
    strict_metric: bool
    width: float
    ridge: float
    penalty: float
    negative_target: float
    iterations: int


def full_effort(hasher: Any) -> Effort:
    """Of the final fit."""
    kernel, linear = (_RANKS[kind] if hasher.max_rank == "auto" else hasher.max_rank for kind in _RANKS)
    return Effort(hasher.n_bits, hasher.n_landmarks, kernel, linear, _SLOPES)


def search_effort(hasher: Any) -> Effort:
    """Of each fit that only judges a setting."""
    full = full_effort(hasher)
    return Effort(
        n_bits=min(full.n_bits, 32),
        n_landmarks=min(full.n_landmarks, 250),
        kernel_rank=min(full.kernel_rank, 128),
        linear_rank=full.linear_rank,
        slopes=_SLOPES[:1],
    )


def first_settings(hasher: Any, *, by_label: bool, histograms: bool) -> list[Setting]:
    """Kinds of features, at a middling regularisation."""
    base = Setting(
        features="kernel",
        metric=_METRICS[0],
        strict_metric=hasher.metric != "auto",
        width=_options(hasher.width, [1.5])[0],
        ridge=_options(hasher.ridge, [0.03])[0],
        penalty=_options(hasher.penalty, [0.003])[0],
        negative_target=_targets(hasher, by_label)[0],
        iterations=min(_SEARCH_ITERATIONS, hasher.max_iter),
    )
    found = []
    for kind in _options(hasher.features, ["kernel", "linear"]):
        if kind == "linear":
            found.append(replace(base, features="linear", width=1.0))
            continue
        for metric in _options(hasher.metric, _METRICS if histograms else _METRICS[:2]):
            found += [replace(base, metric=metric, width=w) for w in _options(hasher.width, [1.5, 4.0])]
    return found


def further_settings(hasher: Any, best: Setting, *, by_label: bool) -> list[Setting]:
    """How strongly to regularise the best kind of features, and what to ask of dissimilar codes."""
    ridges = _options(hasher.ridge, [best.ridge, 3 * best.ridge, best.ridge / 10])
    penalties = _options(hasher.penalty, [best.penalty, best.penalty / 10])
    found = [replace(best, ridge=r, penalty=p) for r in ridges for p in penalties]
    return found + [replace(best, negative_target=t) for t in _targets(hasher, by_label)[1:]]


def _targets(hasher: Any, by_label: bool) -> list[float]:
    # With a class for every object, no code can be opposite to all the others.
    return _options(hasher.negative_target, [-0.7] if by_label else [-1.0, 0.0])


def _options(value: Any, choices: list[Any]) -> list[Any]:
    return choices if isinstance(value, str) and value == "auto" else [value]
