"""What belongs together, from the options of a command to pairs for learning and for judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..errors import InputFileError
from ..files import read_ids, read_labels, read_pairs
from ..pairs import Pairs
from ..types import IntArray, PairIndex
from .names import for_all

__all__ = ["Relation", "read_known_ids", "read_relation"]


@dataclass(frozen=True)
class Relation:
    """Pairs, labels or aligned rows of one or two views.

    Attributes
    ----------
    n_rows : dict by modality
    positive, negative : pairs of row numbers, or None
    labels : dict by modality of arrays, or None
    """

    n_rows: dict[str, int]
    positive: PairIndex | None = None
    negative: PairIndex | None = None
    labels: dict[str, NDArray[Any]] | None = None

    @property
    def aligned(self) -> bool:
        """Row r of every view is one object."""
        return self.positive is None and self.labels is None

    def __str__(self) -> str:
        n = min(self.n_rows.values())
        if self.labels is not None:
            return "by labels"
        return f"{n:,} aligned rows" if self.positive is None else f"{len(self.positive[0]):,} pairs"

    def pairs(self) -> Pairs:
        """For ``fit``."""
        if self.labels is not None:
            first, *second = self.labels.values()
            return Pairs.from_labels(first, second[0] if second else None)
        if self.positive is None:
            return Pairs.aligned(next(iter(self.n_rows.values())))
        return Pairs(self.positive, self.negative)

    def sample(self, n: int, seed: int) -> tuple[Relation, dict[str, IntArray]]:
        """At most ``n`` objects of each view (or pairs), and the rows of the views that they are."""
        rng = np.random.default_rng(seed)

        def draw(size: int) -> IntArray:
            return np.sort(rng.choice(size, min(n, size), replace=False))

        if self.labels is not None:
            rows = {m: draw(size) for m, size in self.n_rows.items()}
            labels = {m: values[rows[m]] for m, values in self.labels.items()}
            return Relation({m: len(r) for m, r in rows.items()}, labels=labels), rows
        if self.positive is None:
            chosen = draw(next(iter(self.n_rows.values())))
            return Relation(dict.fromkeys(self.n_rows, len(chosen))), dict.fromkeys(self.n_rows, chosen)
        kept = draw(len(self.positive[0]))
        sides = [side[kept] for side in self.positive]
        names = list(self.n_rows)
        if len(names) == 1:
            shared = np.unique(np.concatenate(sides))
            rows = {names[0]: shared}
        else:
            rows = {name: np.unique(side) for name, side in zip(names, sides, strict=True)}
        new = Relation({m: len(r) for m, r in rows.items()}, positive=self._renumbered(sides, rows))
        return replace(new, negative=self._renumbered(self.negative, rows, among=True)), rows

    def _renumbered(
        self, pairs: Sequence[IntArray] | None, rows: Mapping[str, IntArray], *, among: bool = False
    ) -> PairIndex | None:
        if pairs is None:
            return None
        sides = list(rows.values())
        first, second = sides[0], sides[-1]
        i, j = pairs
        if among:
            kept = np.isin(i, first) & np.isin(j, second)
            i, j = i[kept], j[kept]
        return np.searchsorted(first, i), np.searchsorted(second, j)


def read_relation(
    n_rows: dict[str, int],
    *,
    pairs: str | None,
    negatives: str | None,
    labels: Sequence[str] | None,
    ids: Sequence[str] | None,
    aligned: bool,
) -> Relation:
    """Read the files that say what belongs together, and check them against the views."""
    names = list(n_rows)
    if (pairs is not None) + bool(labels) + aligned > 1:
        raise typer.BadParameter("give one of --pairs, --labels and --aligned")
    if negatives is not None and pairs is None:
        raise typer.BadParameter("--negatives goes with --pairs")
    if labels:
        return _by_labels(n_rows, for_all(labels, names, "--labels"))
    if pairs is not None:
        known = read_known_ids(for_all(ids, names, "--ids"), n_rows)
        positive = _checked(read_pairs(pairs, names, known), n_rows, pairs)
        negative = (
            None if negatives is None else _checked(read_pairs(negatives, names, known), n_rows, negatives)
        )
        return Relation(n_rows, positive, negative)
    counts = ", ".join(f"{name} {n:,}" for name, n in n_rows.items())
    if len(names) < 2:
        raise typer.BadParameter("one view needs --pairs or --labels: its rows are not aligned with anything")
    if len(set(n_rows.values())) != 1:
        raise typer.BadParameter(
            f"the views have different numbers of rows ({counts}), so they are not aligned: "
            "say what belongs together with --pairs or --labels"
        )
    return Relation(n_rows)


def read_known_ids(sources: Mapping[str, str], n_rows: Mapping[str, int]) -> dict[str, list[Any]]:
    """Ids of the rows of each view that has a file of them."""
    known = {name: read_ids(source) for name, source in sources.items()}
    for name, values in known.items():
        if len(values) != n_rows[name]:
            raise InputFileError(
                f"{sources[name]}: there are {len(values):,} ids for the {n_rows[name]:,} rows of {name!r}."
            )
    return known


def _by_labels(n_rows: dict[str, int], sources: Mapping[str, str]) -> Relation:
    for name in n_rows:
        if name not in sources:
            raise typer.BadParameter(f"--labels are missing for {name!r}: --labels {name}=FILE")
    labels = read_labels({name: sources[name] for name in n_rows})
    for name, values in labels.items():
        if len(values) != n_rows[name]:
            raise InputFileError(
                f"{sources[name]}: there are {len(values):,} labels for the {n_rows[name]:,} rows of {name!r}."
            )
    return Relation(n_rows, labels=labels)


def _checked(pairs: PairIndex, n_rows: Mapping[str, int], name: str) -> PairIndex:
    sizes = list(n_rows.items())
    for rows, (modality, n) in zip(pairs, (sizes[0], sizes[-1]), strict=True):
        if rows.size and (rows.min() < 0 or rows.max() >= n):
            wrong = rows.min() if rows.min() < 0 else rows.max()
            raise InputFileError(
                f"{name}: row {wrong} of {modality!r} does not exist; its rows are 0 to {n - 1:,}."
            )
    return pairs
