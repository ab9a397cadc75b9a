"""How many threads to use, and a limit for the threads of BLAS."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

from .errors import ParameterError

__all__ = ["blas_libraries", "in_runs", "in_threads", "one_blas_thread", "thread_count"]

A = TypeVar("A")
B = TypeVar("B")
#: More threads than any machine can use.
_MOST = 4096
#: Largest number of threads of :func:`in_threads`.
_MOST_AT_ONCE = 8
#: Smallest number of parts in a run of :func:`in_runs`: with fewer, threads often wait for the last one.
_FEWEST_PARTS = 4
_lock = threading.Lock()
#: Number of contexts that are open in all threads.
_n_open = 0
#: Libraries with one limit for the whole process, and their limit before the first context.
_process_wide: list[tuple[Any, int]] = []
#: Number of modules when the libraries were looked for last, and what was found.
_known_libraries: tuple[int, list[Any]] | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context manager: inside it, BLAS uses one thread.

    Contexts may overlap in several threads. If a library has one limit for the whole process, the
    first context to start sets it and the last one to end restores the old limit.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    global _n_open, _process_wide
    libraries = _loaded_libraries()
    with _lock:
        before = [(lib, lib.num_threads) for lib in libraries]
        if _n_open == 0:
            _process_wide = []
        # Some may have been loaded since the first context began.
        limited = {lib.filepath for lib, _ in _process_wide}
        new = [(lib, n) for lib, n in before if not _is_per_thread(lib) and lib.filepath not in limited]
        _process_wide += new
        _set_limits([(lib, 1) for lib, _ in new])
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


def blas_libraries() -> list[dict[str, Any]]:
    """The BLAS libraries of this process and how many threads each uses now, as plain JSON.

    Sums of floating-point numbers depend on their order, and so on the library, on the kind of CPU that
    it has chosen its code for, and on the number of threads.

    Examples
    --------
    >>> with one_blas_thread():
    ...     {library["threads"] for library in blas_libraries()} <= {1}
    True
    """
    found = [
        {
            "library": str(pool["internal_api"]),
            "version": str(pool.get("version")),
            "architecture": str(pool.get("architecture")),
            "threads": int(pool["num_threads"]),
        }
        for pool in (library.info() for library in _loaded_libraries())
    ]
    # NumPy and SciPy bring one each, in the order in which they were loaded.
    return sorted(found, key=lambda library: tuple(map(str, library.values())))


def _loaded_libraries() -> list[Any]:
    """The BLAS libraries of this process, as threadpoolctl controls them.

    Finding them reads the memory map of the process, which takes milliseconds. A library comes with the import of a
    module, so they are looked for again only if there are more or fewer modules than before.
    """
    # Imported here because searching does not need it.
    import threadpoolctl

    global _known_libraries
    n_modules = len(sys.modules)
    known = _known_libraries
    if known is None or known[0] != n_modules:
        found = threadpoolctl.ThreadpoolController().lib_controllers
        known = n_modules, [library for library in found if library.user_api == "blas"]
        _known_libraries = known
    return known[1]


def _is_per_thread(library: Any) -> bool:
    """Whether every thread has its own limit."""
    # threadpoolctl sets the limit that MKL has for each thread.
    return library.internal_api == "mkl" or getattr(library, "threading_layer", None) == "openmp"


def _set_limits(limits: list[tuple[Any, int]]) -> None:
    if not limits:
        return
    import threadpoolctl

    # In newer versions of threadpoolctl only the thread that first changed a limit may change it again.
    # Here any thread may change it.
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    for library, n_threads in limits:
        library.set_num_threads(n_threads)
    clear(force=True)


def in_threads(function: Callable[[A], B], arguments: Sequence[A]) -> list[B]:
    """Results of a function that releases the interpreter lock for most of its time, in the order of the arguments.

    Calls run at the same time in at most :func:`thread_count` threads, and in at most 8, because each of them needs
    memory. They must not depend on each other.

    Examples
    --------
    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    # Imported here because searching does not need it.
    from concurrent.futures import ThreadPoolExecutor

    n_threads = min(thread_count(None, caller="fit"), len(arguments), _MOST_AT_ONCE)
    if n_threads < 2:
        return [function(each) for each in arguments]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, arguments))


def in_runs(function: Callable[[Iterable[A]], B], parts: Sequence[A], *, most_runs: int = _MOST) -> list[B]:
    """Results of a function for runs of consecutive parts, in their order; each thread has one run.

    While they run, BLAS has one thread: threads of BLAS wait while something else than a product is computed, and these
    do not. If BLAS may use only one thread now, there is one run. After an error or an interrupt, the other runs stop
    at their next part.

    Parameters
    ----------
    function : function of an iterable of parts
        It releases the interpreter lock for most of its time.
    parts : list
        Such as blocks of rows.
    most_runs : int
        Largest number of runs, if each of them needs much memory.

    Examples
    --------
    >>> sum(in_runs(sum, [1, 2, 3]))
    6
    """
    most = max((int(library.num_threads or 1) for library in _loaded_libraries()), default=1)
    n_runs = min(
        thread_count(None, caller="fit"), most, most_runs, _MOST_AT_ONCE, len(parts) // _FEWEST_PARTS
    )
    if n_runs < 2:
        return [function(parts)]
    # Imported here because searching does not need it.
    from concurrent.futures import ThreadPoolExecutor, as_completed

    stop = threading.Event()

    def run(first: int, last: int) -> B:
        # Some libraries have a limit for each thread.
        with one_blas_thread():
            return function(_until(stop, parts[first:last]))

    bounds = [len(parts) * number // n_runs for number in range(n_runs + 1)]
    with one_blas_thread(), ThreadPoolExecutor(n_runs) as pool:
        try:
            runs = [pool.submit(run, first, last) for first, last in pairwise(bounds)]
            # The first error, whichever run it is in.
            for done in as_completed(runs):
                done.result()
            return [each.result() for each in runs]
        except BaseException:
            stop.set()
            raise


class _StoppedError(Exception):
    """Ends a run whose result nobody needs."""


def _until(stop: threading.Event, parts: Sequence[A]) -> Iterator[A]:
    for part in parts:
        if stop.is_set():
            raise _StoppedError
        yield part


def thread_count(n_threads: int | None, *, caller: str) -> int:
    """Number of threads to use.

    Returns
    -------
    int
        ``n_threads`` if given, else the environment variable ``DIFFHASH_NUM_THREADS``, else the
        number of CPUs that this process may use (its affinity).

    Examples
    --------
    >>> thread_count(3, caller="search")
    3
    """
    if n_threads is not None:
        whole = isinstance(n_threads, int) and not isinstance(n_threads, bool)
        if not whole or not 1 <= n_threads <= _MOST:
            raise ParameterError(
                f"{caller}: n_threads must be a whole number from 1 to {_MOST:,}, got {n_threads!r:.60}."
            )
        return n_threads
    text = os.environ.get("DIFFHASH_NUM_THREADS")
    if text:
        if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= _MOST:
            raise ParameterError(
                f"{caller}: the environment variable DIFFHASH_NUM_THREADS must be a whole number from 1 to "
                f"{_MOST:,}, got {text!r:.60}."
            )
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
