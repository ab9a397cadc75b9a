"""Hamming distances at the speed of memory: C++ kernels, with NumPy in their place where there are none.

Every function has the same results with every kernel; :func:`build_info` says which one runs.
"""

from .dispatch import BuildInfo, available_kernels, build_info
from .distance_table import distance_table
from .joint_counts import joint_counts
from .packing import pack_signs, project, project_and_pack
from .search import RangeResult, SearchResult, top_k, within

__all__ = [
    "BuildInfo",
    "RangeResult",
    "SearchResult",
    "available_kernels",
    "build_info",
    "distance_table",
    "joint_counts",
    "pack_signs",
    "project",
    "project_and_pack",
    "top_k",
    "within",
]
