"""Which rows of several views are one object, and splits of objects of many modalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from ..types import FloatArray, IntArray, PairIndex
from .couples import ResolvedCouple, ResolvedCouples
from .holdout import hold_out

__all__ = ["HeldOutCouples", "hold_out_couples", "object_numbers"]

#: An object has at most this share of all rows. Chains of pairs can join nearly all rows otherwise.
_LARGEST_OBJECT = 0.02
#: Multiples of this number, modulo 1, are spread evenly, however many there are.
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class HeldOutCouples:
    """A split: for each part, the rows of each modality and the pairs between them."""

    fit_rows: tuple[IntArray, ...]
    scored_rows: tuple[IntArray, ...]
    fit: ResolvedCouples
    scored: ResolvedCouples


def object_numbers(couples: ResolvedCouples) -> list[IntArray]:
    """For each modality, a number for each row: rows with the same number are one object.

    Rows of listed positive pairs are one object, also through the rows of other modalities. Labels say
    only that rows are similar. Views with labels and the same number of rows have the same objects.

    Examples
    --------
    >>> import diffhash as dh
    >>> from diffhash.pairs.couples import name_couples, resolve_couples
    >>> pairs = dh.Pairs.from_ids({"image": ["a", "b", "c"], "text": ["c", "a", "a"], "speech": ["b"]})
    >>> n_rows = {"image": 3, "text": 3, "speech": 1}
    >>> named = name_couples(pairs, list(n_rows), caller="example")
    >>> object_numbers(resolve_couples(named, n_rows, None, caller="example", need_negatives=True))
    [array([0, 1, 2]), array([2, 0, 0]), array([1])]
    """
    listed = [c for c in couples if c.pairs.positive is not None and not c.pairs.labelled]
    found = _joined_rows(couples.n_rows, listed)
    total = sum(couples.n_rows)
    sizes = np.bincount(np.concatenate(found))
    if sizes.max() > max(_LARGEST_OBJECT * total, 4 * len(couples.n_rows)):
        found = _joined_rows(couples.n_rows, [c for c in listed if c.pairs.aligned])
    return found


def _joined_rows(n_rows: Sequence[int], listed: Sequence[ResolvedCouple]) -> list[IntArray]:
    offsets = np.concatenate([[0], np.cumsum(n_rows)])
    links: list[PairIndex] = []
    for couple in listed:
        assert couple.pairs.positive is not None, "the positives must be listed"
        i, j = couple.pairs.positive
        links.append((i + offsets[couple.first], j + offsets[couple.second]))
    # Without listed pairs, views with the same number of rows are views of the same objects.
    linked = {side for couple in listed for side in couple.sides}
    for number, n in enumerate(n_rows):
        others = [other for other in range(number) if n_rows[other] == n]
        if others and number not in linked:
            rows = np.arange(n)
            links.append((rows + offsets[others[0]], rows + offsets[number]))
    i, j = (np.concatenate([np.empty(0, np.int64), *(link[side] for link in links)]) for side in (0, 1))
    graph = scipy.sparse.coo_array((np.ones(len(i), bool), (i, j)), shape=(offsets[-1], offsets[-1]))
    numbers = connected_components(graph, directed=False)[1].astype(np.int64)
    return np.split(numbers, offsets[1:-1])


def hold_out_couples(
    couples: ResolvedCouples, share: float, max_objects: int, rng: np.random.Generator, n_splits: int = 1
) -> list[HeldOutCouples]:
    """Split the objects at random, several times, with different scored objects if there are enough.

    All rows of an object are in the same part. A split is left out if no couple has both a positive and a
    negative pair in each part. With one couple this is :func:`~diffhash.pairs.holdout.hold_out`.

    Parameters
    ----------
    couples : ResolvedCouples
    share : float
        Share of the objects that are scored.
    max_objects : int
        Largest number of rows of each modality in both parts together.
    rng : Generator
    n_splits : int
    """
    if couples.only is not None:
        splits = hold_out(couples.only, share, max_objects, rng, n_splits)
        sides = couples.couples[0].sides
        order = [sides.index(number) for number in range(len(couples.n_rows))]
        return [
            _whole_split(couples, *([rows[k] for k in order] for rows in (split.fit_rows, split.scored_rows)))
            for split in splits
        ]
    drawn = _draw_rows(couples, max_objects, rng)
    found = []
    for number in range(n_splits):
        fit, scored = [], []
        for rows, positions in drawn:
            # Each split takes another interval of the positions.
            held_out = (positions + number * share) % 1.0 >= 1.0 - share
            fit.append(rows[~held_out])
            scored.append(rows[held_out])
        if min(map(len, (*fit, *scored))) >= 2:
            split = _whole_split(couples, fit, scored)
            if len(split.fit) and len(split.scored):
                found.append(split)
    return found


def _whole_split(
    couples: ResolvedCouples, fit: Sequence[IntArray], scored: Sequence[IntArray]
) -> HeldOutCouples:
    parts = []
    for rows in (fit, scored):
        parts.append(couples.subset(rows).learnable())
    return HeldOutCouples(tuple(fit), tuple(scored), *parts)


def _draw_rows(
    couples: ResolvedCouples, max_objects: int, rng: np.random.Generator
) -> list[tuple[IntArray, FloatArray]]:
    """For each modality: rows, sorted, and the position in [0, 1) of their objects.

    Objects with rows in several modalities come first, and among them those with a rare modality come earlier:
    otherwise few rows of a rare modality would be drawn together with their partners.
    """
    numbers = object_numbers(couples)
    n_objects = max(int(each.max()) for each in numbers) + 1
    present = np.stack([np.bincount(np.unique(each), minlength=n_objects) > 0 for each in numbers])
    rarest = np.where(present, np.array(couples.n_rows)[:, None], np.inf).min(axis=0)
    alone = present.sum(axis=0) == 1
    order = np.lexsort((rng.random(n_objects) * rarest, alone))
    rank = np.empty(n_objects, np.int64)
    rank[order] = np.arange(n_objects)
    drawn: list[tuple[IntArray, FloatArray]] = []
    for each in numbers:
        rows = np.sort(np.argsort(rank[each], kind="stable")[:max_objects])
        drawn.append((rows, np.asarray(rank[each[rows]] * _GOLDEN % 1.0)))
    return drawn
