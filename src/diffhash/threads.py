"""Limit the number of threads of BLAS."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
#: Number of contexts that are open in all threads.
_n_open = 0
#: Libraries with one limit for the whole process, and their limit before the first context.
_process_wide: list[tuple[Any, int]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context manager: inside it, BLAS uses one thread.

    Contexts may overlap, also in different threads. If a library has one limit for the whole process,
    the first context that is entered sets the limit and the last one that is left restores it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    global _n_open, _process_wide
    libraries = [
        lib for lib in threadpoolctl.ThreadpoolController().lib_controllers if lib.user_api == "blas"
    ]
    with _lock:
        before = [(lib, lib.num_threads) for lib in libraries]
        if _n_open == 0:
            _process_wide = [(lib, n) for lib, n in before if not _is_per_thread(lib)]
            _set_limits([(lib, 1) for lib, _ in _process_wide])
        _n_open += 1
    per_thread = [(lib, n) for lib, n in before if _is_per_thread(lib)]
    _set_limits([(lib, 1) for lib, _ in per_thread])
    try:
        yield
    finally:
        _set_limits(per_thread)
        with _lock:
            _n_open -= 1
            if _n_open == 0:
                _set_limits(_process_wide)


def _is_per_thread(library: Any) -> bool:
    """Whether every thread has its own limit."""
    return getattr(library, "threading_layer", None) == "openmp"


def _set_limits(limits: list[tuple[Any, int]]) -> None:
    if not limits:
        return
    # In newer versions of threadpoolctl only the first thread that set a limit may change it.
    # Here any thread may change it.
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    for library, n_threads in limits:
        library.set_num_threads(n_threads)
    clear(force=True)
