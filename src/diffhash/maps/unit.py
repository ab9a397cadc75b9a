"""Rows scaled to unit length before another map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..types import FloatArray
from .feature_map import FeatureMap, map_from_state

__all__ = ["UnitMap", "unit_rows"]


class UnitMap(FeatureMap):
    r"""The map :math:`x \mapsto \phi(u / \|u\|)` with :math:`u = x - \mu`, or :math:`u = \sqrt{x}`.

    Distances between rows of unit length depend only on the angle between them. Subtracting the mean
    first removes what all objects have in common. Roots are for counts and histograms, in which a few
    large values would otherwise hide the others.

    Parameters
    ----------
    inner : FeatureMap
        :math:`\phi`, fitted to rows of unit length.
    origin : array of shape (n_features,), or None
        :math:`\mu`. None: take the roots of the features instead. The root of a negative feature is
        minus the root of its magnitude.

    Examples
    --------
    >>> from diffhash.maps import LinearMap
    >>> X = np.array([[3.0, 4.0], [0.0, 2.0]])
    >>> UnitMap(LinearMap(np.zeros(2)), origin=np.zeros(2)).transform(X)
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    kind = "unit"

    def __init__(self, inner: FeatureMap, origin: FloatArray | None) -> None:
        self.inner = inner
        self.origin = origin
        self.n_features_in, self.n_features_out = inner.n_features_in, inner.n_features_out

    def transform(self, X: Any) -> Any:
        """Features of the inner map. Sparse rows stay sparse with roots, if the inner map allows it."""
        return self.inner.transform(unit_rows(X, self.origin))

    @property
    def offset(self) -> FloatArray | None:
        """See :attr:`FeatureMap.offset`."""
        return self.inner.offset

    @property
    def own_function(self) -> Callable[..., Any] | None:
        """That of the inner map."""
        return self.inner.own_function

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain parameters and arrays."""
        parameters, arrays = self.inner.state()
        arrays = {f"inner/{name}": array for name, array in arrays.items()}
        if self.origin is not None:
            arrays["origin"] = self.origin
        return {"inner": self.inner.kind, "inner_parameters": parameters}, arrays

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Inverse of :meth:`state`."""
        kind, of_inner = parameters.get("inner"), parameters.get("inner_parameters")
        origin = arrays.get("origin")
        if kind == cls.kind or not isinstance(kind, str) or not isinstance(of_inner, Mapping):
            raise ModelFileError("load: the parameters of a unit map are damaged. Save the model again.")
        inner = map_from_state(
            kind, of_inner, {name[6:]: array for name, array in arrays.items() if name.startswith("inner/")}
        )
        if origin is not None and origin.shape != (inner.n_features_in,):
            raise ModelFileError("load: the arrays of a unit map do not fit together. Save the model again.")
        return cls(inner, origin)


def unit_rows(X: Any, origin: FloatArray | None) -> Any:
    """Rows minus ``origin``, or their signed roots if it is None, scaled to unit length. Zero rows stay zero."""
    if origin is None and scipy.sparse.issparse(X):
        rooted = X.sign() * abs(X).sqrt()
        lengths = np.sqrt(np.asarray(abs(X).sum(axis=1), dtype=np.float64)).reshape(-1)
        return (scipy.sparse.diags_array(_inverse(lengths).astype(X.dtype)) @ rooted).tocsr()
    rows = X.toarray() if scipy.sparse.issparse(X) else X
    rows = np.sign(rows) * np.sqrt(np.abs(rows)) if origin is None else rows - origin.astype(rows.dtype)
    # The largest magnitude is divided out first: squares of large float32 numbers would overflow.
    rows = rows * _inverse(np.abs(rows).max(axis=1)).astype(rows.dtype)[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows * _inverse(lengths).astype(rows.dtype)[:, None]


def _inverse(lengths: FloatArray) -> FloatArray:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
