"""Counts for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

__all__ = ["Metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts of one service; none of them contains anything of a request but its route."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "diffhash_requests", "Requests by route and status.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "diffhash_request_seconds",
            "Time from the headers of a request to its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.queries_per_pass = Histogram(
            "diffhash_queries_per_pass",
            "Queries that shared a pass over the codes.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
            registry=self._registry,
        )
        # Looking up labels takes longer than counting.
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a number that is read when somebody asks for it."""
        Gauge(name, text, registry=self._registry).set_function(value)

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._known.get((route, status))
        if found is None:
            found = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._known[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """All counts, as Prometheus reads them."""
        return generate_latest(self._registry)
