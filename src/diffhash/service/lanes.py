"""Threads for everything but the shared searches: a bounded number of requests waits, for a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .problems import BusyError, LateError

__all__ = ["Lane"]

T = TypeVar("T")


class Lane:
    """A few threads with a queue.

    Parameters
    ----------
    name : str
    threads : int
    most : int
        Requests that may wait or run.
    seconds : float
        Time after which a request is refused. What it has begun is finished.
    """

    def __init__(self, name: str, *, threads: int, most: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most, self._seconds = most, seconds
        self.n_waiting = 0

    async def run(self, function: Callable[[], T]) -> T:
        """Call a function in a thread of the lane."""
        if self.n_waiting >= self._most:
            raise BusyError(f"{self.n_waiting} requests wait already")
        self.n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, function)
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            if future.done() and not future.cancelled() and isinstance(future.exception(), TimeoutError):
                raise
            future.cancel()
            raise LateError("the request took too long") from None

    def _done(self, future: asyncio.Future[T]) -> None:
        self.n_waiting -= 1
        if not future.cancelled():
            # Asked for here, so that the error of a request that nobody waits for is not reported as lost.
            future.exception()

    def stop(self) -> None:
        """Finish what waits, and end the threads."""
        self._pool.shutdown(wait=True)
