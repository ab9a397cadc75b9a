"""A hasher as an estimator of one array, so that scikit-learn's own checks can run over it."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

import diffhash as dh


class ColumnHalves(TransformerMixin, BaseEstimator):
    """The first half of the columns of X is one view, the rest the other; y are labels.

    Views are checked by diffhash, so what scikit-learn's checks refuse or accept is decided there.
    """

    def __init__(self, hasher=None):
        self.hasher = hasher

    def _views(self, X):
        half = max(X.shape[1] // 2, 1)
        return {"a": X[:, :half], "b": X[:, half:]}

    def fit(self, X, y):
        X, y = validate_data(self, X, y, accept_sparse="csr", ensure_all_finite=False, dtype=None)
        self.hasher_ = clone(dh.DiffHash(n_bits=1) if self.hasher is None else self.hasher)
        self.hasher_.fit(self._views(X), dh.Pairs.from_labels(y, y))
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, dtype=None, reset=False)
        return np.hstack(list(self.hasher_.transform(self._views(X)).values()))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = self.hasher.__sklearn_tags__()
        tags.transformer_tags = own.transformer_tags
        tags.target_tags.required = own.target_tags.required
        tags.target_tags.one_d_labels = True
        tags.input_tags.sparse = own.input_tags.sparse
        return tags
