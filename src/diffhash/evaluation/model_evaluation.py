"""Evaluate a model in all directions: from every modality into every modality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ..errors import ParameterError
from ..model import HashModel
from ..types import CodeArray, Views
from ..validation import known_modality
from .code_evaluation import Evaluation, evaluate

__all__ = ["evaluate_model"]


class Encoder(Protocol):
    """A fitted hasher, or another object that encodes."""

    @property
    def modalities_(self) -> tuple[str, ...]:
        """Names of the modalities."""

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Return packed codes of objects of one modality."""


def modalities_of(hasher: Encoder | HashModel, views: Views, *, caller: str) -> tuple[str, ...]:
    """Names of the views, after checking that the model knows all of them."""
    known = hasher.modalities if isinstance(hasher, HashModel) else hasher.modalities_
    return tuple(known_modality(name, known, caller=caller) for name in views)


def evaluate_model(
    hasher: Encoder | HashModel,
    views: Views,
    labels: Mapping[str, Any],
    *,
    database: Views | None = None,
    database_labels: Mapping[str, Any] | None = None,
    gains: str | None = None,
) -> dict[tuple[str, str], Evaluation]:
    """Evaluate retrieval from every modality into every modality, including itself.

    Parameters
    ----------
    hasher : fitted hasher or HashModel
    views, labels : dicts by modality
        The queries. Views may have different numbers of rows: an object may lack a modality.
    database, database_labels : dicts by modality, optional
        The items to search. By default these are the queries themselves; within one modality the
        query's own item is then left out. If the model was not fitted on the queries, this measures
        retrieval of *unseen* items. Many papers search the training items instead, which also
        rewards memorised codes.
    gains : {"shared", "exponential"}, optional
        How much each relevant item is worth, for NDCG; see :func:`evaluate`.

    Returns
    -------
    dict of Evaluation by (modality of the query, modality of the database)

    See Also
    --------
    direction_matrix : one measure of all directions as a matrix.

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
        raise ParameterError(f"{caller}: give both the database and its labels, or neither.")
    for given, given_labels in ((views, labels), (database or {}, database_labels or {})):
        for name in modalities_of(hasher, given, caller=caller):
            if name not in given_labels:
                raise ParameterError(f"{caller}: there are no labels for modality {name!r}.")
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
            gains=gains,
        )
        for q in queries
        for d in items
    }
