"""The arguments that every form of a search takes, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["SearchOptions"]


@dataclass(frozen=True)
class SearchOptions:
    """What to search for and how much of it; the query itself is not part of it.

    Attributes
    ----------
    into : str or None
        Modality to search in; None means all.
    k : int or None
        Maximum number of hits for each query; None means all within the radius.
    where : dict or None
        Filter on payloads, see :mod:`.filter_syntax`.
    radius : int or None
        Largest distance of a hit.
    """

    into: str | None = None
    k: int | None = 10
    where: Mapping[str, Any] | None = None
    radius: int | None = None
