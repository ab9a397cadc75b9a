"""Feature maps: transform the features of one modality before they are projected."""

from .feature_map import FeatureMap, map_from_state
from .kernel import KernelMap
from .linear import LinearMap
from .mapped_view import MappedView, block_rows
from .prepared_encoder import PreparedEncoder
from .unit import UnitMap

__all__ = [
    "FeatureMap",
    "KernelMap",
    "LinearMap",
    "MappedView",
    "PreparedEncoder",
    "UnitMap",
    "block_rows",
    "map_from_state",
]
