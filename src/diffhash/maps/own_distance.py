"""Distances by a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..errors import ParameterError
from ..types import FloatArray
from ..validation import as_array

__all__ = ["Distance", "own_distances"]

#: A distance function of the user: ``distance(X, Y)`` returns (n, m), no value negative.
Distance: TypeAlias = Callable[[Any, Any], FloatArray]


def own_distances(distance: Distance, X: Any, Y: Any, *, who: str) -> FloatArray:
    """Call a distance function and check what it returns.

    Parameters
    ----------
    distance : callable
        ``distance(X, Y)`` returns the distance of each row of X to each row of Y.
    X, Y : arrays of shape (n, n_features), (m, n_features)
    who : str
        Prefix of error messages.

    Returns
    -------
    float64 array of shape (n, m)

    Examples
    --------
    >>> X, Y = np.array([[0.0], [3.0]]), np.array([[1.0]])
    >>> own_distances(lambda X, Y: np.abs(X - Y.T), X, Y, who="example")
    array([[1.],
           [2.]])
    """
    found = as_array(distance(X, Y), f"{who}: what the distance function returned")
    if found.shape != (X.shape[0], Y.shape[0]) or found.dtype.kind not in "fiu":
        raise ParameterError(
            f"{who}: the distance function must return numbers of shape {(X.shape[0], Y.shape[0])}, "
            f"got {found.dtype} of shape {found.shape}."
        )
    if not np.isfinite(found).all():
        raise ParameterError(f"{who}: the distance function returned NaN or infinity.")
    if found.size and found.min() < 0:
        raise ParameterError(
            f"{who}: the distance function returned {found.min():.3g}. Distances must not be negative."
        )
    return found.astype(np.float64)
