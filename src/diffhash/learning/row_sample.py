"""A sample of rows of bounded size that does not depend on how the rows are split into batches.

Every row has a *key*, a positive number that its row number determines. The rows with the smallest keys are the
sample. Samples of parts are merged by taking the smallest keys of both. Row r has the same key in every modality, and
rows of listed pairs take the key of their partner, so that objects are drawn with all of their modalities.

Keys are exponential random numbers. Older rows are forgotten in two ways: dividing a key by a factor f < 1 gives
the row the weight f in the draw, and only a share f of the older rows stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..maps import FeatureMap, MappedView
from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..pairs.group_names import GroupNames
from ..pairs.resolved import ResolvedPairs, checked_pairs, weights_of
from ..types import FloatArray, IntArray
from .batches import Batch, CoupleForm
from .sample_keys import key_bound, smallest_keys

__all__ = ["RowSample"]


@dataclass
class _Listed:
    """Listed pairs, with numbers among all rows."""

    i: IntArray
    j: IntArray
    weights: FloatArray | None

    def merge(self, other: _Listed) -> _Listed:
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.concatenate([self.weights, other.weights])
        return _Listed(np.concatenate([self.i, other.i]), np.concatenate([self.j, other.j]), weights)

    def only(self, kept: NDArray[np.bool_]) -> _Listed:
        return _Listed(self.i[kept], self.j[kept], None if self.weights is None else self.weights[kept])


@dataclass
class _SampledRows:
    """Sampled rows of one modality."""

    n_seen: int
    keys: FloatArray
    numbers: IntArray
    X: Any
    #: What each row counts; less than 1 after something was forgotten. A key is divided by it.
    weights: FloatArray
    #: Whether the memory behind X belongs to this sample and may have room for more rows.
    growing: bool = False

    def taken(self, positions: IntArray | slice) -> _SampledRows:
        if isinstance(positions, slice):
            return self
        return _SampledRows(
            self.n_seen,
            self.keys[positions],
            self.numbers[positions],
            self.X[positions],
            self.weights[positions],
        )

    def joined(self, other: _SampledRows, limit: int) -> tuple[_SampledRows, IntArray | slice]:
        """The smallest keys of both, and their positions in both together. The features of this part are reused."""
        n, n_seen = len(self.keys), self.n_seen + other.n_seen
        keys, numbers = np.concatenate([self.keys, other.keys]), np.concatenate([self.numbers, other.numbers])
        weights = np.concatenate([self.weights, other.weights])
        positions = smallest_keys(keys, numbers, limit)
        if isinstance(positions, slice) and isinstance(self.X, np.ndarray):
            X = self._grown(other.X, limit)
            return _SampledRows(n_seen, keys, numbers, X, weights, growing=True), positions
        if isinstance(positions, slice) or n < limit or not isinstance(self.X, np.ndarray):
            both = _SampledRows(n_seen, keys, numbers, _stacked([self.X, other.X]), weights)
            return both.taken(positions), positions
        # Only few rows change once the sample is full: the new ones take the places of those that leave.
        new = positions[positions >= n]
        stays = np.zeros(n, bool)
        stays[positions[positions < n]] = True
        order = np.arange(n)
        order[~stays] = new
        X = self.X.astype(np.promote_types(self.X.dtype, other.X.dtype), copy=False)
        X[~stays] = other.X[new - n]
        return _SampledRows(n_seen, keys[order], numbers[order], X, weights[order]), order

    def _grown(self, more: NDArray[Any], limit: int) -> NDArray[Any]:
        """The rows and more rows, without copying all of them for every batch."""
        n, total = len(self.X), len(self.X) + len(more)
        room = self.X.base if self.growing else None
        # A copy of a sample has no room.
        if not isinstance(room, np.ndarray) or len(room) < total or not np.can_cast(more.dtype, room.dtype):
            dtype = np.promote_types(self.X.dtype, more.dtype)
            room = np.empty((min(limit, max(total, 2 * n)), self.X.shape[1]), dtype)
            room[:n] = self.X
        room[n:total] = more
        return np.asarray(room[:total])


@dataclass
class _SampledPairs:
    """Pairs of one couple among the sampled rows."""

    positive: _Listed | None
    negative: _Listed | None
    #: For each side, the name of the group of each sampled row.
    names: tuple[NDArray[Any], NDArray[Any]] | None
    n_labels: int | None
    aligned: bool


@dataclass
class RowSample:
    """Sampled rows of all modalities, and the pairs among them; parts can be merged.

    Attributes
    ----------
    limit : int
        Largest number of rows of each modality.
    whole : Batch or None
        The only batch, if it has all rows and the sample has all of them: nothing is copied then.
    """

    limit: int
    views: list[_SampledRows]
    couples: list[_SampledPairs]
    forms: tuple[CoupleForm, ...]
    whole: Batch | None = None
    _ordered: dict[int, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, batch: Batch, forms: tuple[CoupleForm, ...], limit: int) -> RowSample:
        """Sample the rows of a batch."""
        rows, chosen = [], []
        for u in range(len(batch.views)):
            n = batch.n_own(u)
            numbers = np.arange(batch.starts[u], batch.starts[u] + n)
            bound = np.inf if batch.n_total is None else key_bound(batch.n_total[u], limit)
            positions = smallest_keys(batch.keys[u], numbers, limit, bound)
            taken = _SampledRows(n, batch.keys[u], numbers, batch.own(u), np.ones(n)).taken(positions)
            # The memory of a batch may be used again for another one, and samples are changed when they are merged.
            rows.append(taken if batch.keep else replace(taken, X=taken.X.copy()))
            chosen.append(positions)
        couples = []
        for pairs, form in zip(batch.pairs, forms, strict=True):
            numbers_x, numbers_y = (batch.row_numbers(u) for u in form.sides)
            sampled = np.zeros(len(numbers_x), bool)
            sampled[: batch.n_own(form.first)][chosen[form.first]] = True
            names, n_labels = None, None
            if pairs.groups is not None:
                found, local = GroupNames.of(pairs.groups)
                sides = zip((pairs.groups.x, pairs.groups.y), form.sides, strict=True)
                first, second = (found.keys[local[side[chosen[u]]]] for side, u in sides)
                names, n_labels = (first, second), found.n_labels
            listed: list[_Listed | None] = []
            for index, weights in (
                (pairs.positive, pairs.positive_weights),
                (pairs.negative, pairs.negative_weights),
            ):
                if index is None:
                    listed.append(None)
                    continue
                kept = sampled[index[0]]
                listed.append(
                    _Listed(
                        numbers_x[index[0][kept]],
                        numbers_y[index[1][kept]],
                        None if weights is None else weights[kept],
                    )
                )
            couples.append(_SampledPairs(listed[0], listed[1], names, n_labels, pairs.aligned))
        complete = all(isinstance(each, slice) for each in chosen)
        whole = batch if batch.keep and complete and batch.guests is None else None
        return cls(limit, rows, couples, forms, whole)

    def merge(self, other: RowSample) -> RowSample:
        """Add the sample of another part, and keep the smallest keys of both."""
        rows, order = [], []
        for mine, theirs in zip(self.views, other.views, strict=True):
            joined, positions = mine.joined(theirs, self.limit)
            rows.append(joined)
            order.append(positions)
        couples = []
        for one, two, form in zip(self.couples, other.couples, self.forms, strict=True):
            names = None
            if one.names is not None and two.names is not None:
                first, second = (
                    np.concatenate([a, b])[order[u]]
                    for a, b, u in zip(one.names, two.names, form.sides, strict=True)
                )
                names = first, second
            known = np.sort(rows[form.first].numbers)
            listed = [
                None if a is None or b is None else _among(a.merge(b), known)
                for a, b in ((one.positive, two.positive), (one.negative, two.negative))
            ]
            couples.append(
                _SampledPairs(listed[0], listed[1], names, one.n_labels, one.aligned and two.aligned)
            )
        self.views, self.couples, self.whole, self._ordered = rows, couples, None, {}
        return self

    def faded(self, factor: float) -> RowSample:
        """The same sample, in which every row counts only ``factor``: this share of the rows stays.

        The key of a row decides when it leaves, so rows with the same key leave together.
        """
        views, kept = [], []
        for view in self.views:
            weights = view.weights * factor
            chance = -np.expm1(-view.keys * view.weights)
            stays = np.flatnonzero(chance <= weights)
            faded = replace(view, keys=view.keys / factor, weights=weights, X=view.X.copy())
            views.append(faded if len(stays) == len(weights) else faded.taken(stays))
            kept.append(stays)
        couples = []
        for pairs, form in zip(self.couples, self.forms, strict=True):
            names = pairs.names
            if names is not None:
                names = names[0][kept[form.first]], names[1][kept[form.second]]
            couples.append(replace(pairs, names=names))
        return RowSample(self.limit, views, couples, self.forms)

    def complete(self, modality: int) -> bool:
        """Whether all rows of a modality are in the sample."""
        return len(self.views[modality].numbers) == self.views[modality].n_seen

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Number of rows of each modality that were seen."""
        return tuple(view.n_seen for view in self.views)

    def mapped(self, modality: int, feature_map: FeatureMap) -> MappedView:
        """The mapped features of the sampled rows of a modality, in the order of their numbers."""
        if self.whole is not None:
            return self.whole.mapped(modality, feature_map)
        return MappedView(self._rows(modality), feature_map)

    def _rows(self, modality: int) -> Any:
        """The sampled rows of a modality in the order of their numbers."""
        if modality not in self._ordered:
            view = self.views[modality]
            self._ordered[modality] = view.X[np.argsort(view.numbers, kind="stable")]
        return self._ordered[modality]

    def projected(self, modality: int, feature_map: FeatureMap, projection: FloatArray) -> FloatArray:
        """Projections of the sampled rows, of shape (n, n_bits)."""
        if self.whole is not None:
            return self.whole.projected(modality, feature_map, projection)
        return self.mapped(modality, feature_map).project(projection)

    def data(self) -> tuple[list[Any], ResolvedCouples]:
        """Features of the sampled rows of each modality, in the order of their numbers, and their pairs."""
        if self.whole is not None:
            couples = tuple(
                ResolvedCouple(form.first, form.second, form.weight, pairs)
                for form, pairs in zip(self.forms, self.whole.pairs, strict=True)
            )
            return list(self.whole.views), ResolvedCouples(self.n_rows, couples)
        orders = [np.argsort(view.numbers, kind="stable") for view in self.views]
        numbers = [view.numbers[order] for view, order in zip(self.views, orders, strict=True)]
        couples = tuple(
            ResolvedCouple(form.first, form.second, form.weight, _resolved(pairs, form, numbers, orders))
            for form, pairs in zip(self.forms, self.couples, strict=True)
        )
        views = [self._rows(u) for u in range(len(self.views))]
        return views, ResolvedCouples(tuple(map(len, numbers)), couples)


def _stacked(parts: Sequence[Any]) -> Any:
    if scipy.sparse.issparse(parts[0]):
        return scipy.sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _among(listed: _Listed, known: IntArray) -> _Listed:
    """The pairs whose first row is one of the known ones. The second row may come with a later part."""
    return listed.only(_contains(known, listed.i))


def _contains(known: IntArray, numbers: IntArray) -> NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(numbers), bool)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.asarray(known[at] == numbers)


def _resolved(
    pairs: _SampledPairs, form: CoupleForm, numbers: Sequence[IntArray], orders: Sequence[IntArray]
) -> ResolvedPairs:
    one_view = form.first == form.second
    rows_x, rows_y = numbers[form.first], numbers[form.second]
    n_x, n_y = len(rows_x), len(rows_y)
    groups = None
    if pairs.names is not None:
        x, y = (names[orders[u]] for names, u in zip(pairs.names, form.sides, strict=True))
        known = GroupNames(np.union1d(x, y), pairs.n_labels)
        groups = known.groups(known.positions(x), known.positions(y))
    found: list[Any] = []
    for listed in (pairs.positive, pairs.negative):
        if listed is None:
            found += [None, None]
            continue
        inside = listed.only(_contains(rows_x, listed.i) & _contains(rows_y, listed.j))
        index = np.searchsorted(rows_x, inside.i), np.searchsorted(rows_y, inside.j)
        checked = checked_pairs(index, n_x, n_y, one_view, "listed", "sample")
        found.append(checked)
        found.append(
            None
            if inside.weights is None
            else weights_of(checked, index, inside.weights, n_y, one_view=one_view)
        )
    aligned = pairs.aligned and np.array_equal(rows_x, rows_y)
    positive, positive_weights, negative, negative_weights = found
    return ResolvedPairs(
        n_x, n_y, one_view, positive, negative, groups, aligned, positive_weights, negative_weights
    )
