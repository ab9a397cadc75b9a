"""Feature maps: transform the features of one modality before they are projected."""

from .base import FeatureMap, MappedView, block_rows, map_from_state
from .kernel import KernelMap
from .linear import LinearMap

__all__ = ["FeatureMap", "KernelMap", "LinearMap", "MappedView", "block_rows", "map_from_state"]
