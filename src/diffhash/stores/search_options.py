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
    modality : str or None
        Modality of the query; None if it is not known, then the calibration says nothing about the hits.
    max_false_matches : float or None
        Largest mean number of wrong hits of a query; None: any.
    expected_matches : float or None
        How many items belong to a query; None: what the calibration says.
    rank : {"auto", "hamming", "asymmetric"}
        Order of the hits, see :mod:`.ranking`.
    words : bool or None
        Whether the texts of the queries are also matched with the words of captions; None: if the store can.
    texts : tuple of str or None
        The queries, if they are strings.
    silent : tuple of bool or None
        Queries whose codes say nothing, because the featurizer knows nothing of them; None: no query.
    """

    into: str | None = None
    k: int | None = 10
    where: Mapping[str, Any] | None = None
    radius: int | None = None
    modality: str | None = None
    max_false_matches: float | None = None
    expected_matches: float | None = None
    rank: str = "auto"
    words: bool | None = None
    texts: tuple[str, ...] | None = None
    silent: tuple[bool, ...] | None = None
