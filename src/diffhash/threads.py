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
#: Libraries whose limit is one for the whole process, and what it was.
_shared: list[tuple[Any, int]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While it lasts, BLAS keeps to one thread.

    Several may overlap, in several threads: of libraries with one limit for the whole process the first
    one in sets it and the last one out lifts it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    global _inside, _shared
    libraries = [
        lib for lib in threadpoolctl.ThreadpoolController().lib_controllers if lib.user_api == "blas"
    ]
    with _lock:
        before = [(lib, lib.num_threads) for lib in libraries]
        if _inside == 0:
            _shared = [(lib, n) for lib, n in before if not _is_per_thread(lib)]
            _set([(lib, 1) for lib, _ in _shared])
        _inside += 1
    own = [(lib, n) for lib, n in before if _is_per_thread(lib)]
    _set([(lib, 1) for lib, _ in own])
    try:
        yield
    finally:
        _set(own)
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set(_shared)


def _is_per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _set(limits: list[tuple[Any, int]]) -> None:
    if not limits:
        return
    # Newer threadpoolctl lets only the thread change a limit that did so first; here any may.
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    for library, n_threads in limits:
        library.set_num_threads(n_threads)
    clear(force=True)
