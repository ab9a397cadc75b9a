"""The same tuning for every method: all settings of its grid, on a part of the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Protocol

import numpy as np

from diffhash.errors import InputError
from diffhash.types import FloatArray, IntArray, Views

from .base import Grid, Labels, Peer, check_labels

#: (query codes, database codes, query labels, database labels) -> the higher, the better.
Score = Callable[[Any, Any, Any, Any], float]

#: A setting and its score.
Trial = tuple[dict[str, Any], float]


class PeerFactory(Protocol):
    """The class of a peer, or anything else that is called like one."""

    name: str
    grid: Grid

    def __call__(self, n_bits: int, **parameters: Any) -> Peer: ...


@dataclass(frozen=True)
class Tuned:
    """A peer fitted to all training rows with the best setting, and every setting's score."""

    peer: Peer
    setting: dict[str, Any]
    trials: list[Trial]


def tune(
    peer_factory: PeerFactory,
    views: Views,
    labels: Labels,
    *,
    n_bits: int,
    score: Score,
    grid: Grid | None = None,
    validation_share: float = 0.2,
    max_validation: int = 1000,
    max_rows: int | None = None,
    random_state: int = 0,
) -> Tuned:
    """Try every setting on held-out training rows, and refit the best on all of them.

    The parameters are those of :func:`try_settings`. The first of equally good settings wins.
    """
    trials = try_settings(
        peer_factory,
        views,
        labels,
        n_bits=n_bits,
        score=score,
        grid=grid,
        validation_share=validation_share,
        max_validation=max_validation,
        max_rows=max_rows,
        random_state=random_state,
    )
    best = best_setting(trials)
    return Tuned(peer_factory(n_bits=n_bits, **best).fit(views, labels), best, trials)


def best_setting(trials: list[Trial]) -> dict[str, Any]:
    """The setting of the highest score, the first of equally good ones."""
    return max(trials, key=lambda trial: trial[1])[0]


def try_settings(
    peer_factory: PeerFactory,
    views: Views,
    labels: Labels,
    *,
    n_bits: int,
    score: Score,
    grid: Grid | None = None,
    validation_share: float = 0.2,
    max_validation: int = 1000,
    max_rows: int | None = None,
    random_state: int = 0,
) -> list[Trial]:
    """Score every setting on held-out training rows, fitted to the other training rows.

    Parameters
    ----------
    peer_factory
        Class of a peer, called as ``peer_factory(n_bits=..., **setting)``.
    views, labels
        Training rows only.
    score
        Called for both directions with the validation rows as queries and as database, and
        averaged: tie-aware mAP with labels; recall at 10 or the like without. When ``labels`` is
        None it gets row numbers for labels: an item's own partner alone is relevant. For a peer
        that is not ``binary`` it gets real vectors, to be compared by their cosine.
    grid
        Values by parameter; the factory's own by default.
    max_rows
        At most so many rows are used in all, drawn at random; None for all.

    Notes
    -----
    Nothing outside of ``views`` is looked at.
    """
    n = next(iter(views.values())).shape[0]
    labels = check_labels(peer_factory.name, labels, n)
    order = np.random.default_rng(random_state).permutation(n)[:max_rows]
    n_validation = min(int(len(order) * validation_share), max_validation)
    if not 1 <= n_validation < len(order):
        raise InputError(
            f"tune: {len(order)} rows and a validation share of {validation_share} leave {n_validation} rows "
            "to validate on. Give more rows, or another share."
        )
    held_out, rest = np.sort(order[:n_validation]), np.sort(order[n_validation:])
    names = list(grid := peer_factory.grid if grid is None else grid)
    settings = [dict(zip(names, values, strict=True)) for values in product(*grid.values())]
    trials = []
    for setting in settings:
        peer = peer_factory(n_bits=n_bits, **setting)
        peer.fit(_rows(views, rest), None if labels is None else labels[rest])
        truth = held_out if labels is None else labels[held_out]
        trials.append((setting, both_directions(peer, _rows(views, held_out), truth, score)))
    return trials


def both_directions(peer: Peer, views: Views, labels: IntArray | Any, score: Score) -> float:
    """Mean score over the ordered couples of views, all rows being queries and database."""
    represent: Callable[[Any, str], FloatArray | Any] = peer.encode if peer.binary else peer.project
    codes = {modality: represent(X, modality) for modality, X in views.items()}
    scores = [score(codes[a], codes[b], labels, labels) for a, b in permutations(codes, 2)]
    return float(np.mean(scores))


def _rows(views: Views, rows: IntArray) -> dict[str, Any]:
    return {modality: X[rows] for modality, X in views.items()}
