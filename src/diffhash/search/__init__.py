"""Search over packed codes: the exact index, asymmetric ranking; the sequential test has a package of its own."""

from ..native.search import RangeResult, SearchResult
from .asymmetric import RankedResult, asymmetric_scale, asymmetric_scores, asymmetric_search
from .index import HammingIndex

__all__ = [
    "HammingIndex",
    "RangeResult",
    "RankedResult",
    "SearchResult",
    "asymmetric_scale",
    "asymmetric_scores",
    "asymmetric_search",
]
