"""Honest measures of retrieval, all from one table of counts."""

from .metrics import (
    average_precision,
    equal_error_rate,
    precision_recall_at,
    precision_recall_curve,
    roc_curve,
)
from .result import Evaluation, evaluate
from .table import distance_table

__all__ = [
    "Evaluation",
    "average_precision",
    "distance_table",
    "equal_error_rate",
    "evaluate",
    "precision_recall_at",
    "precision_recall_curve",
    "roc_curve",
]
