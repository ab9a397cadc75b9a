"""Which source reads what a user gave: found by type, so that nothing here imports what reads it.

Another package registers the arrays of a library, by the name of the library's top-level package. Its module is
imported only when such an array is given.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from .batch_source import BatchSource
from .batches import Source

__all__ = ["open_batches", "open_views", "register_views"]

#: Top-level package of the type of an array, and the module that makes a source of such arrays.
_MODULES: dict[str, str] = {}


def register_views(package: str, module: str) -> None:
    """Read arrays of a library with a source of another module.

    Parameters
    ----------
    package : str
        Name of the library's top-level package, such as "dask".
    module : str
        Name of a module with a function
        ``source_of_views(views, pairs, couple_weights, *, need_negatives, caller) -> Source``.
    """
    _MODULES[package] = module


def open_views(
    views: Any, pairs: Any, couple_weights: Any, *, need_negatives: bool, caller: str
) -> Source | None:
    """The source of views of a registered type; None if they are arrays in memory."""
    if not isinstance(views, Mapping):
        return None
    for X in views.values():
        module = _MODULES.get(type(X).__module__.partition(".")[0])
        if module is not None:
            found: Source = importlib.import_module(module).source_of_views(
                views, pairs, couple_weights, need_negatives=need_negatives, caller=caller
            )
            return found
    return None


def open_batches(batches: Any, couple_weights: Any, *, caller: str) -> Source:
    """The source of the argument of ``fit_batches``: a source itself, or batches of views and pairs."""
    return batches if isinstance(batches, Source) else BatchSource(batches, couple_weights, caller=caller)
