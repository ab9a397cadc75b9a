"""Which source reads what a user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..array_modules import array_module
from .batch_source import BatchSource
from .batches import Source

__all__ = ["open_batches", "open_views"]


def open_views(
    views: Any, pairs: Any, couple_weights: Any, *, need_negatives: bool, caller: str
) -> Source | None:
    """The source of views of another library, see :mod:`diffhash.array_modules`; None if they are in memory."""
    if not isinstance(views, Mapping):
        return None
    for X in views.values():
        module = array_module(X)
        if module is not None:
            found: Source = module.source_of_views(
                views, pairs, couple_weights, need_negatives=need_negatives, caller=caller
            )
            return found
    return None


def open_batches(batches: Any, couple_weights: Any, *, caller: str) -> Source:
    """The source of the argument of ``fit_batches``: a source itself, or batches of views and pairs."""
    return batches if isinstance(batches, Source) else BatchSource(batches, couple_weights, caller=caller)
