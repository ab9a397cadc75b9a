"""Concurrent queries share one pass over the codes.

Queries wait in a queue. A thread takes all of them, groups those with the same options, and asks the store once for
each group: a pass over the codes for 30 queries takes hardly longer than one for five. With two threads, one compares
codes, for which it does not hold Python's lock, while the other reads payloads. The queue is bounded, and so is the
time that a query waits for others.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..errors import CollectionError, DiffhashError
from .problems import BusyError, LateError

__all__ = ["Batcher", "Job"]

T = TypeVar("T")
#: Queries of a pass; a pass of more would make the others wait too long.
_MOST_ROWS = 512
#: Seconds between two looks for jobs that take too long.
_LOOK = 0.5


@dataclass(eq=False)
class Job(Generic[T]):
    """One or several queries that are answered together.

    Attributes
    ----------
    key : hashable
        Jobs with equal keys can share a pass.
    queries : list
    answer : Future of a list, with one entry for each query
    """

    key: Hashable
    queries: list[Any]
    answer: asyncio.Future[list[T]]
    since: float = field(default_factory=time.monotonic)


class Batcher(Generic[T]):
    """Threads that answer jobs, several at a time.

    Parameters
    ----------
    ask : function of (key, queries)
        Answers queries with equal options: a list with one entry for each.
    threads : int
    delay : float
        Seconds to wait for more jobs after the first one.
    most : int
        Queries that may wait.
    seconds : float
        A job that has waited, or has been asked for, longer is refused. What the store has begun is finished.
    observe : function of the number of queries in a pass
    """

    def __init__(
        self,
        ask: Callable[[Any, list[Any]], list[T]],
        *,
        threads: int = 1,
        delay: float,
        most: int,
        seconds: float,
        observe: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._ask, self._delay, self._most, self._seconds = ask, delay, most, seconds
        self._observe = observe
        self._waiting: deque[Job[T]] = deque()
        #: Jobs of the passes that run now, by thread.
        self._running: dict[int, list[Job[T]]] = {}
        self._n_waiting = 0
        self._wake = threading.Semaphore(0)
        #: Held while jobs are taken and sleepers are counted.
        self._taking = threading.Lock()
        self._n_asleep = 0
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._run, name="search", daemon=True) for _ in range(threads)
        ]
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads; answers are given in this event loop."""
        self._loop = loop
        for thread in self._threads:
            thread.start()
        loop.call_later(min(_LOOK, self._seconds), self._refuse_late)

    def stop(self) -> None:
        """Answer what waits, and end the threads."""
        self._stopped = True
        self._wake.release(len(self._threads))
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    @property
    def n_waiting(self) -> int:
        """Number of queries that wait."""
        return self._n_waiting

    def submit(self, key: Hashable, queries: list[Any]) -> asyncio.Future[list[T]]:
        """Queue queries; called in the event loop.

        Raises
        ------
        BusyError
            If too many wait already.
        """
        if self._stopped or self._loop is None:
            raise BusyError("the service is stopping")
        # A single large request may pass an empty queue.
        if self._n_waiting and self._n_waiting + len(queries) > self._most:
            raise BusyError(f"{self._n_waiting} queries wait already")
        answer: asyncio.Future[list[T]] = self._loop.create_future()
        self._n_waiting += len(queries)
        self._waiting.append(Job(key, queries, answer))
        if self._n_asleep:
            self._wake.release()
        return answer

    def _refuse_late(self) -> None:
        """Refuse jobs whose time is over, also while the thread is busy; in the event loop, for ever."""
        assert self._loop is not None
        oldest = time.monotonic() - self._seconds
        running = [job for jobs in list(self._running.values()) for job in jobs]
        for job in [*running, *self._waiting]:
            if job.since < oldest and not job.answer.done():
                job.answer.set_exception(LateError("the query took too long"))
        if not self._stopped:
            self._loop.call_later(min(_LOOK, self._seconds), self._refuse_late)

    def _run(self) -> None:
        while True:
            jobs = self._take()
            if jobs:
                self._running[threading.get_ident()] = jobs
                self._answer(jobs)
                self._running[threading.get_ident()] = []
            elif self._stopped:
                return
            else:
                self._sleep()

    def _sleep(self) -> None:
        """Wait for a job, and a little longer for others."""
        with self._taking:
            self._n_asleep += 1
        # A job may have come after the look into the queue and before the count.
        if not self._waiting:
            self._wake.acquire()
        with self._taking:
            self._n_asleep -= 1
        if self._delay and not self._stopped:
            time.sleep(self._delay)

    def _take(self) -> list[Job[T]]:
        """Jobs for one pass, oldest first; none if nothing waits."""
        taken: list[Job[T]] = []
        rows = 0
        with self._taking:
            while self._waiting and (not taken or rows + len(self._waiting[0].queries) <= _MOST_ROWS):
                taken.append(self._waiting.popleft())
                rows += len(taken[-1].queries)
        return taken

    def _answer(self, jobs: list[Job[T]]) -> None:
        oldest = time.monotonic() - self._seconds
        groups: dict[Hashable, list[Job[T]]] = {}
        results: list[tuple[Job[T], list[T] | Exception]] = []
        for job in jobs:
            if job.since < oldest:
                results.append((job, LateError("the query waited too long")))
            elif not job.answer.done():
                groups.setdefault(job.key, []).append(job)
        for key, group in groups.items():
            results += self._answer_group(key, group)
        rows = sum(len(job.queries) for job in jobs)
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._deliver, results, rows)
        except RuntimeError:  # the loop was closed: nobody waits for an answer
            return

    def _answer_group(self, key: Any, group: list[Job[T]]) -> list[tuple[Job[T], list[T] | Exception]]:
        queries = group[0].queries if len(group) == 1 else [q for job in group for q in job.queries]
        self._observe(len(queries))
        try:
            found = self._ask(key, queries)
        except CollectionError as error:
            # The store cannot be used now: asking for each query again would only take longer.
            return [(job, error) for job in group]
        except DiffhashError as error:
            if len(group) == 1:
                return [(group[0], error)]
            # Somebody's query is wrong: only that one gets the error. Halves find it in a few passes.
            half = len(group) // 2
            return self._answer_group(key, group[:half]) + self._answer_group(key, group[half:])
        except Exception as error:
            return [(job, error) for job in group]
        results: list[tuple[Job[T], list[T] | Exception]] = []
        begin = 0
        for job in group:
            end = begin + len(job.queries)
            results.append((job, found[begin:end]))
            begin = end
        return results

    def _deliver(self, results: list[tuple[Job[T], list[T] | Exception]], rows: int) -> None:
        """Give answers to those who wait; in the event loop."""
        self._n_waiting -= rows
        for job, found in results:
            if job.answer.done():
                continue
            if isinstance(found, Exception):
                job.answer.set_exception(found)
            else:
                job.answer.set_result(found)
