"""The nearest rows: by a search of Milvus, or from rows that are compared here."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...search import HammingIndex
from ...types import CodeArray
from ..engine_search import Neighbour
from .connection import Connection
from .rows import MAX_FOUND, Row

__all__ = ["nearest_by_server", "nearest_of_rows"]

#: Hits of one request; with their payloads they are a few megabytes.
_HITS_AT_ONCE = 100_000


def nearest_by_server(
    connection: Connection,
    table: str,
    codes: CodeArray,
    k: int | None,
    radius: int | None,
    expression: str,
    options: Mapping[str, Any],
    *,
    caller: str,
) -> list[list[Neighbour] | None]:
    """The nearest rows of each query.

    Parameters
    ----------
    connection, table, caller
    codes : uint8 array of shape (q, bytes)
    k : int or None
        At most 16,384. None: all within the radius.
    radius : int or None
    expression : str
        Filter; empty for none.
    options : dict
        ``level``, and ``params`` of the index.

    Returns
    -------
    list for each query
        None if there may be more rows within the radius than Milvus can return.
    """
    params = dict(options["params"])
    if radius is not None:
        # Milvus finds distances below its radius.
        params["radius"] = radius + 1
    limit = MAX_FOUND if k is None else k
    at_once = max(_HITS_AT_ONCE // limit, 1)
    found: list[list[Neighbour] | None] = []
    for begin in range(0, len(codes), at_once):
        rows = connection.call(
            "search",
            table,
            [code.tobytes() for code in codes[begin : begin + at_once]],
            caller=caller,
            filter=expression,
            limit=limit,
            output_fields=["payload"],
            search_params={"metric_type": "HAMMING", "params": params},
            consistency_level=options["level"],
        )
        for hits in rows:
            full = k is None and len(hits) >= MAX_FOUND
            found.append(None if full else [_neighbour(hit) for hit in hits])
    return found


def _neighbour(hit: Any) -> Neighbour:
    distance = int(hit["distance"])
    return Neighbour(hit["id"], distance, hit["entity"]["payload"], -float(distance))


def nearest_of_rows(
    pages: Iterable[list[Row]], codes: CodeArray, k: int | None, radius: int | None, n_bits: int
) -> list[list[Neighbour]]:
    """The nearest of some rows, for each query.

    Parameters
    ----------
    pages : lists of rows
    codes : uint8 array of shape (q, bytes)
    k, radius : int or None
    n_bits : int
    """
    best: list[list[Neighbour]] = [[] for _ in codes]
    for rows in pages:
        if not rows:
            continue
        stored = np.frombuffer(b"".join(row.code for row in rows), dtype=np.uint8).reshape(len(rows), -1)
        index = HammingIndex(stored, n_bits=n_bits)
        near = index.search(codes, len(rows) if k is None else min(k, len(rows)))
        for query, (places, distances) in enumerate(
            zip(near.ids.tolist(), near.distances.tolist(), strict=True)
        ):
            new = [
                Neighbour(rows[place].id, distance, rows[place].payload, -float(distance))
                for place, distance in zip(places, distances, strict=True)
                if radius is None or distance <= radius
            ]
            merged = list(heapq.merge(best[query], new, key=lambda near: near.distance))
            best[query] = merged if k is None else merged[:k]
    return best
