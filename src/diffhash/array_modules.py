"""Arrays of other libraries that are not in memory: which module of diffhash handles them, found by their type.

A table names the top-level package of an array's type and a module. The module is imported only when such an array is
given, so nothing here depends on it, and a program without such arrays never imports it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

__all__ = ["array_module", "register_arrays"]

#: Top-level package of the type of an array, and the module that handles such arrays.
_MODULES: dict[str, str] = {"dask": "diffhash.cluster.dask_arrays"}


def register_arrays(package: str, module: str) -> None:
    """Handle arrays of a library by a module.

    Parameters
    ----------
    package : str
        Name of the library's top-level package, such as "dask".
    module : str
        Name of a module with the functions
        ``source_of_views(views, pairs, couple_weights, *, need_negatives, caller)``, which returns a
        :class:`~diffhash.learning.batches.Source`, and ``encode_array(model, X, modality)`` and
        ``project_array(model, X, modality)``.
    """
    _MODULES[package] = module


def array_module(X: Any) -> ModuleType | None:
    """The module that handles an array; None if it is an array in memory.

    Examples
    --------
    >>> array_module([[1.0, 2.0]]) is None
    True
    """
    name = _MODULES.get(type(X).__module__.partition(".")[0])
    return None if name is None else importlib.import_module(name)
