"""Measures of retrieval, all computed from one table of counts by distance."""

from .bit_statistics import BitDiagnostics, bit_agreement, bit_diagnostics
from .code_evaluation import Evaluation, evaluate
from .direction_matrix import DirectionMatrix, direction_matrix
from .distance_counts import distance_table, pair_distance_table
from .distance_evaluation import DistanceEvaluation, euclidean_distances, evaluate_distances
from .gains import Gains
from .metrics import (
    average_precision,
    equal_error_rate,
    expected_hits,
    ndcg,
    precision_recall_at,
    precision_recall_curve,
    precision_recall_within,
    roc_curve,
)
from .model_evaluation import evaluate_model
from .rank_correlation import RankCorrelation, model_rank_correlations, rank_correlation

__all__ = [
    "BitDiagnostics",
    "DirectionMatrix",
    "DistanceEvaluation",
    "Evaluation",
    "Gains",
    "RankCorrelation",
    "average_precision",
    "bit_agreement",
    "bit_diagnostics",
    "direction_matrix",
    "distance_table",
    "equal_error_rate",
    "euclidean_distances",
    "evaluate",
    "evaluate_distances",
    "evaluate_model",
    "expected_hits",
    "model_rank_correlations",
    "ndcg",
    "pair_distance_table",
    "precision_recall_at",
    "precision_recall_curve",
    "precision_recall_within",
    "rank_correlation",
    "roc_curve",
]
