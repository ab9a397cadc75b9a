r"""Sums over pairs that give the covariance difference of the paper.

:class:`PairMoments` holds, in float64,

.. math:: \sum_{(x, y)} \begin{pmatrix} x - \mu_x \\ 1 \end{pmatrix} \begin{pmatrix} y - \mu_y \\ 1 \end{pmatrix}^T

over the listed positives and over the listed negatives, and for each group the sum of its rows in
each view. The appended 1 adds the number of pairs and the sums of each side to the matrix. With these
the centre :math:`\mu` can be moved afterwards, so parts that were summed about different centres are
merged exactly. Implied pairs are not visited: the sum over all pairs of rows is
:math:`(\sum x)(\sum y)^T`, and for labels it is the same, group by group.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import InputError
from ..native.column_moments import column_sums
from ..pairs.resolved import PairScheme
from ..types import FloatArray, IntArray, PairIndex

__all__ = ["PairMoments", "augmented_product", "dense", "incidence", "listed_pairs", "shifted"]

Moments = NDArray[np.float64]


@dataclass
class PairMoments:
    """Sums over rows and pairs of shifted features; parts can be merged.

    Parameters
    ----------
    scheme : PairScheme
        Which pairs are listed and which are implied.
    shift_x, shift_y : arrays of shape (n_features,), (n_features',)
        Subtracted from the features before they are summed; any vector near their mean.
        With one view both are equal, and all attributes of y are copies of those of x.

    Attributes
    ----------
    positive, negative : arrays of shape (n_features + 1, n_features' + 1)
        Sums over the listed pairs, with their weights.
    counted : array of shape (n_features + 1, n_features' + 1), or (0, 0)
        Sums over the listed positives without their weights, if they are needed.
    rows_x, rows_y : arrays of shape (n_groups, n_features + 1)
        Sums over the rows of each group; the last column is their number.
    self_pairs : array of shape (2, n_features + 1, n_features + 1)
        One view only: sums over the pairs of a row with itself, first for the rows that are similar
        to themselves, then for all rows.
    """

    scheme: PairScheme
    shift_x: Moments
    shift_y: Moments
    positive: Moments = field(init=False)
    negative: Moments = field(init=False)
    counted: Moments = field(init=False)
    rows_x: Moments = field(init=False)
    rows_y: Moments = field(init=False)
    self_pairs: Moments = field(init=False)

    def __post_init__(self) -> None:
        d_x, d_y = len(self.shift_x) + 1, len(self.shift_y) + 1
        self.positive = np.zeros((d_x, d_y))
        self.negative = np.zeros((d_x, d_y))
        self.counted = np.zeros((d_x, d_y) if self.scheme.counts_positives else (0, 0))
        self.rows_x = np.zeros((self.scheme.n_groups, d_x))
        self.rows_y = np.zeros((self.scheme.n_groups, d_y))
        self.self_pairs = np.zeros((2, d_x, d_x) if self.scheme.one_view else (2, 0, 0))

    def update(
        self,
        x: Any,
        y: Any = None,
        *,
        positive: PairIndex | None = None,
        negative: PairIndex | None = None,
        groups_x: IntArray | None = None,
        groups_y: IntArray | None = None,
        positive_weights: FloatArray | None = None,
        negative_weights: FloatArray | None = None,
    ) -> Self:
        """Add rows of both views and the listed pairs between them.

        Parameters
        ----------
        x, y : arrays of shape (n, n_features), (n', n_features')
            New rows; leave out ``y`` with one view.
        positive, negative : (i, j), optional
            Row numbers within ``x`` and ``y``.
        groups_x, groups_y : int arrays of shape (n,), (n',), optional
            Groups of the rows, if labels imply pairs.
        positive_weights, negative_weights : arrays of shape (n_pairs,), optional
            Weights of the listed pairs.
        """
        if (y is None) != self.scheme.one_view or (groups_x is None) != (self.scheme.groups is None):
            raise InputError(
                "PairMoments.update: give y unless there is one view, and give groups if labels imply pairs."
            )
        self.update_rows("x", x, groups_x)
        if y is None:
            y = x
        else:
            self.update_rows("y", y, groups_y)
        listed = listed_pairs(self.scheme, positive, negative, positive_weights, negative_weights)
        for kind, (index, weights) in listed.items():
            partners = incidence(index, x.shape[0], y.shape[0], x.dtype, weights)
            self.update_pairs(kind, x, partners @ y, np.asarray(partners.sum(axis=1)).reshape(-1))
        return self

    def update_rows(self, side: str, rows: Any, groups: IntArray | None = None) -> None:
        """Add rows of one view (``side`` "x" or "y"); with one view use "x", which updates both."""
        rows, remaining = _subtract_shift(rows, self.shift_x if side == "x" else self.shift_y)
        if groups is None:
            present = np.zeros(1, dtype=np.int64)
            sums = np.append(_column_sums(rows), rows.shape[0])
            table = _shifted_rows(sums[None, :], remaining)
        else:
            # Use only the groups that occur in these rows: there may be as many groups as objects.
            present, local = np.unique(groups, return_inverse=True)
            counts = np.bincount(local, minlength=len(present)).astype(np.float64)
            members = scipy.sparse.csr_array(
                (np.ones(len(local)), (local, np.arange(len(local)))), shape=(len(present), len(local))
            )
            table = _shifted_rows(np.column_stack([dense(members @ rows), counts]), remaining)
        if self.scheme.one_view:
            similar = None
            if self.scheme.groups is not None:
                similar = self.scheme.groups.self_related()[groups]
            for slot, chosen in enumerate((rows if similar is None else rows[similar], rows)):
                self.self_pairs[slot] += shifted(
                    augmented_product(chosen, chosen, np.ones(chosen.shape[0])), remaining, remaining
                )
            self.rows_x[present] += table
            self.rows_y[present] += table
        elif side == "x":
            self.rows_x[present] += table
        else:
            self.rows_y[present] += table

    def update_pairs(self, kind: str, x: Any, partners: Any, degrees: FloatArray) -> None:
        """Add listed pairs, summed for each row of ``x``.

        Parameters
        ----------
        kind : {"positive", "negative", "counted"}
        x : array of shape (p, n_features)
        partners : array of shape (p, n_features')
            For each row of ``x``, the weighted sum of the rows of y in its pairs.
        degrees : array of shape (p,)
            For each row of ``x``, the sum of the weights of its pairs.
        """
        table = {"positive": self.positive, "negative": self.negative, "counted": self.counted}[kind]
        x, remaining_x = _subtract_shift(x, self.shift_x)
        partners, remaining_y = _subtract_shift(partners, self.shift_y, degrees)
        table += shifted(augmented_product(x, partners, degrees), remaining_x, remaining_y)

    def merge(self, other: PairMoments) -> Self:
        """Add the sums of another part, which may have another shift."""
        same_shapes = self.rows_x.shape == other.rows_x.shape and self.rows_y.shape == other.rows_y.shape
        if not same_shapes or self.scheme.one_view != other.scheme.one_view:
            raise InputError(
                f"PairMoments.merge: the parts must have the same views and groups, got sums of shapes "
                f"{self.rows_x.shape}, {self.rows_y.shape} and {other.rows_x.shape}, {other.rows_y.shape}."
            )
        dx, dy = self.shift_x - other.shift_x, self.shift_y - other.shift_y
        self.positive += shifted(other.positive, dx, dy)
        self.negative += shifted(other.negative, dx, dy)
        if self.scheme.counts_positives:
            self.counted += shifted(other.counted, dx, dy)
        self.rows_x += _shifted_rows(other.rows_x, dx)
        self.rows_y += _shifted_rows(other.rows_y, dy)
        if self.scheme.one_view:
            for slot in (0, 1):
                self.self_pairs[slot] += shifted(other.self_pairs[slot], dx, dx)
        return self

    def regrouped(self, scheme: PairScheme, numbers: IntArray) -> PairMoments:
        """The same sums with other numbers of the groups; ``numbers[g]`` is the new number of group g."""
        found = copy(self)
        found.scheme = scheme
        found.rows_x = np.zeros((scheme.n_groups, self.rows_x.shape[1]))
        found.rows_y = np.zeros((scheme.n_groups, self.rows_y.shape[1]))
        found.rows_x[numbers], found.rows_y[numbers] = self.rows_x, self.rows_y
        return found

    def rescaled(self, scale_x: FloatArray, scale_y: FloatArray) -> PairMoments:
        """The sums of features that were multiplied by these numbers, arrays of shape (n_features,)."""
        found = copy(self)
        x, y = np.append(scale_x, 1.0), np.append(scale_y, 1.0)
        for name in ("positive", "negative", "counted"):
            table = getattr(self, name)
            setattr(found, name, table * x[:, None] * y if table.size else table)
        found.rows_x, found.rows_y = self.rows_x * x, self.rows_y * y
        if self.scheme.one_view:
            found.self_pairs = self.self_pairs * x[:, None] * x
        found.shift_x, found.shift_y = self.shift_x * scale_x, self.shift_y * scale_y
        return found

    def faded(self, factor: float) -> PairMoments:
        """The same sums, in which every row and every listed pair counts only ``factor``."""
        found = copy(self)
        for name in ("positive", "negative", "counted", "rows_x", "rows_y"):
            setattr(found, name, getattr(self, name) * factor)
        # A pair of two rows counts the product of what they count.
        found.self_pairs = self.self_pairs * factor**2
        return found

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Means of the rows of the two views."""
        x, y = self.rows_x.sum(axis=0), self.rows_y.sum(axis=0)
        return x[:-1] / x[-1] + self.shift_x, y[:-1] / y[-1] + self.shift_y

    def sums(self) -> tuple[Moments, Moments]:
        """Sums over all positives and over all negatives, with implied pairs, of the shifted features."""
        counted = self.counted if self.scheme.counts_positives else None
        if not self.scheme.one_view:
            return self.scheme.compose(self.positive, self.negative, self._related, self._every, counted)
        # Unordered pairs: half of the sum over ordered pairs, without the pairs of a row with itself.
        return self.scheme.compose(
            _symmetric(self.positive),
            _symmetric(self.negative),
            lambda: (self._related() - self.self_pairs[0]) / 2,
            lambda: (self._every() - self.self_pairs[1]) / 2,
            None if counted is None else _symmetric(counted),
        )

    def masses(self) -> tuple[float, float]:
        """Sum of the weights of all positives and of all negatives: the last entries of :meth:`sums`."""
        last = np.s_[-1:, -1:]
        counts = copy(self)
        counts.positive, counts.negative = self.positive[last], self.negative[last]
        counts.counted, counts.self_pairs = self.counted[last], self.self_pairs[:, -1:, -1:]
        counts.rows_x, counts.rows_y = self.rows_x[:, -1:], self.rows_y[:, -1:]
        positive, negative = counts.sums()
        return float(positive[-1, -1]), float(negative[-1, -1])

    def _every(self) -> Moments:
        return np.outer(self.rows_x.sum(axis=0), self.rows_y.sum(axis=0))

    def _related(self) -> Moments:
        assert self.scheme.groups is not None
        return np.asarray(self.rows_x.T @ self.scheme.groups.related(self.rows_y))

    def covariances(self, *, center: tuple[bool, ...] = (True, True)) -> tuple[FloatArray, FloatArray]:
        r"""The paper's :math:`\Sigma^P` and :math:`\Sigma^N`: (weighted) mean products over positives and negatives.

        Parameters
        ----------
        center : (bool, bool)
            For each view: whether to subtract the mean of its rows. The paper writes
            :math:`E\{x y^T\}` without centring; a large mean then determines the first bit.

        Returns
        -------
        positive, negative : arrays of shape (n_features, n_features')
            Zeros if there are no pairs.
        """
        dx, dy = (mean if wanted else 0.0 for mean, wanted in zip(self.means(), center, strict=True))
        moved = (shifted(table, dx - self.shift_x, dy - self.shift_y) for table in self.sums())
        positive, negative = (table[:-1, :-1] / (table[-1, -1] or 1.0) for table in moved)
        return positive, negative


def incidence(index: PairIndex, n_x: int, n_y: int, dtype: Any, weights: FloatArray | None = None) -> Any:
    """Sparse matrix with a 1, or the weight, for each pair."""
    values = np.ones(len(index[0]), dtype=dtype) if weights is None else weights.astype(dtype)
    return scipy.sparse.csr_array((values, index), shape=(n_x, n_y))


def listed_pairs(
    scheme: PairScheme,
    positive: PairIndex | None,
    negative: PairIndex | None,
    positive_weights: FloatArray | None = None,
    negative_weights: FloatArray | None = None,
) -> dict[str, tuple[PairIndex, FloatArray | None]]:
    """The sets of listed pairs that are summed: "positive", "negative", "counted" (positives without weights)."""
    found: dict[str, tuple[PairIndex, FloatArray | None]] = {}
    if positive is not None:
        found["positive"] = positive, positive_weights
        if scheme.counts_positives:
            found["counted"] = positive, None
    if negative is not None:
        found["negative"] = negative, negative_weights
    return found


def augmented_product(x: Any, y: Any, degrees: FloatArray) -> Moments:
    """``[x, 1]^T [y, degrees]``: the matrix product in the dtype of the features, sums in float64."""
    # Sparse rows are not centred before they are summed, so their sums need the full precision.
    x, y = (side.astype(np.float64) if scipy.sparse.issparse(side) else side for side in (x, y))
    table = np.empty((x.shape[1] + 1, y.shape[1] + 1))
    table[:-1, :-1] = dense(x.T @ y)
    table[:-1, -1] = x.T @ degrees.astype(x.dtype)
    table[-1, :-1] = _column_sums(y)
    table[-1, -1] = degrees.sum()
    return table


def _column_sums(rows: Any) -> FloatArray:
    if isinstance(rows, np.ndarray):
        return column_sums(rows)
    return np.asarray(rows.sum(axis=0, dtype=np.float64)).reshape(-1)


def dense(matrix: Any) -> Any:
    """Convert a sparse matrix to an array; return an array unchanged."""
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


def _subtract_shift(
    rows: Any, shift: FloatArray, degrees: FloatArray | None = None
) -> tuple[Any, FloatArray]:
    """Subtract ``shift`` (``degrees`` times) from dense rows; also return the shift that remains.

    Sparse rows are returned unchanged, because subtracting would fill them with nonzero values.
    """
    if scipy.sparse.issparse(rows) or not shift.any():
        return rows, shift
    times = shift if degrees is None else np.outer(degrees, shift)
    return rows - times.astype(rows.dtype), np.zeros_like(shift)


def shifted(table: Moments, dx: FloatArray, dy: FloatArray) -> Moments:
    """The same sums after the centre was moved by ``(dx, dy)``."""
    if not (np.any(dx) or np.any(dy)):
        return table
    moved = table.copy()
    moved[:-1] -= np.outer(dx, table[-1])
    moved[:, :-1] -= np.outer(moved[:, -1], dy)
    return moved


def _shifted_rows(rows: Moments, shift: FloatArray) -> Moments:
    if not np.any(shift):
        return rows
    moved = rows.copy()
    moved[:, :-1] -= np.outer(rows[:, -1], shift)
    return moved


def _symmetric(table: Moments) -> Moments:
    return (table + table.T) / 2
