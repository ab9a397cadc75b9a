"""Honest measures of retrieval, all from one table of counts."""

from .bits import BitDiagnostics, bit_agreement, bit_diagnostics
from .distances import DistanceEvaluation, euclidean_distances, evaluate_distances
from .metrics import (
    average_precision,
    equal_error_rate,
    expected_hits,
    precision_recall_at,
    precision_recall_curve,
    precision_recall_within,
    roc_curve,
)
from .model import evaluate_model
from .result import Evaluation, evaluate
from .table import distance_table, pair_distance_table

__all__ = [
    "BitDiagnostics",
    "DistanceEvaluation",
    "Evaluation",
    "average_precision",
    "bit_agreement",
    "bit_diagnostics",
    "distance_table",
    "equal_error_rate",
    "euclidean_distances",
    "evaluate",
    "evaluate_distances",
    "evaluate_model",
    "expected_hits",
    "pair_distance_table",
    "precision_recall_at",
    "precision_recall_curve",
    "precision_recall_within",
    "roc_curve",
]
