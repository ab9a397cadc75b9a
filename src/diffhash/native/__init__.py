"""Fast Hamming distances: kernels in C++, or in NumPy if the package was built without a compiler.

Every kernel gives the same results. :func:`build_info` tells which one is in use.
"""

from ..types import RangeResult, SearchResult
from .dispatch import BuildInfo, available_kernels, build_info
from .distance_table import distance_table
from .joint_counts import joint_counts
from .packing import pack_signs
from .pair_join import PairBatch, join
from .search import top_k, within

__all__ = [
    "BuildInfo",
    "PairBatch",
    "RangeResult",
    "SearchResult",
    "available_kernels",
    "build_info",
    "distance_table",
    "join",
    "joint_counts",
    "pack_signs",
    "top_k",
    "within",
]
