"""The space in which directions of a view are searched: its features, or the space of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from ..types import FloatArray
from .linear import LinearMap
from .mapped_view import MappedView

__all__ = ["LearningSpace", "learning_space", "plain_view", "row_space"]

#: In the space of sparse rows, the length of the shortest direction that is kept, relative to the longest.
_SHORTEST = 1e-5


@dataclass(frozen=True)
class LearningSpace:
    """A view as directions are searched in it.

    Attributes
    ----------
    features : MappedView
        The mapped features of all rows.
    view : MappedView
        The same features, or the coordinates of the rows in ``basis``; whitened or not.
    basis : array of shape (n_features, rank), or None
        See :func:`row_space`.
    """

    features: MappedView
    view: MappedView
    basis: FloatArray | None

    def whitened(self, matrix: FloatArray) -> LearningSpace:
        """The same space with whitened features."""
        return replace(self, view=self.view.whitened(matrix))

    def folded(self, projection: FloatArray) -> FloatArray:
        """The projection of the mapped features that gives what ``projection`` gives in this space."""
        projection = self.view.folded(projection)
        return projection if self.basis is None else np.asarray(projection @ self.basis.T)


def learning_space(view: MappedView, *, by_rows: bool, min_rank: int = 0) -> LearningSpace:
    """The features of a view; if ``by_rows`` and there are more features than rows, the space of the rows."""
    if not by_rows or view.n_features <= view.n_rows:
        return LearningSpace(view, view, None)
    return LearningSpace(view, *row_space(view, min_rank))


def plain_view(X: FloatArray) -> MappedView:
    """A view whose features are the columns of an array."""
    return MappedView(X, LinearMap(np.zeros(X.shape[1])))


def row_space(view: MappedView, min_rank: int = 0) -> tuple[MappedView, FloatArray]:
    """The features of a view in an orthonormal basis of the space of its rows.

    If there are more features than rows, matrices have the size of the rows. The result of learning is
    the same up to rounding: no row has a part outside this space.

    Parameters
    ----------
    view : MappedView
    min_rank : int
        The basis gets at least this many vectors (but at most ``n_features``). The coordinates along the
        additional ones are zero.

    Returns
    -------
    coordinates : MappedView
        Its features are an array of shape (n_rows, rank).
    basis : array of shape (n_features, rank)
        Orthonormal columns. A projection P of the coordinates is ``P @ basis.T`` of the features.
    """
    if view.stays_sparse():
        return _sparse_row_space(view, min_rank)
    rows = view.centred_rows()
    n_more = max(0, min(min_rank, view.n_features) - view.n_rows)
    basis, triangle = scipy.linalg.qr(
        np.concatenate([rows.T, _random_columns(view.n_features, n_more)], axis=1), mode="economic"
    )
    return plain_view(np.ascontiguousarray(triangle[:, : view.n_rows].T)), basis


def _sparse_row_space(view: MappedView, min_rank: int) -> tuple[MappedView, FloatArray]:
    """The same from the products of the rows with each other, which take little time if rows are sparse.

    Directions in which the rows are 10^5 times shorter than in the longest one are rounding errors and left out.
    """
    rows, offset = view.rows(slice(None)).astype(np.float64), view.offset
    mean_products = rows @ offset
    products = (rows @ rows.T).toarray() - mean_products[:, None] - mean_products + offset @ offset
    squares, vectors = np.linalg.eigh(products)
    kept = squares > max(_SHORTEST**2 * squares[-1], 0.0)
    vectors, lengths = vectors[:, kept][:, ::-1], np.sqrt(squares[kept][::-1])
    mix = vectors / lengths
    basis = np.asarray(rows.T @ mix) - np.outer(offset, mix.sum(axis=0))
    n_more = max(0, min(max(min_rank, view.n_rows), view.n_features) - len(lengths))
    if n_more:
        more = _random_columns(view.n_features, n_more)
        more = scipy.linalg.qr(more - basis @ (basis.T @ more), mode="economic")[0]
        basis = np.concatenate([basis, more], axis=1)
    coordinates = np.zeros((view.n_rows, basis.shape[1]))
    coordinates[:, : len(lengths)] = vectors * lengths
    return plain_view(coordinates), basis


def _random_columns(n_features: int, n: int) -> FloatArray:
    return np.random.default_rng(0).standard_normal((n_features, n))
