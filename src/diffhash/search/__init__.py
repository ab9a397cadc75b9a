"""Search over packed codes: an exact index and asymmetric ranking. :mod:`.sequential` compares two codes bit by bit."""

from ..types import RangeResult, SearchResult
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
