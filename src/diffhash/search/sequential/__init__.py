"""The sequential test: decides from as few bits as possible whether two codes are similar."""

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
