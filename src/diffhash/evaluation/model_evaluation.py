"""All directions of a model at once, in either protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ..errors import ParameterError
from ..types import CodeArray, Views
from ..validation import known_modality
from .code_evaluation import Evaluation, evaluate

__all__ = ["evaluate_model"]


class Encoder(Protocol):
    """What is needed of a hasher."""

    modalities_: tuple[str, ...]

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Codes of objects of one modality."""


def evaluate_model(
    hasher: Encoder,
    views: Views,
    labels: Mapping[str, Any],
    *,
    database: Views | None = None,
    database_labels: Mapping[str, Any] | None = None,
) -> dict[tuple[str, str], Evaluation]:
    """Retrieval from every modality into every modality, within each one too.

    Parameters
    ----------
    hasher : a fitted hasher
    views, labels : dicts by modality
        The queries; row r of every view is one object.
    database, database_labels : dicts by modality, optional
        What is searched. By default the queries themselves: *unseen* items if the model was not
        fitted on them, and a query's own item is then left out within its modality. Give the
        training items for the literature's protocol, which also rewards memorised codes.

    Returns
    -------
    dict by (modality of the query, modality of the database) of Evaluation

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=400, n_test=100, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, pairs)
    >>> sorted(dh.evaluation.evaluate_model(hasher, data.test.views, data.test.labels))
    [('x', 'x'), ('x', 'y'), ('y', 'x'), ('y', 'y')]
    """
    caller = "evaluate_model"
    if (database is None) != (database_labels is None):
        raise ParameterError(f"{caller}: give the database and its labels, or neither.")
    for names in (views, {} if database is None else database):
        for name in names:
            known_modality(name, hasher.modalities_, caller=caller)
    queries = {m: hasher.encode(X, modality=m) for m, X in views.items()}
    if database is None or database_labels is None:
        items, item_labels = queries, labels
    else:
        items = {m: hasher.encode(X, modality=m) for m, X in database.items()}
        item_labels = database_labels
    return {
        (q, d): evaluate(
            queries[q],
            items[d],
            labels[q],
            item_labels[d],
            own=np.arange(len(queries[q])) if items is queries and q == d else None,
        )
        for q in queries
        for d in items
    }
