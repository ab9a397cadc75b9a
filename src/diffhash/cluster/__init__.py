"""Learning and encoding on a cluster with Dask, see the page about clusters.

``fit`` and ``encode`` of hashers take Dask arrays. The functions here start a local cluster, and learn from and encode
folders of shards. Modules are imported when a name is first used, and need the extra ``diffhash[cluster]`` then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from .clients import connected, local_cluster
    from .dask_source import DaskSource
    from .encoding import ShardsResult, encode_shards
    from .fitting import fit_shards

_OWNERS = {
    "DaskSource": "dask_source",
    "ShardsResult": "encoding",
    "connected": "clients",
    "encode_shards": "encoding",
    "fit_shards": "fitting",
    "local_cluster": "clients",
}

__all__ = ["DaskSource", "ShardsResult", "connected", "encode_shards", "fit_shards", "local_cluster"]

__getattr__ = lazy_getattr(__name__, _OWNERS)
