"""Couples of modalities and the pairs of each: what ``fit`` gets, checked, in the form that learning uses."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import PairsError, ParameterError, UnknownModalityError
from ..types import IntArray
from ..validation import known_modality
from .named import list_pairs
from .pairs import Pairs
from .resolved import ResolvedPairs

__all__ = [
    "NamedCouples",
    "ResolvedCouple",
    "ResolvedCouples",
    "couples_to_learn",
    "name_couples",
    "resolve_all",
    "resolve_couples",
]


@dataclass(frozen=True)
class ResolvedCouple:
    """Checked pairs between two modalities, or within one.

    Attributes
    ----------
    first, second : int
        Numbers of the modalities; equal for pairs within one.
    weight : float
        How much the couple counts among all couples.
    pairs : ResolvedPairs
    """

    first: int
    second: int
    weight: float
    pairs: ResolvedPairs

    @property
    def within(self) -> bool:
        """Whether the pairs are within one modality."""
        return self.first == self.second

    @property
    def sides(self) -> tuple[int, int]:
        """Numbers of both modalities."""
        return self.first, self.second


@dataclass(frozen=True)
class ResolvedCouples:
    """Checked pairs of one or more couples of modalities.

    Attributes
    ----------
    n_rows : tuple of int
        Number of rows of each modality.
    couples : tuple of ResolvedCouple
        At least one in the input of ``fit``.
    """

    n_rows: tuple[int, ...]
    couples: tuple[ResolvedCouple, ...]

    @classmethod
    def of_pairs(cls, pairs: ResolvedPairs) -> ResolvedCouples:
        """The only couple: two modalities, or one if the pairs are within one view."""
        second = 0 if pairs.one_view else 1
        n_rows = (pairs.n_x, pairs.n_y)[: second + 1]
        return cls(n_rows, (ResolvedCouple(0, second, 1.0, pairs),))

    def __iter__(self) -> Iterator[ResolvedCouple]:
        return iter(self.couples)

    def __len__(self) -> int:
        return len(self.couples)

    @property
    def only(self) -> ResolvedPairs | None:
        """The pairs, if there is only one couple; its modalities are then the first and the last."""
        return self.couples[0].pairs if len(self.couples) == 1 else None

    def subset(self, rows: Sequence[IntArray]) -> ResolvedCouples:
        """The pairs between some rows of each modality, see :meth:`ResolvedPairs.subset`."""
        couples = [replace(c, pairs=c.pairs.subset(rows[c.first], rows[c.second])) for c in self.couples]
        return ResolvedCouples(tuple(map(len, rows)), tuple(couples))

    def learnable(self) -> ResolvedCouples:
        """Only the couples that have a positive and a negative pair; there may be none."""
        return replace(
            self, couples=tuple(c for c in self.couples if c.pairs.n_positive and c.pairs.n_negative)
        )

    def listed(
        self, n_positive: int, n_negative: int, rng: np.random.Generator, *, caller: str
    ) -> ResolvedCouples:
        """The same couples with all pairs listed, see :meth:`ResolvedPairs.listed`."""
        couples = [
            replace(c, pairs=c.pairs.listed(n_positive, n_negative, rng, caller=caller)) for c in self.couples
        ]
        return replace(self, couples=tuple(couples))


@dataclass(frozen=True)
class NamedCouples:
    """The pairs of each couple, before they are checked against the rows of the views.

    Attributes
    ----------
    modalities : tuple of str
        All modalities that take part, in the order of the model.
    pairs : dict of Pairs by (modality, modality)
    n_rows : dict of int by modality, or None
        How many rows there are ids or labels for, if the couples follow from these. Such a couple may have
        no positive pair.
    """

    modalities: tuple[str, ...]
    pairs: dict[tuple[str, str], Pairs]
    n_rows: Mapping[str, int] | None = None


def name_couples(pairs: Any, known: Sequence[str], *, caller: str) -> NamedCouples:
    """Which modalities the pairs are between.

    Parameters
    ----------
    pairs : Pairs, or dict of Pairs by couple
        The argument of ``fit``.
    known : list of str
        Names of the views.
    caller : str

    Examples
    --------
    >>> name_couples(Pairs.aligned(5), ["image", "text", "speech"], caller="example").pairs.keys()
    dict_keys([('image', 'text'), ('image', 'speech'), ('text', 'speech')])
    """
    if isinstance(pairs, Pairs):
        if pairs.modalities is not None:
            return _couples_by_name(pairs, pairs.modalities, known, caller)
        if len(known) > 2 and pairs.n_aligned is None:
            raise UnknownModalityError(
                f"{caller}: there are {len(known)} views ({', '.join(known)}); say between which two the pairs run: "
                f"fit(views, {{({known[0]!r}, {known[1]!r}): pairs}})."
            )
        couples = list(combinations(known, 2)) if len(known) > 1 else [(known[0], known[0])]
        return NamedCouples(tuple(known), dict.fromkeys(couples, pairs))
    if not isinstance(pairs, Mapping) or not all(isinstance(p, Pairs) for p in pairs.values()):
        raise PairsError(
            f"{caller}: pairs must be a Pairs, or a dict {{(modality, modality): Pairs}}, got {type(pairs).__name__}."
        )
    if not pairs:
        raise PairsError(f"{caller}: the dict of pairs is empty. Give the pairs of at least one couple.")
    found: dict[tuple[str, str], Pairs] = {}
    for key, given in pairs.items():
        couple = _couple_key(key, known, "pairs", caller)
        if couple in found or couple[::-1] in found:
            raise PairsError(f"{caller}: the couple {couple!r} is given twice. Join the pairs to one Pairs.")
        found[couple] = given if given.modalities is None else given.couple(*couple)
    modalities = dict.fromkeys(name for couple in found for name in couple)
    return NamedCouples(tuple(modalities), found)


def _couples_by_name(pairs: Pairs, names: tuple[str, ...], known: Sequence[str], caller: str) -> NamedCouples:
    for name in names:
        known_modality(name, known, caller=caller)
    missing = [name for name in known if name not in names]
    if missing:
        raise PairsError(
            f"{caller}: {pairs!r} says nothing about modality {missing[0]!r}. "
            "Give its ids or labels too, or leave the view out."
        )
    couples = list(combinations(known, 2)) if len(known) > 1 else [(known[0], known[0])]
    return NamedCouples(
        tuple(known), {couple: pairs.couple(*couple) for couple in couples}, pairs.n_rows_by_name
    )


def _couple_key(key: Any, known: Sequence[str], what: str, caller: str) -> tuple[str, str]:
    names = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, tuple | list) else ()
    if len(names) not in (1, 2):
        raise PairsError(f"{caller}: a key of {what} names two modalities (or one), got {key!r}.")
    first, second = (known_modality(name, known, caller=caller) for name in (names[0], names[-1]))
    return first, second


def resolve_couples(
    named: NamedCouples, n_rows: Mapping[str, int], weights: Any, *, caller: str, need_negatives: bool
) -> ResolvedCouples:
    """Check the pairs of all couples against the rows of the views.

    Parameters
    ----------
    named : NamedCouples
    n_rows : dict by modality
        Number of rows of each view.
    weights : dict of float by couple, or None
        The parameter ``couple_weights``; couples that it does not name have weight 1.
    caller : str
    need_negatives : bool
        Whether every couple needs a negative pair.
    """
    every = resolve_all(named, n_rows, weights, caller=caller)
    kept = couples_to_learn(
        named,
        [c.pairs.n_positive for c in every],
        [c.pairs.n_negative for c in every] if need_negatives else None,
        caller=caller,
    )
    return replace(every, couples=tuple(every.couples[number] for number in kept))


def resolve_all(
    named: NamedCouples, n_rows: Mapping[str, int], weights: Any, *, caller: str, list_ids: bool = False
) -> ResolvedCouples:
    """Check the pairs of all couples against the rows of the views; a couple may have no pairs.

    Parameters
    ----------
    named, n_rows, weights, caller
        See :func:`resolve_couples`.
    list_ids : bool
        List all pairs of rows with the same id, however many there are. Otherwise very many are implied, as by
        labels.
    """
    chosen = _check_weights(weights, named, caller)
    for name, n in (named.n_rows or {}).items():
        if n != n_rows[name]:
            raise PairsError(
                f"{caller}: modality {name!r} has {n_rows[name]} rows, but there are ids or labels for {n}. "
                "Give one for each row."
            )
    numbers_of = {name: number for number, name in enumerate(named.modalities)}
    couples = []
    for (first, second), pairs in named.pairs.items():
        who = caller if len(named.pairs) == 1 else f"{caller}: couple ({first!r}, {second!r})"
        resolved = pairs.resolve(n_rows[first], None if first == second else n_rows[second], caller=who)
        if list_ids and pairs.by_id and resolved.groups is not None:
            listed = list_pairs(resolved.groups, one_view=resolved.one_view)
            resolved = replace(resolved, positive=listed, groups=None)
        weight = chosen.get((first, second), 1.0)
        couples.append(ResolvedCouple(numbers_of[first], numbers_of[second], weight, resolved))
    return ResolvedCouples(tuple(n_rows[name] for name in named.modalities), tuple(couples))


def couples_to_learn(
    named: NamedCouples, n_positive: Sequence[float], n_negative: Sequence[float] | None, *, caller: str
) -> list[int]:
    """Numbers of the couples to learn from; an error if pairs are missing.

    Parameters
    ----------
    named : NamedCouples
    n_positive, n_negative : list of numbers, one for each couple
        How many pairs there are, or the sum of their weights. Without ``n_negative`` no negatives are needed.
    caller : str
    """
    kept, couples = [], []
    numbers_of = {name: number for number, name in enumerate(named.modalities)}
    for number, (first, second) in enumerate(named.pairs):
        who = caller if len(named.pairs) == 1 else f"{caller}: couple ({first!r}, {second!r})"
        if not n_positive[number] > 0:
            if named.n_rows is not None and len(named.pairs) > 1:
                continue
            raise PairsError(f"{who}: there is no positive pair to learn from.")
        if n_negative is not None and not n_negative[number] > 0:
            raise PairsError(
                f"{who}: there is no negative pair: all objects are similar. "
                "Add dissimilar objects, or objects of a second class."
            )
        kept.append(number)
        couples.append((numbers_of[first], numbers_of[second]))
    _check_connected(couples, named.modalities, caller)
    return kept


def _check_weights(weights: Any, named: NamedCouples, caller: str) -> dict[tuple[str, str], float]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise ParameterError(
            f"{caller}: couple_weights must be a dict {{(modality, modality): weight}} or None, "
            f"got {type(weights).__name__}."
        )
    found = {}
    for key, weight in weights.items():
        couple = _couple_key(key, named.modalities, "couple_weights", caller)
        couple = couple if couple in named.pairs else couple[::-1]
        if couple not in named.pairs:
            raise ParameterError(
                f"{caller}: couple_weights names the couple {key!r}, which has no pairs. "
                f"Couples: {', '.join(map(repr, named.pairs))}."
            )
        is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool | np.bool_)
        if not is_number or not 0 < float(weight) < math.inf:
            raise ParameterError(
                f"{caller}: the weight of a couple must be a finite number above 0, got {weight!r} for {key!r}. "
                "Leave out the pairs of couples that should not count."
            )
        if couple in found:
            raise ParameterError(f"{caller}: couple_weights names the couple {couple!r} twice.")
        found[couple] = float(weight)
    return found


def _check_connected(couples: Sequence[tuple[int, int]], modalities: Sequence[str], caller: str) -> None:
    """Raise an error if codes of some modalities could not be compared with those of the others."""
    parts = [{number} for number in range(len(modalities))]
    for couple in couples:
        joined = [part for part in parts if part & set(couple)]
        parts = [part for part in parts if part not in joined] + [set[int]().union(*joined)]
    if len(parts) == 1:
        return
    parts.sort(key=min)
    names = [[repr(modalities[number]) for number in sorted(part)] for part in parts]
    alone = next((part[0] for part in names if len(part) == 1), None)
    if alone is not None:
        raise PairsError(
            f"{caller}: modality {alone} has no positive pair with any other modality. "
            "Give pairs with another modality, or leave the view out."
        )
    raise PairsError(
        f"{caller}: the couples form {len(parts)} separate parts: "
        f"{'; '.join(' and '.join(part) for part in names)}. Codes of different parts cannot be compared. "
        "Add pairs between them, or fit a model for each."
    )
