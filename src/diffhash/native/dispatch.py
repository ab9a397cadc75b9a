"""Choose the implementation of the kernels: compiled for this CPU, or NumPy."""

from __future__ import annotations

import importlib
import os
import warnings
from dataclasses import dataclass
from types import ModuleType

from ..errors import DiffhashWarning, ParameterError
from ..threads import thread_count
from . import fallback

__all__ = ["INTERFACE", "BuildInfo", "available_kernels", "build_info", "choose", "current"]


#: Number of the functions, arguments and results that the package expects; the same as in cpp/bindings.cpp.
INTERFACE = 2


def _load() -> ModuleType | None:
    try:
        return importlib.import_module("diffhash.native._kernels")
    except ImportError:  # built without a compiler, or for another Python
        return None


def current(extension: ModuleType | None) -> ModuleType | None:
    """The extension if it fits this package; otherwise None, with a warning.

    Kernels of another release could read arrays in another way. NumPy gives the same results.
    """
    if extension is None or getattr(extension, "interface", None) == INTERFACE:
        return extension
    warnings.warn(
        f"diffhash: the compiled kernels ({extension.__file__}) were made for another release of the package. They are "
        "not used, and NumPy is slower. Install the package again: pip install --force-reinstall diffhash, or in a "
        "checkout of the sources: pip install .",
        DiffhashWarning,
        stacklevel=2,
    )
    return None


_extension = current(_load())


@dataclass(frozen=True)
class BuildInfo:
    """The implementation in use, see :func:`build_info`."""

    native: bool
    kernel: str
    kernels: tuple[str, ...]
    n_threads: int


def available_kernels() -> tuple[str, ...]:
    """List the kernels that can run here, fastest first; the last is always ``"numpy"``.

    Examples
    --------
    >>> available_kernels()[-1]
    'numpy'
    """
    native = () if _extension is None else tuple(_extension.kernels())
    return (*native, *fallback.kernels())


def build_info() -> BuildInfo:
    """Describe the implementation in use.

    Returns
    -------
    BuildInfo
        ``native``: whether compiled kernels are used; ``kernel``: the kernel in use (the fastest
        that the CPU supports, or the one named by the environment variable ``DIFFHASH_KERNEL``);
        ``kernels``: all kernels that can run here; ``n_threads``: the default number of threads
        (``DIFFHASH_NUM_THREADS``, or the number of CPUs that this process may use).

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
    """The module to call, and the kernel to name in the call."""
    names = available_kernels()
    if kernel is not None and not isinstance(kernel, str):
        raise ParameterError(f"kernel: expected one of {', '.join(names)}, got {type(kernel).__name__}.")
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
