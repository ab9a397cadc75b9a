"""Measure codes at several lengths, across and within modalities, and Euclidean distances without codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codes import pack, unpack
from ...datasets import Split
from ...evaluation import Evaluation, euclidean_distances, evaluate, evaluate_distances, rank_correlation
from ...hashers.base import BaseHasher
from ...types import CodeArray, FloatArray, IntArray

__all__ = ["DIRECTIONS", "RATES", "WITHIN", "measure_codes", "measure_euclidean"]

#: Modality of the query and modality of the database.
DIRECTIONS = {"x→y": ("x", "y"), "y→x": ("y", "x")}
#: The same within a modality.
WITHIN = {"x→x": "x", "y→y": "y"}
#: Pairs of each modality whose distances are compared with those of their codes.
_N_PAIRS = 20_000
#: False positive rates at which ROC curves are stored.
RATES = np.concatenate([[0.0], np.logspace(-4, 0, 161)])


def measure_codes(
    hasher: BaseHasher, test: Split, lengths: tuple[int, ...], roc_length: int | None
) -> dict[str, Any]:
    """Measure the accuracy of the first bits of one model, in both directions.

    If ``roc_length`` is given, ROC curves of this length are kept, and all lengths are measured within each
    modality too: retrieval, and the rank correlation with the distances of the features.

    Notes
    -----
    The codes of the paper's three methods are nested: the first m bits of a long code are the code of
    the model with m bits. One fit is therefore enough for all lengths.
    """
    bits = {m: unpack(hasher.encode(X, modality=m), hasher.n_bits) for m, X in test.views.items()}
    result: dict[str, Any] = {"lengths": {}, "roc": {}}
    for length in lengths:
        codes = {m: pack(values[:, :length]) for m, values in bits.items()}
        row = {}
        for name, (query, database) in DIRECTIONS.items():
            found = evaluate(codes[query], codes[database], test.labels[query], test.labels[database])
            fnr, fpr = _bit_rates(found, length)
            row[name] = {
                "eer": _rounded(found.equal_error_rate),
                "map": _rounded(found.mean_average_precision),
                "fnr": _rounded(fnr),
                "fpr": _rounded(fpr),
            }
            if length == roc_length:
                result["roc"][name] = _kept_rates(*found.roc)
        if roc_length is not None:
            row |= {
                name: _measure_within(codes[m], test.views[m], test.labels[m]) for name, m in WITHIN.items()
            }
        result["lengths"][str(length)] = row
    return result


def _measure_within(codes: CodeArray, X: FloatArray, labels: IntArray) -> dict[str, float]:
    found = evaluate(codes, codes, labels, labels, own=np.arange(len(codes)))
    return {
        "eer": _rounded(found.equal_error_rate),
        "map": _rounded(found.mean_average_precision),
        "rho": _distance_correlation(codes, X),
    }


def _distance_correlation(codes: CodeArray, X: FloatArray) -> float:
    """Rank correlation with the metric of the paper's section 6: Mahalanobis with a diagonal covariance matrix."""
    found = rank_correlation(codes, X, metric="diagonal", n_pairs=_N_PAIRS).value
    # Codes that are all equal say nothing about distances.
    return 0.0 if np.isnan(found) else _rounded(found)


def measure_euclidean(X: FloatArray, labels: IntArray) -> dict[str, Any]:
    """Measure the accuracy of Euclidean retrieval within one modality; the query itself is left out.

    Returns
    -------
    dict with "eer", "map", "roc" (true positive rates at ``RATES``) and "class_rho"
        "class_rho" is the rank correlation of codes that tell only whether two objects are of the same class.
    """
    own = np.arange(len(X))
    found = evaluate_distances(euclidean_distances(X, X), labels, labels, own=own, max_k=1)
    return {
        "eer": _rounded(found.equal_error_rate),
        "map": _rounded(found.mean_average_precision),
        "roc": _kept_rates(*found.roc),
        "class_rho": _distance_correlation(pack(labels[:, None] == np.unique(labels)), X),
    }


def _bit_rates(found: Evaluation, length: int) -> tuple[float, float]:
    """FNR and FPR of section 2: mean share of bits that differ on positives, and that agree on negatives."""
    irrelevant, relevant = found.table.sum(axis=0).T
    distances = np.arange(len(relevant))
    differ = [(distances * counts).sum() / max(counts.sum(), 1) / length for counts in (relevant, irrelevant)]
    return float(differ[0]), float(1 - differ[1])


def _kept_rates(false_positive: FloatArray, true_positive: FloatArray) -> list[float]:
    return [_rounded(rate) for rate in np.interp(RATES, false_positive, true_positive)]


def _rounded(value: float) -> float:
    return round(float(value), 6)
