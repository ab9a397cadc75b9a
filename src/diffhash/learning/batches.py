"""Batches of rows, and sources that run a function over all of their batches.

Hashers learn in *passes*: a job is called with every batch, and what it returns is merged. A :class:`Source` decides
where the batches come from and where the job runs, so arrays in memory, files, an iterable of batches and a cluster
learn with the same code. A job must not depend on the order of the batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from ..maps import FeatureMap, LinearMap, MappedView
from ..maps.linear import LARGEST_FOLDED_MEAN
from ..maps.mapped_view import KEEP_BYTES
from ..pairs.couples import NamedCouples, ResolvedCouples
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray, IntArray

__all__ = ["Batch", "CoupleForm", "Mergeable", "OneBatch", "Source", "SourceForm", "merge_all"]


class Mergeable(Protocol):
    """A sum over rows and pairs, to which the sum of other rows and pairs can be added."""

    def merge(self, other: Any) -> Self:
        """Add another part and return the result."""


T = TypeVar("T", bound=Mergeable)


@dataclass(frozen=True)
class CoupleForm:
    """What the pairs of a couple have in common in all batches.

    Attributes
    ----------
    first, second : int
        Numbers of the modalities.
    weight : float
        Weight of the couple.
    positive_listed, negative_listed, labelled, weighted : bool
        As in :class:`~diffhash.pairs.resolved.PairScheme`.
    """

    first: int
    second: int
    weight: float
    positive_listed: bool
    negative_listed: bool
    labelled: bool
    weighted: bool

    @property
    def sides(self) -> tuple[int, int]:
        """Numbers of both modalities."""
        return self.first, self.second

    @classmethod
    def all_of(cls, couples: ResolvedCouples) -> tuple[CoupleForm, ...]:
        """The forms of all couples of a batch."""
        found = []
        for couple in couples:
            scheme = couple.pairs.scheme
            found.append(
                cls(
                    couple.first,
                    couple.second,
                    couple.weight,
                    scheme.positive_listed,
                    scheme.negative_listed,
                    scheme.groups is not None,
                    scheme.weighted,
                )
            )
        return tuple(found)


@dataclass(frozen=True)
class SourceForm:
    """What all batches of a source have in common.

    Attributes
    ----------
    modalities : tuple of str
    n_features : tuple of int
    sparse : tuple of bool
        Whether the rows of a modality are sparse.
    couples : tuple of CoupleForm
    n_rows : tuple of int, or None
        Number of rows of each modality, if it is known before the first pass.
    named : NamedCouples, or None
        Names of the couples, for messages; None if the pairs were checked already.
    feature_names : dict of tuples of str by modality
        Names of the columns of modalities that are tables with names.
    """

    modalities: tuple[str, ...]
    n_features: tuple[int, ...]
    sparse: tuple[bool, ...]
    couples: tuple[CoupleForm, ...]
    n_rows: tuple[int, ...] | None = None
    named: NamedCouples | None = None
    feature_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(eq=False)
class Batch:
    """Some rows of each modality, and pairs among them.

    A batch may also have *guests*: rows of other batches that are here only because a listed pair of this batch needs
    them. They come after the rows of the batch itself and are not counted as rows.

    Attributes
    ----------
    number : int
    views : tuple of arrays of shape (n, n_features), dense or CSR
    pairs : tuple of ResolvedPairs
        For each couple, with row numbers local to the batch. Guests are only on the second side.
    keys : tuple of arrays of shape (n_own,)
        For each modality, positive numbers by which rows are sampled, see :mod:`diffhash.learning.row_sample`.
    starts : tuple of int
        Number that the first row of each modality has among all rows.
    guests : tuple of int arrays, or None
        Numbers of the guests of each modality among all rows.
    keep : bool
        Whether the batch object lives as long as its source, so that results of a pass are worth keeping.
    n_total : tuple of int, or None
        Number of rows of each modality in all batches, if it is known and keys depend only on row numbers. A sample
        of the batch then leaves out rows that cannot be in the sample of all.
    """

    number: int
    views: tuple[Any, ...]
    pairs: tuple[ResolvedPairs, ...]
    keys: tuple[FloatArray, ...]
    starts: tuple[int, ...]
    guests: tuple[IntArray, ...] | None = None
    keep: bool = False
    n_total: tuple[int, ...] | None = None
    _views: dict[int, MappedView] = field(default_factory=dict, repr=False)
    _values: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

    def n_own(self, modality: int) -> int:
        """Number of rows of a modality without guests."""
        n = int(self.views[modality].shape[0])
        return n if self.guests is None else n - len(self.guests[modality])

    def own(self, modality: int) -> Any:
        """The rows of a modality without guests."""
        n, X = self.n_own(modality), self.views[modality]
        return X if n == X.shape[0] else X[:n]

    def row_numbers(self, modality: int) -> IntArray:
        """Number of each row, guests included, among all rows of the modality."""
        start = self.starts[modality]
        numbers = np.arange(start, start + self.n_own(modality))
        return numbers if self.guests is None else np.concatenate([numbers, self.guests[modality]])

    def mapped(self, modality: int, feature_map: FeatureMap) -> MappedView:
        """The mapped features of a modality; kept until another map is asked for."""
        known = self._views.get(modality)
        if known is None or not _same_map(known.map, feature_map):
            known = MappedView(self.views[modality], feature_map, KEEP_BYTES if self.keep else 0)
            self._views[modality] = known
        return known

    def projected(self, modality: int, feature_map: FeatureMap, projection: FloatArray) -> FloatArray:
        """Projections of all rows, of shape (n, n_bits)."""
        known = self._values.get(modality)
        if known is not None and known[0] is projection:
            return known[1]
        folded = (
            None
            if modality in self._views and self.keep
            else _folded(feature_map, projection, self.views[modality])
        )
        if folded is None:
            values = self.mapped(modality, feature_map).project(projection)
        else:
            values = self.views[modality] @ folded[0]
            values += folded[1]
        if self.keep and values.nbytes <= KEEP_BYTES:
            self._values[modality] = projection, values
        return values


def _folded(feature_map: FeatureMap, projection: FloatArray, X: Any) -> tuple[FloatArray, FloatArray] | None:
    """Weights and constants that project dense rows without mapping them first; None if that loses precision."""
    if not isinstance(feature_map, LinearMap) or not isinstance(X, np.ndarray):
        return None
    scale = np.ones_like(feature_map.mean) if feature_map.scale is None else feature_map.scale
    if scale.ndim != 1 or np.abs(feature_map.mean * scale).max() > LARGEST_FOLDED_MEAN:
        return None
    weights = projection * scale
    return (
        np.ascontiguousarray(weights.T, dtype=X.dtype),
        (-weights @ feature_map.mean).astype(X.dtype),
    )


def _same_map(one: FeatureMap, other: FeatureMap) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    (parameters, arrays), (others, other_arrays) = one.state(), other.state()
    return (
        parameters == others
        and not parameters.get("own_kernel")
        and arrays.keys() == other_arrays.keys()
        and all(np.array_equal(arrays[name], other_arrays[name]) for name in arrays)
    )


class Source(ABC):
    """Batches of rows and pairs, over which jobs are run.

    Attributes
    ----------
    form : SourceForm
    n_batches : int or None
        None if it is not known before the first pass.
    max_collected_rows : int or None
    """

    form: SourceForm
    n_batches: int | None
    #: Most rows of each modality that may be collected in the memory of this process; None if there is no limit.
    max_collected_rows: int | None = None

    def announce(self, n_passes: int) -> None:  # noqa: B027 - most sources need not know
        """Tell the source how many passes are planned; called before the first one."""

    @abstractmethod
    def reduce(self, job: Callable[[Batch], T]) -> T:
        """Call the job with every batch and merge the results.

        The job and its results can be pickled. Results must not depend on the order of merging, up to rounding.
        """


class OneBatch(Source):
    """Rows and pairs in memory, as one batch."""

    def __init__(self, batch: Batch, form: SourceForm) -> None:
        self.batch, self.form, self.n_batches = batch, form, 1

    def reduce(self, job: Callable[[Batch], T]) -> T:
        """Call the job with the only batch."""
        return job(self.batch)


def merge_all(results: Iterable[T]) -> T | None:
    """Merge results in the order in which they come; None if there are none."""
    total: T | None = None
    for each in results:
        total = each if total is None else total.merge(each)
    return total
