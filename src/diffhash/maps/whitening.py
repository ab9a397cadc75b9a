"""Few decorrelated coordinates of a view's features, in which learning is fast and penalties are fair."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from ..types import FloatArray
from .base import MappedView

__all__ = ["whitening_weights"]


def whitening_weights(view: MappedView, max_rank: int, ridge: float) -> FloatArray:
    r"""Weights W such that ``features @ W`` are principal components of nearly equal variance.

    Parameters
    ----------
    view : MappedView
        Its features must be centred.
    max_rank : int
        At most this many components are kept.
    ridge : float
        Share of the largest variance that is added to each: a component of variance v is divided
        by :math:`\sqrt{v + \mathrm{ridge} \cdot v_1}`, so that small ones stay small.

    Returns
    -------
    float64 array of shape (n_features, rank)
    """
    d = view.n_features
    second = np.zeros((d, d))
    for _, block in view.blocks():
        product = block.T @ block
        second += product.toarray() if scipy.sparse.issparse(product) else product
    if view.offset.any():
        second -= view.n_rows * np.outer(view.offset, view.offset)
    rank = min(max_rank, d)
    values, vectors = scipy.linalg.eigh(second / view.n_rows, subset_by_index=[d - rank, d - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 1e-7 * values[0]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] + ridge * values[0]))
