"""What the routes share: the store, the threads, and the settings."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from .asking import Answer, Group, ask_group
from .batching import Batcher
from .lanes import Lane
from .metrics import Metrics
from .serving_store import ServedStore
from .settings import ServeSettings

__all__ = ["State"]

T = TypeVar("T")


class State:
    """The parts of a running service.

    Attributes
    ----------
    settings : ServeSettings
    store : ServedStore
    searches : Batcher
        Queries with codes and vectors, which share passes.
    others : Lane
        Other requests that read.
    writes : Lane
        Requests that write: one after the other.
    metrics : Metrics
    stopping : bool
    """

    def __init__(self, store: ServedStore, settings: ServeSettings) -> None:
        self.settings, self.store, self.metrics = settings, store, Metrics()
        limits = settings.limits
        self.searches: Batcher[Answer] = Batcher(
            self._ask,
            threads=settings.search_threads,
            delay=settings.delay,
            most=limits.queue,
            seconds=limits.seconds,
            observe=self.metrics.queries_per_pass.observe,
        )
        self.others = Lane("read", threads=4, most=limits.queue, seconds=limits.seconds)
        self.writes = Lane("write", threads=1, most=limits.queue, seconds=limits.seconds)
        self.stopping = False
        self._tagged: tuple[Any, str] | None = None
        self.metrics.gauge(
            "diffhash_waiting_queries", "Queries that wait for a pass.", lambda: self.searches.n_waiting
        )
        self.metrics.gauge(
            "diffhash_waiting_requests",
            "Other requests that wait or run.",
            lambda: self.others.n_waiting + self.writes.n_waiting,
        )
        self.metrics.gauge("diffhash_reopened", "How often the file was replaced.", lambda: store.generation)

    def _ask(self, group: Group, queries: list[Any]) -> list[Answer]:
        return self.store.call(lambda store: ask_group(store, group, queries))

    def model_tag(self, store: Any) -> str:
        """Checksum of the model of a store; empty without a model. Clients that encode compare it."""
        if not store.has_model:
            return ""
        model = store.model
        known = self._tagged
        if known is None or known[0] is not model:
            known = self._tagged = (model, hashlib.sha256(model.to_bytes()).hexdigest())
        return known[1]

    async def read(self, function: Callable[[Any], T]) -> T:
        """Call a function of the store that reads."""
        return await self.others.run(lambda: self.store.call(function))

    async def write(self, function: Callable[[Any], T]) -> T:
        """Call a function of the store that writes."""
        return await self.writes.run(lambda: self.store.call(function))

    def start(self) -> None:
        """Start the threads; called in the event loop."""
        self.searches.start(asyncio.get_running_loop())

    def stop(self) -> None:
        """Finish what was begun, and close the store: acknowledged writes are on the disk already."""
        self.stopping = True
        self.searches.stop()
        self.others.stop()
        self.writes.stop()
        self.store.close()
