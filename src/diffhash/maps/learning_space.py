"""The space in which directions of a view are searched: its features, or the space of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from ..types import FloatArray
from .linear import LinearMap
from .mapped_view import MappedView

__all__ = ["LearningSpace", "RowBasis", "learning_space", "plain_view", "row_space"]

#: In the space of sparse rows, the length of the shortest direction that is kept, relative to the longest.
_SHORTEST = 1e-5


@dataclass(frozen=True)
class RowBasis:
    """An orthonormal basis of the space of rows: mixtures of rows, then columns.

    With very many sparse features the basis itself would be much larger than the data. A product with it needs only
    the rows.

    Attributes
    ----------
    columns : array of shape (n_features, n_columns)
    rows : float64 CSR array of shape (n, n_features), or None
    offset : array of shape (n_features,)
        What is subtracted from each row.
    mix : array of shape (n, n_mixed)
        The first vectors of the basis are ``(rows - offset).T @ mix``.
    """

    columns: FloatArray
    rows: Any = None
    offset: FloatArray | None = None
    mix: FloatArray | None = None

    @property
    def size(self) -> int:
        """Number of vectors."""
        return int(self.columns.shape[1] + (0 if self.mix is None else self.mix.shape[1]))

    def spread(self, projection: FloatArray) -> FloatArray:
        """A projection of coordinates, (n_bits, size), as one of the features, (n_bits, n_features)."""
        if self.mix is None or self.offset is None:
            return np.asarray(projection @ self.columns.T)
        n_mixed = self.mix.shape[1]
        of_rows = projection[:, :n_mixed] @ self.mix.T
        found = np.asarray(of_rows @ self.rows) - np.outer(of_rows.sum(axis=1), self.offset)
        if self.columns.shape[1]:
            found += projection[:, n_mixed:] @ self.columns.T
        return found

    def array(self) -> FloatArray:
        """The basis itself, of shape (n_features, size)."""
        return self.spread(np.eye(self.size)).T


@dataclass(frozen=True)
class LearningSpace:
    """A view as directions are searched in it.

    Attributes
    ----------
    features : MappedView
        The mapped features of all rows.
    view : MappedView
        The same features, or the coordinates of the rows in ``basis``; whitened or not.
    basis : RowBasis or None
        See :func:`row_space`.
    """

    features: MappedView
    view: MappedView
    basis: RowBasis | None

    def whitened(self, matrix: FloatArray) -> LearningSpace:
        """The same space with whitened features."""
        return replace(self, view=self.view.whitened(matrix))

    def folded(self, projection: FloatArray) -> FloatArray:
        """The projection of the mapped features that gives what ``projection`` gives in this space."""
        projection = self.view.folded(projection)
        return projection if self.basis is None else self.basis.spread(projection)


def learning_space(view: MappedView, *, by_rows: bool, min_rank: int = 0) -> LearningSpace:
    """The features of a view; if ``by_rows`` and there are more features than rows, the space of the rows."""
    if not by_rows or view.n_features <= view.n_rows:
        return LearningSpace(view, view, None)
    return LearningSpace(view, *row_space(view, min_rank))


def plain_view(X: FloatArray) -> MappedView:
    """A view whose features are the columns of an array."""
    return MappedView(X, LinearMap(np.zeros(X.shape[1])))


def row_space(view: MappedView, min_rank: int = 0) -> tuple[MappedView, RowBasis]:
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
    basis : RowBasis
        Orthonormal. A projection P of the coordinates is ``basis.spread(P)`` of the features.
    """
    if view.stays_sparse():
        return _sparse_row_space(view, min_rank)
    rows = view.centred_rows()
    n_more = max(0, min(min_rank, view.n_features) - view.n_rows)
    basis, triangle = scipy.linalg.qr(
        np.concatenate([rows.T, _random_columns(view.n_features, n_more)], axis=1), mode="economic"
    )
    return plain_view(np.ascontiguousarray(triangle[:, : view.n_rows].T)), RowBasis(basis)


def _sparse_row_space(view: MappedView, min_rank: int) -> tuple[MappedView, RowBasis]:
    """The same from the products of the rows with each other, which take little time if rows are sparse.

    Directions in which the rows are 10^5 times shorter than in the longest one are rounding errors and left out.
    """
    rows, offset = view.rows(slice(None)).astype(np.float64), view.offset
    mean_products = rows @ offset
    products = (rows @ rows.T).toarray() - mean_products[:, None] - mean_products + offset @ offset
    squares, vectors = np.linalg.eigh(products)
    kept = squares > max(_SHORTEST**2 * squares[-1], 0.0)
    vectors, lengths = vectors[:, kept][:, ::-1], np.sqrt(squares[kept][::-1])
    basis = RowBasis(np.empty((view.n_features, 0)), rows, offset, vectors / lengths)
    # Without any length there is one direction, because nothing can learn from none.
    n_more = max(0, min(max(min_rank, 1), view.n_features) - len(lengths))
    if n_more:
        more = _random_columns(view.n_features, n_more)
        basis = replace(basis, columns=_orthonormal_to(basis, more))
    coordinates = np.zeros((view.n_rows, basis.size))
    coordinates[:, : len(lengths)] = vectors * lengths
    return plain_view(coordinates), basis


def _orthonormal_to(basis: RowBasis, columns: FloatArray) -> FloatArray:
    """Orthonormal columns that are orthogonal to the mixtures of a basis."""
    assert basis.mix is not None, "the basis has mixtures of rows"
    assert basis.offset is not None, "and their offset"
    products = basis.mix.T @ (basis.rows @ columns - basis.offset @ columns)
    rest = columns - basis.spread(products.T).T
    return np.asarray(scipy.linalg.qr(rest, mode="economic")[0])


def _random_columns(n_features: int, n: int) -> FloatArray:
    return np.random.default_rng(0).standard_normal((n_features, n))
