"""The sequential test: similar or not, from as few bits of two codes as are needed."""

from .decision_rule import Decisions, SequentialReport, calibrated_bounds, information_order, wald_bounds
from .estimator import SequentialTest

__all__ = [
    "Decisions",
    "SequentialReport",
    "SequentialTest",
    "calibrated_bounds",
    "information_order",
    "wald_bounds",
]
