"""``duplicates``: items of a collection that are nearly equal."""

from __future__ import annotations

import csv as csv_format
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import replacing
from ..output_files import TABLE
from ..search import Duplicates
from ..search.near_duplicates import MAX_PAIRS
from ..stores import Collection
from ..stores.address import shown_address
from ..stores.engine_store import EngineStore
from .model_files import open_store
from .options import FileName, OptionError, check_count
from .outputs import check_output
from .progress import Progress, Step, report
from .search_results import DuplicatesResult, ItemInfo

__all__ = ["duplicates"]


def duplicates(
    collection: FileName,
    *,
    radius: int,
    modality: str | None = None,
    into: str | None = None,
    count: int = 20,
    csv: FileName | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> DuplicatesResult:
    """Find items of a collection whose codes are within a radius, and the clusters that they form.

    Parameters
    ----------
    collection : collection (.dh), or the address of one
    radius : int
        Largest distance of a pair; 0: equal codes.
    modality : str, optional
        Compare codes of this modality. May be left out if only one has codes.
    into : str, optional
        Compare with codes of this modality; by default the same.
    count : int
        Number of clusters to return with the items in them, the largest first.
    csv : file, optional
        Write the pairs there: cluster, first, second, distance; at most the 10,000,000 nearest.
    overwrite : bool
        Replace an existing ``csv``.
    progress : function, optional

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dh"
    >>> with dh.Collection.create(path, n_bits=8, modalities=("image",)) as c:
    ...     _ = c.add_codes(np.array([[0], [1], [255]], dtype=np.uint8), modality="image")
    >>> result = duplicates(path, radius=1)
    >>> result.pairs, [[item.id for item in cluster] for cluster in result.largest]
    (1, [[0, 1]])
    """
    check_count(radius, "radius", minimum=0)
    check_count(count, "count", minimum=0)
    table = None if csv is None else Path(csv)
    if table is not None:
        check_output(table, overwrite, [collection], TABLE)
    with open_store(collection) as store:
        filled = [name for name, n in store.stats().n_codes.items() if n]
        for option, name in (("modality", modality), ("into", into)):
            if name is not None and name not in store.modalities:
                raise OptionError(
                    f"`{option}`: the collection has no {name!r}. It has {', '.join(store.modalities)}"
                )
        options = [name for name in filled if name != into] or filled or list(store.modalities)
        if modality is None and len(options) > 1 and filled:
            raise OptionError(f"several modalities have codes. Say `modality`: {', '.join(options)}")
        modality = modality or options[0]
        found = store.duplicates(
            radius,
            modality=modality,
            into=into,
            # Without a table nobody sees the pairs.
            max_pairs=0 if table is None else MAX_PAIRS,
            progress=lambda share: report(
                progress, Step("comparing", round(100 * share), 100, "percent", f"radius {radius}")
            ),
        )
        largest = tuple(_items(store, cluster.tolist()) for cluster in found.clusters[:count])
    if table is not None:
        _write(table, found)
    return DuplicatesResult(
        file=shown_address(collection),
        modality=modality,
        into=into or modality,
        radius=radius,
        pairs=found.n_pairs,
        pairs_by_distance=tuple(found.counts.tolist()),
        clusters=found.n_clusters,
        items=len(found.members),
        largest=largest,
        table=table,
        table_pairs=len(found.first),
    )


#: Items of a cluster that are returned.
_MEMBERS = 100
#: Rows of the table that are written at a time.
_BLOCK = 100_000


def _items(store: Collection | EngineStore, ids: list[Any]) -> tuple[ItemInfo, ...]:
    """The first items of a cluster; the others are only counted, and in the table."""
    return tuple(ItemInfo(item.id, item.payload) for item in store.get(ids[:_MEMBERS]))


def _write(path: Path, found: Duplicates) -> None:
    order = np.argsort(found.members)
    place = order[np.searchsorted(found.members, found.first, sorter=order)] if len(order) else order
    cluster = np.repeat(np.arange(found.n_clusters), np.diff(found.starts))[place]
    with replacing(path, TABLE) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv_format.writer(file)
        writer.writerow(["cluster", "first", "second", "distance"])
        for begin in range(0, len(cluster), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            columns = (cluster[rows], found.first[rows], found.second[rows], found.distances[rows])
            writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
