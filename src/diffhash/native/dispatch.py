"""Which implementation runs, on how many threads."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from types import ModuleType

from ..errors import ParameterError
from . import fallback

__all__ = ["BuildInfo", "available_kernels", "build_info", "choose", "thread_count"]


def _load() -> ModuleType | None:
    try:
        return importlib.import_module("diffhash.native._kernels")
    except ImportError:  # built without a compiler, or for another Python
        return None


_extension = _load()


@dataclass(frozen=True)
class BuildInfo:
    """What is running: see :func:`build_info`."""

    native: bool
    kernel: str
    kernels: tuple[str, ...]
    n_threads: int


def available_kernels() -> tuple[str, ...]:
    """List the implementations that can run here, best first; the last is always ``"numpy"``.

    Examples
    --------
    >>> available_kernels()[-1]
    'numpy'
    """
    native = () if _extension is None else tuple(_extension.kernels())
    return (*native, *fallback.kernels())


def build_info() -> BuildInfo:
    """Say which implementation runs.

    Returns
    -------
    BuildInfo
        ``native``: whether compiled kernels are used; ``kernel``: the one in use (the best
        that the CPU has, or what the environment variable ``DIFFHASH_KERNEL`` asks for);
        ``kernels``: all that can run here; ``n_threads``: the default number of threads
        (``DIFFHASH_NUM_THREADS``, or the CPUs that this process may use).

    Examples
    --------
    >>> info = build_info()
    >>> info.kernel in info.kernels
    True
    """
    _, kernel = choose(None)
    return BuildInfo(
        native=kernel != "numpy",
        kernel=kernel,
        kernels=available_kernels(),
        n_threads=thread_count(None, caller="build_info"),
    )


def choose(kernel: str | None) -> tuple[ModuleType, str]:
    """Choose the module to call, and the kernel to ask it for."""
    names = available_kernels()
    wanted = kernel or os.environ.get("DIFFHASH_KERNEL") or names[0]
    if wanted not in names:
        source = "kernel" if kernel else "the environment variable DIFFHASH_KERNEL"
        raise ParameterError(
            f"{source}: expected one of {', '.join(names)}, got {wanted!r}. "
            "Other kernels need another CPU, or were not compiled in."
        )
    if wanted == "numpy" or _extension is None:
        return fallback, "numpy"
    return _extension, wanted


def thread_count(n_threads: int | None, *, caller: str) -> int:
    """Threads to use: the argument, else ``DIFFHASH_NUM_THREADS``, else the CPUs at hand."""
    if n_threads is not None:
        if isinstance(n_threads, bool) or not isinstance(n_threads, int) or n_threads < 1:
            raise ParameterError(f"{caller}: n_threads must be a whole number from 1, got {n_threads!r}.")
        return n_threads
    text = os.environ.get("DIFFHASH_NUM_THREADS")
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise ParameterError(
                f"{caller}: the environment variable DIFFHASH_NUM_THREADS must be a whole number from 1, "
                f"got {text!r}."
            )
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
