"""Whitening of the features of a view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from ..errors import InputError
from ..types import FloatArray
from .mapped_view import MappedView, feature_mean
from .view_moments import ViewMoments

__all__ = ["Spectrum", "spectrum", "stronger_shrinkage"]


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of the covariance of features.

    Attributes
    ----------
    vectors : array of shape (n_coordinates, k)
        Orthonormal columns.
    variances : array of shape (k,), decreasing
    n_features : int
        Number of features. It is more than ``n_coordinates`` in the space of the rows, see
        :func:`~diffhash.maps.learning_space.row_space`.
    ledoit_wolf : float in [0, 1]
        The shrinkage of Ledoit and Wolf.
    """

    vectors: FloatArray
    variances: FloatArray
    n_features: int
    ledoit_wolf: float

    def scales(self, shrinkage: float) -> FloatArray:
        r"""Factors of the coordinates along the eigenvectors that make their variances nearly equal.

        The covariance C is replaced by :math:`(1 - s) C + s t I` with shrinkage s and average variance t.
        Directions without variance get the factor 0; the inverse root would be infinite.
        """
        target = self.variances.sum() / self.n_features
        values = (1 - shrinkage) * self.variances + shrinkage * target
        tiny = values <= np.finfo(np.float32).eps * values[0]
        return np.where(tiny, 0.0, 1.0 / np.sqrt(np.where(tiny, 1.0, values)))

    def inverse_root(self, shrinkage: float) -> FloatArray:
        """Symmetric inverse root of the covariance after shrinkage, see :meth:`scales`."""
        return np.asarray((self.vectors * self.scales(shrinkage)) @ self.vectors.T)


def spectrum(
    view: MappedView,
    n_features: int | None = None,
    *,
    moments: ViewMoments | None = None,
    who: str = "spectrum",
) -> Spectrum:
    r"""Eigenvalues and eigenvectors of the covariance of the features of a view.

    Parameters
    ----------
    view : MappedView
        Its features do not have to be centred.
    n_features : int, optional
        See :class:`Spectrum`.
    moments : ViewMoments, optional
        Moments of all features, with all products, if the view is only a sample of the rows. The sample then tells
        only how long rows are.
    who : str
        Prefix of error messages.

    Notes
    -----
    With the covariance C of n rows :math:`x_i` of mean zero and the average variance t, the shrinkage is
    :math:`\min(1, \frac{\sum_i \|x_i\|^4 / n - \|C\|^2}{n (\|C\|^2 - t^2 d)})`.

    References
    ----------
    O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
    Journal of Multivariate Analysis, 2004.

    Examples
    --------
    >>> from diffhash.maps.learning_space import plain_view
    >>> found = spectrum(plain_view(np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 2.0], [2.0, 0.0]])))
    >>> found.variances, found.ledoit_wolf
    (array([0.5, 0.5]), 1.0)
    """
    d = view.n_features if n_features is None else n_features
    mean = feature_mean(view)
    covariance: FloatArray = np.zeros((view.n_features, view.n_features))
    fourth_power = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in view.blocks():
            rows = (block.toarray() if scipy.sparse.issparse(block) else block) - mean.astype(view.dtype)
            if moments is None:
                covariance += rows.T @ rows
            fourth_power += float((np.einsum("ij,ij->i", rows, rows, dtype=np.float64) ** 2).sum())
        covariance = np.asarray(covariance / view.n_rows if moments is None else moments.covariance)
        square = float(np.square(covariance).sum())
    if not np.isfinite(fourth_power) or not np.isfinite(square):
        raise InputError(f"{who}: the features are too large to whiten them. Divide them by a constant.")
    values, vectors = np.linalg.eigh(covariance)
    variances = np.maximum(values[::-1], 0.0)
    error = (fourth_power / view.n_rows - square) / (view.n_rows if moments is None else moments.n_rows)
    distance = square - variances.sum() ** 2 / d
    ledoit_wolf = 1.0 if distance <= max(error, 1e-12 * square) else max(error, 0.0) / distance
    return Spectrum(np.ascontiguousarray(vectors[:, ::-1]), variances, d, float(ledoit_wolf))


def stronger_shrinkage(shrinkage: float, factor: float) -> float:
    """The shrinkage whose odds ``s / (1 - s)`` are ``factor`` times as large.

    Examples
    --------
    >>> stronger_shrinkage(0.2, 4.0)
    0.5
    """
    return factor * shrinkage / (1.0 - shrinkage + factor * shrinkage)
