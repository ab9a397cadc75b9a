r"""Sums over pairs from which the covariance difference of the paper comes.

:class:`PairMoments` holds, in float64,

.. math:: \sum_{(x, y)} \begin{pmatrix} x - \mu_x \\ 1 \end{pmatrix} \begin{pmatrix} y - \mu_y \\ 1 \end{pmatrix}^T

over the listed positives and over the listed negatives, and the sums of the rows of each view,
by group. The appended one carries the number of pairs and the sums of each side along, so that
the centre :math:`\mu` can be moved afterwards: parts that were summed in different places, about
different centres, are merged exactly. Pairs that are implied need no pass of their own: all pairs
of rows give :math:`(\sum x)(\sum y)^T`, and labels the same group by group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .maps import MappedView
from .pairs import PairScheme, ResolvedPairs
from .types import FloatArray, IntArray, PairIndex

__all__ = [
    "PairMoments",
    "augmented_product",
    "difference_covariances",
    "incidence",
    "listed_difference",
    "pair_moments",
    "shifted",
]

Moments = NDArray[np.float64]


@dataclass
class PairMoments:
    """Sums over rows and pairs, about a shift; parts can be merged.

    Parameters
    ----------
    scheme : PairScheme
        Which pairs are listed and which implied.
    shift_x, shift_y : arrays of shape (n_features,), (n_features',)
        What is subtracted from the features before they are summed: anything near their mean.
        With one view both are the same, and everything about y is a copy of x.

    Attributes
    ----------
    positive, negative : arrays of shape (n_features + 1, n_features' + 1)
        Sums over the listed pairs.
    rows_x, rows_y : arrays of shape (n_groups, n_features + 1)
        Sums over the rows of each group; the last column counts them.
    own : array of shape (2, n_features + 1, n_features + 1)
        One view only: sums of each row with itself, over the rows that are similar to themselves
        and over all rows.
    """

    scheme: PairScheme
    shift_x: Moments
    shift_y: Moments
    positive: Moments = field(init=False)
    negative: Moments = field(init=False)
    rows_x: Moments = field(init=False)
    rows_y: Moments = field(init=False)
    own: Moments = field(init=False)

    def __post_init__(self) -> None:
        d_x, d_y = len(self.shift_x) + 1, len(self.shift_y) + 1
        self.positive = np.zeros((d_x, d_y))
        self.negative = np.zeros((d_x, d_y))
        self.rows_x = np.zeros((self.scheme.n_groups, d_x))
        self.rows_y = np.zeros((self.scheme.n_groups, d_y))
        self.own = np.zeros((2, d_x, d_x) if self.scheme.one_view else (2, 0, 0))

    def update(
        self,
        x: Any,
        y: Any = None,
        *,
        positive: PairIndex | None = None,
        negative: PairIndex | None = None,
        groups_x: IntArray | None = None,
        groups_y: IntArray | None = None,
    ) -> Self:
        """Add rows of both views and the listed pairs between them.

        Parameters
        ----------
        x, y : arrays of shape (n, n_features), (n', n_features')
            New rows; ``y`` is left out when there is one view.
        positive, negative : (i, j), optional
            Row numbers within ``x`` and ``y``.
        groups_x, groups_y : int arrays of shape (n,), (n',), optional
            Groups of the rows, when labels imply pairs.
        """
        self.update_rows("x", x, groups_x)
        if y is None:
            y = x
        else:
            self.update_rows("y", y, groups_y)
        for kind, index in (("positive", positive), ("negative", negative)):
            if index is not None:
                partners = incidence(index, x.shape[0], y.shape[0], x.dtype)
                self.update_pairs(kind, x, partners @ y, np.asarray(partners.sum(axis=1)).reshape(-1))
        return self

    def update_rows(self, side: str, rows: Any, groups: IntArray | None = None) -> None:
        """Add rows of one view (``side`` "x" or "y"); with one view "x" stands for both."""
        rows, left = _about(rows, self.shift_x if side == "x" else self.shift_y)
        groups = np.zeros(rows.shape[0], dtype=np.int64) if groups is None else groups
        n_groups = self.scheme.n_groups
        counts = np.bincount(groups, minlength=n_groups).astype(np.float64)
        if n_groups == 1:
            sums = np.asarray(rows.sum(axis=0, dtype=np.float64)).reshape(1, -1)
        else:
            members = scipy.sparse.csr_array(
                (np.ones(len(groups)), (groups, np.arange(len(groups)))), shape=(n_groups, len(groups))
            )
            sums = _dense(members @ rows)
        table = _shifted_rows(np.column_stack([sums, counts]), left)
        if self.scheme.one_view:
            similar = self.scheme.groups.self_related()[groups] if self.scheme.groups is not None else None
            for slot, chosen in enumerate((rows if similar is None else rows[similar], rows)):
                self.own[slot] += shifted(
                    augmented_product(chosen, chosen, np.ones(chosen.shape[0])), left, left
                )
            self.rows_x += table
            self.rows_y += table
        elif side == "x":
            self.rows_x += table
        else:
            self.rows_y += table

    def update_pairs(self, kind: str, x: Any, partners: Any, degrees: FloatArray) -> None:
        """Add listed pairs, gathered by row of ``x``.

        Parameters
        ----------
        kind : {"positive", "negative"}
        x : array of shape (p, n_features)
        partners : array of shape (p, n_features')
            For each row of ``x`` the sum of the rows of y that it is paired with.
        degrees : array of shape (p,)
            How many these are.
        """
        table = self.positive if kind == "positive" else self.negative
        x, left_x = _about(x, self.shift_x)
        partners, left_y = _about(partners, self.shift_y, degrees)
        table += shifted(augmented_product(x, partners, degrees), left_x, left_y)

    def merge(self, other: PairMoments) -> Self:
        """Add the sums of another part, which may have been taken about another shift."""
        dx, dy = self.shift_x - other.shift_x, self.shift_y - other.shift_y
        self.positive += shifted(other.positive, dx, dy)
        self.negative += shifted(other.negative, dx, dy)
        self.rows_x += _shifted_rows(other.rows_x, dx)
        self.rows_y += _shifted_rows(other.rows_y, dy)
        if self.scheme.one_view:
            for slot in (0, 1):
                self.own[slot] += shifted(other.own[slot], dx, dx)
        return self

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Means of the rows of the two views."""
        x, y = self.rows_x.sum(axis=0), self.rows_y.sum(axis=0)
        return x[:-1] / x[-1] + self.shift_x, y[:-1] / y[-1] + self.shift_y

    def sums(self) -> tuple[Moments, Moments]:
        """Sums over all positives and over all negatives, implied ones included, about the shift."""
        if not self.scheme.one_view:
            return self.scheme.compose(self.positive, self.negative, self._related, self._every)
        # Unordered pairs: half of the ordered ones, without each row's pair with itself.
        return self.scheme.compose(
            _symmetric(self.positive),
            _symmetric(self.negative),
            lambda: (self._related() - self.own[0]) / 2,
            lambda: (self._every() - self.own[1]) / 2,
        )

    def _every(self) -> Moments:
        return np.outer(self.rows_x.sum(axis=0), self.rows_y.sum(axis=0))

    def _related(self) -> Moments:
        assert self.scheme.groups is not None
        return np.asarray(self.rows_x.T @ self.scheme.groups.related(self.rows_y))

    def covariances(self, *, center: tuple[bool, bool] = (True, True)) -> tuple[FloatArray, FloatArray]:
        r"""The paper's :math:`\Sigma^P` and :math:`\Sigma^N`: mean products over positives and negatives.

        Parameters
        ----------
        center : (bool, bool)
            For each view: take the products about the mean of its rows, otherwise about zero. The
            paper writes :math:`E\{x y^T\}`, which makes an offset of the data the first bit.

        Returns
        -------
        positive, negative : arrays of shape (n_features, n_features')
            Zeros where there is no pair.
        """
        dx, dy = (mean if wanted else 0.0 for mean, wanted in zip(self.means(), center, strict=True))
        moved = (shifted(table, dx - self.shift_x, dy - self.shift_y) for table in self.sums())
        positive, negative = (table[:-1, :-1] / max(table[-1, -1], 1.0) for table in moved)
        return positive, negative


def pair_moments(x: MappedView, y: MappedView, pairs: ResolvedPairs) -> PairMoments:
    """Moments of two views in memory, block by block.

    Only explicit pairs that are not aligned need the features of a whole view at a time (those of y).

    Parameters
    ----------
    x, y : MappedView
        The same with one view.
    pairs : ResolvedPairs
    """
    scheme = pairs.scheme
    moments = PairMoments(scheme, np.zeros(x.n_features), np.zeros(y.n_features))
    scattered = {
        kind: incidence(index, pairs.n_x, pairs.n_y, y.dtype)
        for kind, index in (("positive", pairs.positive), ("negative", pairs.negative))
        if index is not None and not (pairs.aligned and kind == "positive")
    }
    groups_x, groups_y = (None, None) if scheme.groups is None else (scheme.groups.x, scheme.groups.y)
    for rows, block in x.blocks():
        moments.update_rows("x", block, None if groups_x is None else groups_x[rows])
        for kind, matrix in scattered.items():
            moments.update_pairs(kind, block, *_partners(matrix[rows], y))
        if pairs.aligned:
            partner = y.rows(rows)
            moments.update_pairs("positive", block, partner, np.ones(partner.shape[0]))
            moments.update_rows("y", partner)
    if not (pairs.one_view or pairs.aligned):
        for rows, block in y.blocks():
            moments.update_rows("y", block, None if groups_y is None else groups_y[rows])
    return moments


def listed_difference(
    x: MappedView, y: MappedView, pairs: ResolvedPairs, gamma: float, center: tuple[bool, bool]
) -> FloatArray:
    r"""The paper's :math:`\Sigma^N - \gamma \Sigma^P` when both sets are listed, in one sweep.

    The same as going by :func:`pair_moments`, with half of the arithmetic: each pair carries its
    weight, so that there is one matrix product instead of two.
    """
    assert pairs.positive is not None, "both sets must be listed"
    assert pairs.negative is not None, "both sets must be listed"
    index = tuple(np.concatenate(sides) for sides in zip(pairs.positive, pairs.negative, strict=True))
    weights = np.repeat(
        [-gamma / pairs.n_positive, 1.0 / pairs.n_negative], [pairs.n_positive, pairs.n_negative]
    )
    matrix = scipy.sparse.csr_array((weights.astype(y.dtype), index), shape=(pairs.n_x, pairs.n_y))
    table = np.zeros((x.n_features + 1, y.n_features + 1))
    for rows, block in x.blocks():
        table += augmented_product(block, *_partners(matrix[rows], y))
    dx, dy = (
        _row_mean(view) if wanted else np.zeros(view.n_features)
        for view, wanted in zip((x, y), center, strict=True)
    )
    return shifted(table, dx, dy)[:-1, :-1]


def _partners(matrix: Any, y: MappedView) -> tuple[Any, FloatArray]:
    """For each row of a sparse matrix the weighted sum of its partners, and the sum of the weights."""
    return matrix @ y.whole(), np.asarray(matrix.sum(axis=1, dtype=np.float64)).reshape(-1)


def _row_mean(view: MappedView) -> FloatArray:
    total = sum(np.asarray(block.sum(axis=0, dtype=np.float64)).reshape(-1) for _, block in view.blocks())
    return np.asarray(total) / view.n_rows


def difference_covariances(
    x: MappedView, pairs: ResolvedPairs, moments: PairMoments
) -> tuple[FloatArray, FloatArray]:
    r"""Mean of :math:`(x - x')(x - x')^T` over the positives and over the negatives of one view.

    The statistic of LDAHash's diff-hash. Since :math:`\sum (x - x')(x - x')^T = X^T D X - 2 \sum x x'^T`
    with the number of pairs of each object on the diagonal of D, it is the paper's statistic plus
    a multiple of the data's own covariance.

    Parameters
    ----------
    x : MappedView
    pairs : ResolvedPairs, of one view
    moments : PairMoments
        Those of the same view and pairs.
    """
    own = np.zeros((2, x.n_features, x.n_features))
    degrees = pairs.degrees()
    for rows, block in x.blocks():
        block = _dense(block)
        for slot in (0, 1):
            own[slot] += block.T @ (block * degrees[slot][rows, None].astype(block.dtype))
    positive, negative = (
        (table - 2 * sums[:-1, :-1]) / max(sums[-1, -1], 1.0)
        for table, sums in zip(own, moments.sums(), strict=True)
    )
    return positive, negative


def incidence(index: PairIndex, n_x: int, n_y: int, dtype: Any) -> Any:
    """Sparse matrix with a one for each pair."""
    return scipy.sparse.csr_array((np.ones(len(index[0]), dtype=dtype), index), shape=(n_x, n_y))


def augmented_product(x: Any, y: Any, degrees: FloatArray) -> Moments:
    """``[x, 1]^T [y, degrees]``: the matrix product in the type of the features, sums in float64."""
    table = np.empty((x.shape[1] + 1, y.shape[1] + 1))
    table[:-1, :-1] = _dense(x.T @ y)
    table[:-1, -1] = x.T @ degrees.astype(x.dtype)
    table[-1, :-1] = np.asarray(y.sum(axis=0, dtype=np.float64)).reshape(-1)
    table[-1, -1] = degrees.sum()
    return table


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


def _about(rows: Any, shift: FloatArray, degrees: FloatArray | None = None) -> tuple[Any, FloatArray]:
    """Subtract ``shift`` (``degrees`` times) from dense rows; tell what is left to subtract."""
    if scipy.sparse.issparse(rows) or not shift.any():
        return rows, shift
    times = shift if degrees is None else np.outer(degrees, shift)
    return rows - times.astype(rows.dtype), np.zeros_like(shift)


def shifted(table: Moments, dx: FloatArray, dy: FloatArray) -> Moments:
    """The same sums about a centre that lies ``(dx, dy)`` further."""
    if not (np.any(dx) or np.any(dy)):
        return table
    moved = table.copy()
    moved[:-1] -= np.outer(dx, table[-1])
    moved[:, :-1] -= np.outer(moved[:, -1], dy)
    return moved


def _shifted_rows(rows: Moments, shift: FloatArray) -> Moments:
    moved = rows.copy()
    moved[:, :-1] -= np.outer(rows[:, -1], shift)
    return moved


def _symmetric(table: Moments) -> Moments:
    return (table + table.T) / 2
