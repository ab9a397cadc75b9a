"""What RefinedHash can choose between when a setting is "auto"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Effort", "Setting", "first_settings", "further_settings"]


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


def first_settings(hasher: Any, *, by_label: bool) -> list[Setting]:
    """Kinds of features, at a middling regularisation."""
    base = Setting(
        features="kernel",
        metric="diagonal",
        width=4.0,
        ridge=_options(hasher.ridge, [0.01])[0],
        penalty=_options(hasher.penalty, [0.003])[0],
        negative_target=_targets(hasher, by_label)[0],
        iterations=min(20, hasher.max_iter),
    )
    found = []
    for kind in _options(hasher.features, ["kernel", "linear"]):
        if kind == "linear":
            found.append(replace(base, features="linear", width=1.0))
            continue
        for metric in _options(hasher.metric, ["diagonal", "euclidean"]):
            found += [replace(base, metric=metric, width=w) for w in _options(hasher.width, [4.0, 1.5])]
    return found


def further_settings(hasher: Any, best: Setting, *, by_label: bool) -> list[Setting]:
    """How strongly to regularise the best kind of features, and what to ask of dissimilar codes."""
    ridges = _options(hasher.ridge, [best.ridge, best.ridge / 10])
    penalties = _options(hasher.penalty, [best.penalty, best.penalty / 10])
    found = [replace(best, ridge=r, penalty=p) for r in ridges for p in penalties]
    return found + [replace(best, negative_target=t) for t in _targets(hasher, by_label)[1:]]


def _targets(hasher: Any, by_label: bool) -> list[float]:
    # With a class for every object, no code can be opposite to all the others.
    return _options(hasher.negative_target, [-1.0] if by_label else [-1.0, 0.0])


def _options(value: Any, choices: list[Any]) -> list[Any]:
    return choices if isinstance(value, str) and value == "auto" else [value]
