"""One number for how well a model finds what belongs together: ``score`` of a hasher."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError, UnknownModalityError
from ..evaluation.metrics import average_precision, precision_recall_at
from ..evaluation.pair_score import relevance_table, score_codes
from ..model import HashModel
from ..pairs.couples import ResolvedCouple, ResolvedCouples, name_couples, resolve_couples
from ..types import CodeArray, FloatArray
from ..validation import known_modality

__all__ = ["check_metric", "score_couples", "score_model"]

#: Places that count for recall where nothing else is said.
_DEFAULT_PLACES = 10


def score_model(model: HashModel, views: Any, pairs: Any, metric: str, *, caller: str) -> float:
    """Score a model on views and pairs that it has not learned from; see :meth:`BaseHasher.score`."""
    check_metric(metric, caller=caller)
    if not isinstance(views, Mapping) or not views:
        raise UnknownModalityError(
            f"{caller}: views must be a dict of arrays by modality, got {type(views).__name__}."
        )
    named = name_couples(pairs, list(views), caller=caller)
    codes = [
        model.encode(views[m], known_modality(m, model.modalities, caller=caller)) for m in named.modalities
    ]
    n_rows = {m: len(each) for m, each in zip(named.modalities, codes, strict=True)}
    couples = resolve_couples(named, n_rows, None, caller=caller, need_negatives=False)
    return score_couples(codes, couples, metric, caller=caller)


def check_metric(metric: Any, *, caller: str) -> None:
    """Raise ParameterError unless the metric is "auto", "map", "auc" or "recall@K"."""
    if not isinstance(metric, str) or not re.fullmatch(r"auto|map|auc|recall@[1-9]\d{0,8}", metric):
        raise ParameterError(
            f'{caller}: metric must be "auto", "map", "auc" or "recall@10", got {metric!r:.60}.'
        )


def score_couples(codes: list[CodeArray], couples: ResolvedCouples, metric: str, *, caller: str) -> float:
    """Mean over the couples, and over both directions of each.

    Parameters
    ----------
    codes : list of uint8 arrays of shape (n, n_bytes)
        Codes of each modality, in the order of the couples.
    couples : ResolvedCouples
    metric : str
    caller : str
    """
    found = []
    for couple in couples:
        values = _couple_scores(codes, couple, metric)
        found += [float(np.nanmean(each)) for each in values if not np.isnan(each).all()]
    if not found:
        raise InputError(f"{caller}: there is no positive pair, so there is nothing to find.")
    return float(np.mean(found))


def _couple_scores(codes: list[CodeArray], couple: ResolvedCouple, metric: str) -> list[FloatArray]:
    """The figure of every query, for each direction."""
    x, y, pairs = codes[couple.first], codes[couple.second], couple.pairs
    listed = pairs.positive is not None and pairs.negative is not None
    if metric == "auto":
        # Unlisted pairs are unknown if both kinds are listed: then only the listed ones can be compared.
        metric = "auc" if listed else "map" if pairs.labelled else f"recall@{_DEFAULT_PLACES}"
    if metric == "auc" and listed:
        return [np.array([score_codes(x, y, pairs)])]
    tables = [relevance_table(x, y, pairs)]
    if not pairs.one_view:
        tables.append(relevance_table(y, x, pairs, flip=True))
    if metric == "map":
        return [average_precision(table) for table in tables]
    if metric == "auc":
        return [_area(table) for table in tables]
    return [precision_recall_at(table, int(metric.partition("@")[2]))[1] for table in tables]


def _area(table: Any) -> FloatArray:
    """Chance that a relevant item is nearer than an irrelevant one, all queries together; ties count half."""
    far, near = table.sum(axis=0).astype(np.float64).T
    with np.errstate(invalid="ignore"):
        return np.array([(np.cumsum(near) - near / 2) @ far / (near.sum() * far.sum())])
