"""Few rows with very many features, as coordinates in the space of the rows.

Representations depend only on products and distances of rows, after features were scaled by their deviations, or rows
by their lengths. In the space of the rows both are the same, and the time does not depend on the number of features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from ..types import FloatArray, IntArray
from .feature_map import FeatureMap
from .kernel import never_negative
from .learning_space import RowBasis, plain_view, row_space
from .linear import LinearMap
from .mapped_view import MappedView
from .representation import Representation, fit_representation
from .unit import UnitMap, unit_rows

__all__ = ["WideRows", "fit_linear_rows"]

#: With more features than this, dense or sparse, and than so many times the rows, rows are compared in their own space.
_MIN_FEATURES, _MIN_SPARSE_FEATURES, _FEATURES_A_ROW = 2048, 16_384, 4
#: Largest ratio of squared lengths of sparse rows to their variance.
_MAX_CANCELLATION = 1e6
#: Metrics that have the same meaning in the space of the rows, and what they are there.
_METRICS = {"euclidean": "euclidean", "cosine": "cosine", "diagonal": "euclidean", "root-cosine": "euclidean"}


class WideRows:
    """The rows of a view in which representations are compared.

    Parameters
    ----------
    X : array of shape (n, n_features), dense or CSR
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self._coordinates: dict[tuple[str, bytes], FloatArray | None] = {}

    @staticmethod
    def suits(X: Any, n_rows: int | None = None) -> bool:
        """Whether the space of the rows (or of so many of them) is much smaller than that of the features."""
        limit = _MIN_SPARSE_FEATURES if scipy.sparse.issparse(X) else _MIN_FEATURES
        n = X.shape[0] if n_rows is None else n_rows
        return bool(X.shape[1] > max(limit, _FEATURES_A_ROW * n))

    def metric(self, metric: str) -> str | None:
        """The metric of the coordinates that means what ``metric`` means for the features; None if there is none."""
        if metric == "root-cosine" and not never_negative(self.X):
            return None
        return _METRICS.get(metric)

    @staticmethod
    def key(metric: str, fit_rows: IntArray) -> tuple[str, bytes]:
        """Equal for metrics that have the same coordinates."""
        # Only the deviations depend on the fit rows.
        kind = metric if metric in ("diagonal", "root-cosine") else "rows"
        return kind, fit_rows.tobytes() if kind == "diagonal" else b""

    def coordinates(self, metric: str, fit_rows: IntArray, *, who: str) -> FloatArray | None:
        """Coordinates of all rows, (n, at most n); None if digits would be lost.

        Parameters
        ----------
        metric : str
            "diagonal": of features that are divided by their deviations among the fit rows. "root-cosine": of roots
            that are scaled to unit length.
        fit_rows : int array
            Rows that representations are fitted to.
        who : str
            Prefix of error messages.
        """
        key = self.key(metric, fit_rows)
        kind = key[0]
        if key not in self._coordinates:
            rows = self.X
            if kind == "diagonal":
                scale = LinearMap.fit(rows[fit_rows], standardize=True, who=who).scale
                assert scale is not None, "features are standardised"
                rows = _times(rows, scale)
            elif kind == "root-cosine":
                rows = unit_rows(rows, None)
            self._coordinates[key] = _row_coordinates(rows)
        return self._coordinates[key]


def fit_linear_rows(
    X: Any, representation: Representation, *, who: str
) -> tuple[FeatureMap, MappedView, RowBasis] | None:
    """Linear features of sparse rows in the space of the rows; None if digits would be lost.

    Parameters
    ----------
    X : CSR array of shape (n, n_features)
    representation : Representation
        With linear features.
    who : str
        Prefix of error messages.

    Returns
    -------
    map : FeatureMap
        The map of :func:`~diffhash.maps.representation.fit_representation`.
    coordinates : MappedView
        Of the mapped rows.
    basis : RowBasis
        Gives projections of the mapped features from those of the coordinates.
    """
    fitted: FeatureMap
    if representation.metric != "cosine":
        fitted = fit_representation(X, representation, None, who=who)
        view = MappedView(X, fitted)
        if _loses_digits(view.whole()):
            return None
        found, basis = row_space(view)
        return fitted, plain_view(found.X.astype(X.dtype)), basis
    # Rows of unit length are dense, but they lie in the space of the sparse rows.
    if _loses_digits(X):
        return None
    centred = LinearMap.fit(X, who=who)
    found, basis = row_space(MappedView(X, centred))
    units = unit_rows(found.X, np.zeros(found.n_features))
    mean = units.mean(axis=0)
    fitted = UnitMap(LinearMap(basis.spread(mean[None])[0]), centred.mean)
    return fitted, plain_view((units - mean).astype(X.dtype)), basis


def _times(X: Any, scale: FloatArray) -> Any:
    return (X @ scipy.sparse.diags_array(scale)).tocsr() if scipy.sparse.issparse(X) else X * scale


def _loses_digits(X: Any) -> bool:
    """Whether products of sparse rows are inexact, because a feature is far from zero: a time stamp beside counts.

    The mean is subtracted from the products, not from the rows, which would then be dense.
    """
    if not scipy.sparse.issparse(X):
        return False
    n = X.shape[0]
    mean = np.asarray(X.sum(axis=0, dtype=np.float64)).reshape(-1) / n
    length = float(np.square(X.data, dtype=np.float64).sum()) / n
    return bool(length > _MAX_CANCELLATION * abs(length - mean @ mean))


def _row_coordinates(X: Any) -> FloatArray | None:
    """Coordinates whose products are those of the centred rows: a Cholesky factor of the matrix of these products.

    None if too many digits would be lost.
    """
    if _loses_digits(X):
        return None
    rows = X.astype(np.float64)
    mean = np.asarray(rows.sum(axis=0)).reshape(-1) / rows.shape[0]
    if scipy.sparse.issparse(rows):
        towards_mean = rows @ mean
        products = (rows @ rows.T).toarray() - towards_mean[:, None] - towards_mean + mean @ mean
    else:
        rows -= mean
        products = rows @ rows.T
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(products, lower=1)
    found = np.zeros((len(products), max(rank, 1)))
    found[pivots - 1] = np.tril(factor)[:, : max(rank, 1)]
    return found.astype(X.dtype)
