"""How many threads linear algebra may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
_inside = 0
_limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While it lasts, BLAS keeps to one thread, in the whole process.

    Several may overlap, in several threads: the first one in sets the limit, the last one out lifts it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    global _inside, _limiter
    with _lock:
        if _inside == 0:
            _limiter = threadpoolctl.threadpool_limits(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _give_up_control()
                _limiter.restore_original_limits()
                _give_up_control()


def _give_up_control() -> None:
    """Newer threadpoolctl lets only the thread change a limit that set it first; here any may lift it."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
