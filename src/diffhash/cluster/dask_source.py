"""Blocks of views on a cluster as a source: every pass is a tree of tasks, and only its sums come here."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from ..errors import FeatureCountError, InputError, NonFiniteError
from ..learning.batches import Batch, CoupleForm, Mergeable, Source, SourceForm
from ..learning.block_source import block_pairs, known_features
from ..learning.sample_keys import partner_keys, row_keys
from ..pairs.couples import ResolvedCouples
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray, IntArray
from ..validation import check_features
from .blocks import Blocks, Places, read_block, starts_of
from .dask_import import cluster_errors, require_dask

__all__ = ["DaskSource", "PassProgress"]

T = TypeVar("T", bound=Mergeable)
_log = logging.getLogger("diffhash.cluster")
#: Results that one task merges.
_FAN_IN = 8
#: Rows, and bytes of features of all modalities, that hashers may collect in the memory of this process.
MAX_COLLECTED_ROWS, MAX_COLLECTED_BYTES = 100_000, 1 << 30

#: Called with the number of the pass, the planned number of passes, the rows that are done in it, and all rows.
PassProgress = Callable[[int, int, int, int], None]


@dataclass(frozen=True)
class _Part:
    """What the task of one batch gets besides rows."""

    number: int
    starts: tuple[int, ...]
    #: None for aligned rows: the task makes pairs and keys itself.
    pairs: tuple[ResolvedPairs, ...] | None = None
    keys: tuple[FloatArray, ...] | None = None
    guests: tuple[IntArray, ...] | None = None


@dataclass(frozen=True)
class _Common:
    """What the tasks of all batches share."""

    form: SourceForm
    places: tuple[Places, ...]
    caller: str
    checked: bool
    topic: str | None

    def features(self, X: Any, modality: int, start: int) -> Any:
        """Rows as features; errors name the part that they come from, and the row there."""
        name, width = self.form.modalities[modality], self.form.n_features[modality]
        who, place = f"{self.caller}: modality {name!r}", self.places[modality]
        if X.ndim != 2 or X.shape[1] != width:
            raise FeatureCountError(
                f"{who}: {place.of_part(start)} has shape {X.shape}, but {width} features are expected. All parts need "
                "the same features."
            )
        if self.checked and isinstance(X, np.ndarray):
            return known_features(X)
        try:
            return check_features(X, width, caller=self.caller, modality=name)
        except NonFiniteError as error:
            values = np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()
            row, column = (int(at) for at in np.argwhere(~np.isfinite(values))[0])
            raise NonFiniteError(
                f"{who} has {values[row, column]} in {place.of_row(start + row)}, feature {column}. Remove or fill "
                "such values first."
            ) from error

    def batch(self, part: _Part, blocks: Sequence[Any]) -> Batch:
        """The batch of a task; ``blocks`` are the rows of each modality, and then the guests of each."""
        n = len(self.form.modalities)
        views = [self.features(read_block(X), u, part.starts[u]) for u, X in enumerate(blocks[:n])]
        if part.pairs is None or part.keys is None:
            rows = np.arange(views[0].shape[0])
            pairs = ResolvedPairs(len(rows), len(rows), False, (rows, rows), None, None, aligned=True)
            key = row_keys(rows + part.starts[0])
            return Batch(
                part.number,
                tuple(views),
                (pairs,) * len(self.form.couples),
                (key,) * n,
                part.starts,
                n_total=self.form.n_rows,
            )
        if part.guests is not None:
            for u, X in enumerate(blocks[n:]):
                if X is not None:
                    first = int(part.guests[u][0])
                    views[u] = np.concatenate([views[u], self.features(read_block(X), u, first)])
        by_row = not any(couple.positive_listed for couple in self.form.couples)
        return Batch(
            part.number,
            tuple(views),
            part.pairs,
            part.keys,
            part.starts,
            part.guests,
            n_total=self.form.n_rows if by_row else None,
        )


class DaskSource(Source):
    """Blocks of views, on which tasks of Dask run the jobs.

    The tasks run wherever Dask runs them: on the cluster of the current client, or in threads if there is none. What a
    job returns is merged by a tree of tasks. If a worker dies, Dask runs its tasks elsewhere.

    Parameters
    ----------
    modalities : list of str
    views : list of Blocks
    couples : ResolvedCouples, or a tuple of CoupleForm if all rows are aligned
        Pairs of all rows. Aligned rows need not be listed.
    caller : str
    progress : function, optional
        See :data:`PassProgress`. Called only on a cluster, in another thread.
    """

    def __init__(
        self,
        modalities: Sequence[str],
        views: Sequence[Blocks],
        couples: ResolvedCouples | tuple[CoupleForm, ...],
        *,
        caller: str,
        progress: PassProgress | None = None,
    ) -> None:
        require_dask(caller)
        self._caller, self._progress = caller, progress
        self._planned = self._passes = 0
        self._couples = couples if isinstance(couples, ResolvedCouples) else None
        self._views = list(views)
        if self._couples is None:
            # Every batch has the same rows of all views: split them as the largest view is split.
            largest = max(views, key=lambda view: view.shape[1] * view.dtype.itemsize)
            self._views = [view.split(largest.sizes) for view in views]
        self._parts = self._make_parts()
        self.n_batches: int | None = len(self._parts)
        self.form = SourceForm(
            tuple(modalities),
            tuple(view.shape[1] for view in views),
            tuple(view.sparse for view in views),
            CoupleForm.all_of(couples) if isinstance(couples, ResolvedCouples) else couples,
            tuple(view.shape[0] for view in views),
        )
        row_bytes = sum(view.shape[1] * 4 for view in views)
        self.max_collected_rows = min(MAX_COLLECTED_ROWS, max(2000, MAX_COLLECTED_BYTES // row_bytes))
        if not self._parts:
            raise InputError(f"{caller}: there are no rows to learn from.")
        if any(self.form.sparse) and any(part.guests is not None for part, _ in self._parts):
            raise InputError(
                f"{caller}: pairs between rows of different blocks need dense arrays. Make the arrays dense, or put "
                "the rows of each pair into blocks of the same number."
            )

    def _make_parts(self) -> list[tuple[_Part, list[int | None]]]:
        """For each batch what its task gets, and the number of its block in each view."""
        couples = self._couples
        n_batches = max(len(view.sizes) for view in self._views)
        starts = [starts_of(view.sizes) for view in self._views]
        keys = None
        if couples is not None:
            keys = partner_keys([row_keys(np.arange(v.shape[0])) for v in self._views], couples.couples)
        found: list[tuple[_Part, list[int | None]]] = []
        for i in range(n_batches):
            owned = [
                slice(at[i], at[i] + view.sizes[i])
                if i < len(view.sizes)
                else slice(view.shape[0], view.shape[0])
                for at, view in zip(starts, self._views, strict=True)
            ]
            if all(rows.start == rows.stop for rows in owned):
                continue
            first = tuple(rows.start for rows in owned)
            part = _Part(len(found), first)
            if couples is not None and keys is not None:
                local = block_pairs(couples, owned)
                part = _Part(
                    len(found),
                    first,
                    local.pairs,
                    tuple(key[rows] for key, rows in zip(keys, owned, strict=True)),
                    local.guests if local.has_guests else None,
                )
            found.append((part, [i if i < len(view.sizes) else None for view in self._views]))
        return found

    def announce(self, n_passes: int) -> None:
        """Say how many passes there will be."""
        self._planned, self._passes = n_passes, 0
        n_rows = ", ".join(
            f"{n:,} of {m}" for m, n in zip(self.form.modalities, self.form.n_rows or (), strict=False)
        )
        _log.info(
            "%s: %d passes over the rows (%s) in %d blocks", self._caller, n_passes, n_rows, self.n_batches
        )

    def reduce(self, job: Callable[[Batch], T]) -> T:
        """Run the job on all batches, and merge the results in a tree."""
        import dask
        from dask import delayed

        self._passes += 1
        with self._watched() as topic, cluster_errors(self._caller):
            shared = delayed(job, traverse=False), delayed(self._common(topic), traverse=False)
            run, merge = delayed(_run_batch, pure=False), delayed(_merge, pure=False)
            tasks = [
                run(*shared, delayed(part, traverse=False), *self._arguments(part, numbers))
                for part, numbers in self._parts
            ]
            while len(tasks) > 1:
                tasks = [merge(tasks[i : i + _FAN_IN]) for i in range(0, len(tasks), _FAN_IN)]
            # Labels of the rows are part of the graph; without limit Dask would warn about its size.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                (found,) = dask.compute(tasks[0])
        result: T = found
        return result

    def _common(self, topic: str | None) -> _Common:
        places = tuple(view.places for view in self._views)
        return _Common(self.form, places, self._caller, self._passes > 1, topic)

    def _arguments(self, part: _Part, numbers: Sequence[int | None]) -> list[Any]:
        found = []
        for view, number in zip(self._views, numbers, strict=True):
            empty = np.zeros((0, view.shape[1]), np.float32)
            found.append(empty if number is None else view.block(number))
        if part.guests is not None:
            for view, rows in zip(self._views, part.guests, strict=True):
                found.append(view.take(rows) if len(rows) else None)
        return found

    @contextmanager
    def _watched(self) -> Iterator[str | None]:
        """Context manager: hears from the tasks of a cluster which batches are done."""
        from distributed import default_client

        try:
            client = default_client() if self._progress is not None else None
        except ValueError:
            client = None
        if client is None or self._progress is None:
            yield None
            return
        progress, topic = self._progress, f"diffhash-{uuid4().hex}"
        done: dict[int, int] = {}
        total = sum(self.form.n_rows or ())

        def hear(event: tuple[float, Any]) -> None:
            number, n_rows = event[1]
            # A batch that a dead worker had done is done again.
            done[number] = n_rows
            progress(self._passes, self._planned, sum(done.values()), total)

        progress(self._passes, self._planned, 0, total)
        client.subscribe_topic(topic, hear)
        try:
            yield topic
        finally:
            client.unsubscribe_topic(topic)


def _run_batch(job: Callable[[Batch], T], common: _Common, part: _Part, *blocks: Any) -> T:
    """Task: the job for one batch."""
    batch = common.batch(part, blocks)
    found = job(batch)
    if common.topic is not None:
        from distributed import get_worker

        n_rows = sum(batch.n_own(u) for u in range(len(batch.views)))
        get_worker().log_event(common.topic, (part.number, n_rows))
    return found


def _merge(parts: Sequence[T]) -> T:
    """Task: merge results.

    Dask may use the result of a task again after a worker has died, so none of the parts is changed.
    """
    total = copy.deepcopy(parts[0])
    for part in parts[1:]:
        total = total.merge(part)
    return total
