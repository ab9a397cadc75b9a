"""Large arrays or files as a source: blocks of their rows, with pairs that may be between any rows."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..pairs.couples import ResolvedCouples
from ..pairs.labels import LabelGroups
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray, IntArray
from ..validation import check_features
from .batches import Batch, CoupleForm, Mergeable, Source, SourceForm, merge_all
from .sample_keys import partner_keys, row_keys

__all__ = ["ArrayRows", "BlockPairs", "BlockSource", "Rows", "block_pairs", "known_features"]

T = TypeVar("T", bound=Mergeable)
#: Bytes of the rows of all modalities in a block: large compared to the sums, small compared to the memory.
BLOCK_BYTES = 1 << 25


class Rows(Protocol):
    """Rows of features that are read in parts.

    ``shape`` is (n_rows, n_features). :meth:`read` gives the rows of a slice; slices come in the order of the rows,
    and again from the first one for every pass. :meth:`take` gives any rows.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def read(self, rows: slice) -> Any:
        """The rows of a slice."""

    def take(self, rows: IntArray) -> Any:
        """Some rows, by their numbers."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, dense or CSR."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        n, d = self.X.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        found: np.dtype[Any] = self.X.dtype
        return found

    def read(self, rows: slice) -> Any:
        """The rows of a slice."""
        return self.X[rows]

    def take(self, rows: IntArray) -> Any:
        """Some rows, by their numbers."""
        return self.X[rows]


class BlockSource(Source):
    """Blocks of rows of large arrays or files.

    A listed pair is in the block of its first row. If its second row is in another block, it is read too, as a guest.

    Parameters
    ----------
    modalities : list of str
    rows : list of Rows
        Dense rows of each modality.
    couples : ResolvedCouples
        Pairs of all rows.
    caller : str
    block_bytes : int
        Size of a block.
    progress : function, optional
        Called as ``progress(n_rows, total)`` after every block, with numbers of rows of this pass.
    """

    def __init__(
        self,
        modalities: Sequence[str],
        rows: Sequence[Rows],
        couples: ResolvedCouples,
        *,
        caller: str,
        block_bytes: int = BLOCK_BYTES,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._rows, self._couples, self._caller, self._progress = list(rows), couples, caller, progress
        size = sum(each.shape[0] * each.shape[1] * max(each.dtype.itemsize, 4) for each in rows)
        count = max(1, -(-size // block_bytes))
        self._steps = [max(1, -(-each.shape[0] // count)) for each in rows]
        self.n_batches: int | None = max(
            -(-each.shape[0] // step) for each, step in zip(rows, self._steps, strict=True)
        )
        self.form = SourceForm(
            tuple(modalities),
            tuple(each.shape[1] for each in rows),
            (False,) * len(self._rows),
            CoupleForm.all_of(couples),
            tuple(each.shape[0] for each in rows),
        )
        self._keys = partner_keys([row_keys(np.arange(each.shape[0])) for each in rows], couples.couples)
        # Rows of listed pairs take the keys of their partners.
        self._sampled_by_row = all(c.pairs.aligned or c.pairs.positive is None for c in couples)
        self._checked = False

    def reduce(self, job: Callable[[Batch], T]) -> T:
        """Call the job with one block after another, while the next one is read."""
        found = merge_all(self._results(job))
        if found is None:
            raise InputError(f"{self._caller}: there are no rows to learn from.")
        self._checked = True
        return found

    def _results(self, job: Callable[[Batch], T]) -> Iterator[T]:
        total, done = sum(each.shape[0] for each in self._rows), 0
        for batch in _ahead(self._batches()):
            yield job(batch)
            done += sum(batch.n_own(u) for u in range(len(self._rows)))
            if self._progress is not None:
                self._progress(done, total)

    def _batches(self) -> Iterator[Batch]:
        assert self.n_batches is not None
        for number in range(self.n_batches):
            owned = [
                slice(min(number * step, each.shape[0]), min((number + 1) * step, each.shape[0]))
                for step, each in zip(self._steps, self._rows, strict=True)
            ]
            yield self._batch(number, owned)

    def _batch(self, number: int, owned: Sequence[slice]) -> Batch:
        block = block_pairs(self._couples, owned)
        views = [self._read(u, rows, block.guests[u]) for u, rows in enumerate(owned)]
        return Batch(
            number,
            tuple(views),
            block.pairs,
            tuple(keys[rows] for keys, rows in zip(self._keys, owned, strict=True)),
            tuple(rows.start for rows in owned),
            block.guests if block.has_guests else None,
            n_total=self.form.n_rows if self._sampled_by_row else None,
        )

    def _read(self, modality: int, rows: slice, guests: IntArray) -> NDArray[Any]:
        source = self._rows[modality]
        block = self._as_features(source.read(rows), modality)
        if not len(guests):
            return block
        more = self._as_features(source.take(guests), modality)
        return np.concatenate([block, more])

    def _as_features(self, X: Any, modality: int) -> NDArray[Any]:
        if not self._checked:
            name, width = self.form.modalities[modality], self.form.n_features[modality]
            return np.asarray(check_features(X, width, caller=self._caller, modality=name))
        return known_features(X)


def known_features(X: Any) -> NDArray[Any]:
    """Rows that were checked in an earlier pass, as float32 or float64."""
    dtype = (
        X.dtype if X.dtype in (np.float32, np.float64) else np.float64 if X.dtype.itemsize > 2 else np.float32
    )
    return np.asarray(X, dtype=dtype)


@dataclass(frozen=True)
class BlockPairs:
    """The pairs of a block of rows, see :class:`~diffhash.learning.batches.Batch`."""

    pairs: tuple[ResolvedPairs, ...]
    guests: tuple[IntArray, ...]

    @property
    def has_guests(self) -> bool:
        """Whether the pairs need rows of other blocks."""
        return any(map(len, self.guests))


def block_pairs(couples: ResolvedCouples, owned: Sequence[slice]) -> BlockPairs:
    """The pairs whose first row is in a block, with row numbers local to the block.

    Parameters
    ----------
    couples : ResolvedCouples
        Pairs of all rows.
    owned : list of slices
        The rows of each modality in the block.
    """
    local = [_listed_within(couple.pairs, owned[couple.first]) for couple in couples]
    guests = []
    for u, rows in enumerate(owned):
        needed = [
            index[1]
            for couple, pairs in zip(couples, local, strict=True)
            if couple.second == u and not pairs.aligned
            for index in (pairs.positive, pairs.negative)
            if index is not None
        ]
        every = np.unique(np.concatenate(needed)) if needed else np.empty(0, np.int64)
        guests.append(every[(every < rows.start) | (every >= rows.stop)])
    sizes = [rows.stop - rows.start + len(more) for rows, more in zip(owned, guests, strict=True)]
    return BlockPairs(
        tuple(
            _localised(
                each, owned[c.first], owned[c.second], guests[c.second], sizes[c.first], sizes[c.second]
            )
            for each, c in zip(local, couples, strict=True)
        ),
        tuple(guests),
    )


def _listed_within(pairs: ResolvedPairs, rows: slice) -> ResolvedPairs:
    """The listed pairs whose first row is in a block; numbers are still those of all rows."""

    def chosen(index: Any, weights: FloatArray | None) -> tuple[Any, FloatArray | None]:
        if index is None:
            return None, None
        # Listed pairs are sorted by their first rows.
        first, last = np.searchsorted(index[0], [rows.start, rows.stop])
        part = slice(int(first), int(last))
        return (index[0][part], index[1][part]), None if weights is None else weights[part]

    positive, positive_weights = chosen(pairs.positive, pairs.positive_weights)
    negative, negative_weights = chosen(pairs.negative, pairs.negative_weights)
    return replace(
        pairs,
        positive=positive,
        negative=negative,
        positive_weights=positive_weights,
        negative_weights=negative_weights,
    )


def _localised(
    pairs: ResolvedPairs, rows_x: slice, rows_y: slice, guests: IntArray, n_x: int, n_y: int
) -> ResolvedPairs:
    """The same pairs with numbers of the rows of a block; guests come after its own rows."""
    own_y = rows_y.stop - rows_y.start

    def local(index: Any) -> Any:
        if index is None:
            return None
        i, j = index
        inside = (j >= rows_y.start) & (j < rows_y.stop)
        there = np.where(inside, j - rows_y.start, own_y + np.searchsorted(guests, j))
        return i - rows_x.start, there

    groups = pairs.groups
    if groups is not None:
        x, y = groups.x[rows_x], groups.y[rows_y]
        present = np.union1d(x, y)
        groups = LabelGroups(
            np.searchsorted(present, x),
            np.searchsorted(present, y),
            len(present),
            None if groups.sets is None else groups.sets[present],
            present,
        )
    return replace(
        pairs, n_x=n_x, n_y=n_y, positive=local(pairs.positive), negative=local(pairs.negative), groups=groups
    )


def _ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Read the next batch in a thread while the present one is used."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=1)
    stopped = threading.Event()

    def read() -> None:
        try:
            for batch in batches:
                while not stopped.is_set():
                    try:
                        waiting.put(batch, timeout=0.1)
                        break
                    except queue.Full:
                        continue
                if stopped.is_set():
                    return
            result: Any = None
        except BaseException as error:
            # Raised again in the thread that waits.
            result = error
        while not stopped.is_set():
            try:
                waiting.put(result, timeout=0.1)
                return
            except queue.Full:
                continue

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        while True:
            found = waiting.get()
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        stopped.set()
        thread.join()
