"""Accuracy of codes at several lengths, and of Euclidean distance without codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codes import pack, unpack
from ..datasets import Split
from ..evaluation import Evaluation, equal_error_rate, evaluate
from ..hashers.base import BaseHasher
from ..types import FloatArray, IntArray

__all__ = ["DIRECTIONS", "RATES", "measure_codes", "measure_euclidean"]

#: Which modality asks and which one is searched.
DIRECTIONS = {"x→y": ("x", "y"), "y→x": ("y", "x")}
#: False positive rates at which ROC curves are kept.
RATES = np.concatenate([[0.0], np.logspace(-4, 0, 161)])

_BINS = 1 << 14


def measure_codes(
    hasher: BaseHasher, test: Split, lengths: tuple[int, ...], roc_length: int | None
) -> dict[str, Any]:
    """Accuracy of the first bits of one model, in both directions.

    Notes
    -----
    Codes of the paper's three methods are nested: the first m bits of a longer model are the
    model of m bits, so one fit serves all lengths.
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
        result["lengths"][str(length)] = row
    return result


def measure_euclidean(X: FloatArray, labels: IntArray) -> dict[str, Any]:
    """Accuracy of Euclidean retrieval within one modality, each object's own row left out.

    Returns
    -------
    dict with "eer", "map" and "roc", the true positive rates at ``RATES``
    """
    X = X - X.mean(axis=0)
    square = np.einsum("ij,ij->i", X, X)
    precision, counts = [], np.zeros((2, _BINS))
    edges = np.linspace(0, 4 * float(square.max()), _BINS + 1)
    for row in range(len(X)):
        distance = np.delete(square + square[row] - 2 * (X @ X[row]), row)
        relevant = np.delete(labels == labels[row], row)
        for kind in (0, 1):
            counts[kind] += np.histogram(distance[relevant == kind], edges)[0]
        places = np.flatnonzero(relevant[np.argsort(distance)]) + 1
        if len(places):
            precision.append(np.mean(np.arange(1, len(places) + 1) / places))
    within = np.concatenate([np.zeros((2, 1)), np.cumsum(counts, axis=1)], axis=1)
    rates = within / np.maximum(within[:, -1:], 1)
    return {
        "eer": _rounded(equal_error_rate(*rates)),
        "map": _rounded(np.mean(precision)),
        "roc": _kept_rates(*rates),
    }


def _bit_rates(found: Evaluation, length: int) -> tuple[float, float]:
    """Section 2's rates: mean share of bits that differ on positives, and that agree on negatives."""
    irrelevant, relevant = found.table.sum(axis=0).T
    distances = np.arange(len(relevant))
    differ = [(distances * counts).sum() / max(counts.sum(), 1) / length for counts in (relevant, irrelevant)]
    return float(differ[0]), float(1 - differ[1])


def _kept_rates(false_positive: FloatArray, true_positive: FloatArray) -> list[float]:
    return [_rounded(rate) for rate in np.interp(RATES, false_positive, true_positive)]


def _rounded(value: float) -> float:
    return round(float(value), 6)
