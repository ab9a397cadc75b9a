"""Learning a model with a progress bar: what ``fit`` and ``build`` share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

from ..hashers import BoostedHash, DiffHash, KernelDiffHash, RefinedHash
from ..hashers.base import BaseHasher
from .names import MethodName
from .progress import Work
from .relation import Relation

__all__ = ["Learned", "learn", "make_hasher"]

_CLASSES: dict[MethodName, type[BaseHasher]] = {
    MethodName.refined: RefinedHash,
    MethodName.diff: DiffHash,
    MethodName.kernel: KernelDiffHash,
    MethodName.boosted: BoostedHash,
}


@dataclass(frozen=True)
class Learned:
    """A fitted model and how it came about."""

    hasher: BaseHasher
    learned_from: str
    seconds: float


def make_hasher(method: MethodName, bits: int, seed: int, settings: dict[str, Any]) -> BaseHasher:
    """An unfitted hasher; settings it does not have are wrong use of the command."""
    hasher = _CLASSES[method]()
    known = set(hasher.get_params()) - {"n_bits", "random_state", "progress", "kernel", "landmarks"}
    for name in settings:
        if name not in known:
            raise typer.BadParameter(
                f"--set: {type(hasher).__name__} has no parameter {name!r}. It has {', '.join(sorted(known))}"
            )
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    given = {"n_bits": bits, "random_state": seed, **values}
    hasher.set_params(**{name: value for name, value in given.items() if name in hasher.get_params()})
    return hasher


def learn(
    hasher: BaseHasher, views: dict[str, Any], relation: Relation, *, sample: int, seed: int
) -> Learned:
    """Fit, on a sample of the objects if there are more than that many."""
    most = max(relation.n_rows.values()) if relation.positive is None else len(relation.positive[0])
    total = str(relation)
    if sample and most > sample:
        relation, rows = relation.sample(sample, seed)
        views = {name: view[rows[name]] for name, view in views.items()}
        total = f"a sample of {relation} out of {total}"
    start = time.perf_counter()
    parameters = hasher.get_params()
    title = "choosing settings" if "progress" in parameters else "learning"
    with Work(title) as work:
        if "progress" in parameters:
            # One fit or two, of two rounds of at most max_iter each, come after the settings are chosen,
            # which takes a time that nobody knows: only then is there a total.
            most = 2 * parameters.get("max_iter", 1)
            hasher.set_params(progress=_reporter(work, most))
        try:
            hasher.fit(views, relation.pairs())
        finally:
            if "progress" in parameters:
                hasher.set_params(progress=None)
    return Learned(hasher, total, time.perf_counter() - start)


def _reporter(work: Work, most: int) -> Callable[[int, float], None]:
    """Moves the bar on with each iteration; the first one of each fit starts it anew."""
    fits = 0

    def report(iteration: int, loss: float) -> None:
        nonlocal fits
        if iteration == 1:
            fits += 1
            work.begin(0, most)
        again = ", second target" if fits > 1 else ""
        work.advance(1, f"iteration {iteration}, loss {loss:.4f}{again}")

    return report
