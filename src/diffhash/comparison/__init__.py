"""Ours beside other ways to make features small: accuracy against all bytes that are stored for an item."""

from .measuring import compare
from .results import ComparedMethod, Comparison, DirectionScore

__all__ = ["ComparedMethod", "Comparison", "DirectionScore", "compare"]
