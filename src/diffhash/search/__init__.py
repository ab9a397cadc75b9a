"""Search over packed codes: an exact index, asymmetric ranking, near-duplicates.

:mod:`.sequential` compares two codes bit by bit.
"""

from ..types import RangeResult, SearchResult
from .asymmetric import RankedResult, asymmetric_scale, asymmetric_scores, asymmetric_search
from .index import HammingIndex
from .near_duplicates import Duplicates, duplicates

__all__ = [
    "Duplicates",
    "HammingIndex",
    "RangeResult",
    "RankedResult",
    "SearchResult",
    "asymmetric_scale",
    "asymmetric_scores",
    "asymmetric_search",
    "duplicates",
]
