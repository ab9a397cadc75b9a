"""Learning a model: the part that ``fit`` and ``build`` share."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import PairsError
from ..hashers import BaseHasher, BoostedHash, DiffHash, KernelDiffHash, RefinedHash
from ..model import HashModel
from ..pairs import Pairs
from .options import LearningOptions, MethodName, OptionError
from .progress import Progress, Step, report
from .row_relation import Couple, RowRelation

__all__ = ["Learned", "learn", "make_hasher"]

_CLASSES: dict[MethodName, type[BaseHasher]] = {
    MethodName.refined: RefinedHash,
    MethodName.diff: DiffHash,
    MethodName.kernel: KernelDiffHash,
    MethodName.boosted: BoostedHash,
}
#: Parameters that are given in another way, or that a file or a command line cannot hold.
_NOT_SETTINGS = {"n_bits", "random_state", "progress", "kernel", "landmarks"}


@dataclass(frozen=True)
class Learned:
    """A model, what it was learned from, and how long that took."""

    model: HashModel
    learned_from: str
    seconds: float


def make_hasher(options: LearningOptions) -> BaseHasher:
    """An unfitted hasher with the parameters of the options."""
    hasher = _CLASSES[MethodName(options.method)]()
    parameters = set(hasher.get_params())
    known = parameters - _NOT_SETTINGS
    for name in options.settings:
        if name not in known:
            raise OptionError(
                f"`settings`: {type(hasher).__name__} has no parameter {name!r}. It has {', '.join(sorted(known))}"
            )
    values: dict[str, Any] = {"n_bits": options.n_bits, "random_state": options.seed}
    # JSON has no tuples.
    values |= {n: tuple(value) if isinstance(value, list) else value for n, value in options.settings.items()}
    hasher.set_params(**{name: value for name, value in values.items() if name in parameters})
    return hasher


def learn(
    hasher: BaseHasher,
    views: Mapping[str, Any],
    relation: RowRelation,
    *,
    sample: int,
    seed: int,
    calibrate: bool | None = False,
    progress: Progress | None,
) -> Learned:
    """Fit a hasher, on a sample if there are more objects (or listed pairs) than ``sample``; 0 takes all.

    ``calibrate`` is that of :class:`LearningOptions`.
    """
    learned_from = relation.describe()
    if sample and relation.size() > sample:
        relation, rows = relation.sample(sample, seed)
        views = {name: view[rows[name]] for name, view in views.items()}
        learned_from = f"a sample of {relation.describe()} out of {learned_from}"
    start = time.perf_counter()
    pairs = relation.pairs()
    _fit(hasher, views, pairs, progress)
    if calibrate is not False:
        report(progress, Step("calibrating"))
        try:
            hasher.calibrate(views, pairs)
        except PairsError:
            # Too few objects to hold some out.
            if calibrate:
                raise
    return Learned(hasher.model_, learned_from, time.perf_counter() - start)


def _fit(
    hasher: BaseHasher,
    views: Mapping[str, Any],
    pairs: Pairs | dict[Couple, Pairs],
    progress: Progress | None,
) -> None:
    parameters = hasher.get_params()
    if "progress" not in parameters:
        report(progress, Step("learning", unit="iterations"))
        hasher.fit(views, pairs)
        return

    def report_share(done: float, message: str) -> None:
        report(progress, Step("learning", round(100 * done), 100, "percent", message))

    hasher.set_params(progress=report_share)
    try:
        hasher.fit(views, pairs)
    finally:
        hasher.set_params(progress=None)
