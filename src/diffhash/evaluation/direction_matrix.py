"""One measure of all directions: from every modality into every modality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..types import FloatArray
from ..validation import check_choice
from .code_evaluation import MEASURES, Evaluation

__all__ = ["DirectionMatrix", "direction_matrix"]


@dataclass(frozen=True)
class DirectionMatrix:
    """A measure for each direction, as a matrix.

    Attributes
    ----------
    measure : str
    queries, databases : tuple of str
        Modalities of the rows and of the columns.
    values : array of shape (n_queries, n_databases)
        NaN for a direction that was not evaluated.
    """

    measure: str
    queries: tuple[str, ...]
    databases: tuple[str, ...]
    values: FloatArray

    @property
    def across(self) -> float:
        """Mean over the directions between different modalities; NaN if there is none."""
        return self._mean(within=False)

    @property
    def within(self) -> float:
        """Mean over the directions within a modality; NaN if there is none."""
        return self._mean(within=True)

    def _mean(self, *, within: bool) -> float:
        chosen = np.array([[(q == d) == within for d in self.databases] for q in self.queries])
        values = self.values[chosen & np.isfinite(self.values)]
        return float(values.mean()) if values.size else float("nan")

    def __str__(self) -> str:
        width = max(7, *(len(name) + 2 for name in (*self.queries, *self.databases)))
        lines = ["".join(f"{name:>{width}}" for name in ("", *self.databases))]
        for name, row in zip(self.queries, self.values, strict=True):
            cells = ("-" if np.isnan(value) else f"{value:.3f}" for value in row)
            lines.append(f"{name:>{width}}" + "".join(f"{cell:>{width}}" for cell in cells))
        return "\n".join(lines)


def direction_matrix(
    found: Mapping[tuple[str, str], Evaluation], measure: str = "mean_average_precision"
) -> DirectionMatrix:
    """One measure of what :func:`evaluate_model` gives, as a matrix.

    Parameters
    ----------
    found : dict of Evaluation by (modality of the query, modality of the database)
    measure : {"mean_average_precision", "equal_error_rate", "mean_ndcg"}

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=400, n_test=100, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.from_labels(data.train.labels))
    >>> found = dh.evaluation.evaluate_model(hasher, data.test.views, data.test.labels)
    >>> matrix = direction_matrix(found)
    >>> matrix.queries, matrix.values.shape
    (('x', 'y'), (2, 2))
    >>> bool(matrix.across > 0.5)
    True
    """
    check_choice(measure, "measure", MEASURES, caller="direction_matrix")
    queries, databases = (tuple(dict.fromkeys(names)) for names in zip(*found, strict=True))
    values = np.full((len(queries), len(databases)), np.nan)
    for (q, d), each in found.items():
        values[queries.index(q), databases.index(d)] = float(getattr(each, measure))
    return DirectionMatrix(measure, queries, databases, values)
