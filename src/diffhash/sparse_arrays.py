"""Sparse arrays of SciPy: recognise them, and check them before SciPy's kernels read them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import InputError

__all__ = ["as_csr", "is_sparse"]


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse array or matrix of SciPy.

    SciPy is not imported for it: if nobody has imported it, X cannot be sparse.
    """
    return "scipy.sparse" in sys.modules and bool(_scipy_sparse().issparse(X))


def _scipy_sparse() -> Any:
    import scipy.sparse

    return scipy.sparse


def as_csr(X: Any, who: str) -> Any:
    """Convert a sparse array to CSR, after its index arrays were checked: SciPy's kernels trust them.

    Parameters
    ----------
    X : scipy sparse array or matrix
    who : str
        The function and its parameter, with which the error message begins.

    Raises
    ------
    InputError
        If an index is out of range, or the index arrays do not fit together.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array(([1.0], [0], [0, 1]), shape=(1, 2))
    >>> X.indices[0] = 5
    >>> as_csr(X, "fit: modality 'x'")
    Traceback (most recent call last):
    diffhash.errors.InputError: fit: modality 'x' is a damaged sparse array: the index 5 is not in the range 0 to 1.
    """
    try:
        _check_indices(X, who)
        # A csr_array, not a csr_matrix: with the latter * is a matrix product.
        converted = _scipy_sparse().csr_array(X)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{who} is a damaged sparse array: it cannot be converted to CSR ({error})."
        ) from error
    _check_indices(converted, who)
    return converted


def _check_indices(X: Any, who: str) -> None:
    """Check the index arrays of a sparse array, as far as its format has any."""
    if X.format in ("csr", "csc", "bsr"):
        sides = X.shape if X.format != "csc" else X.shape[::-1]
        if X.format == "bsr":
            sides = tuple(n // side for n, side in zip(X.shape, X.data.shape[1:], strict=True))
        ends = X.indptr
        if ends.ndim != 1 or ends.dtype.kind not in "iu" or len(ends) != sides[0] + 1:
            raise InputError(
                f"{who} is a damaged sparse array: it has {sides[0]} rows and {ends.size} row ends."
            )
        if ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] > min(len(X.indices), len(X.data)):
            raise InputError(f"{who} is a damaged sparse array: its row ends decrease or lead out of it.")
        coordinates, limits = [X.indices], sides[1:]
    elif X.format == "coo":
        coordinates, limits = list(X.coords), X.shape
    else:
        return
    for indices, limit in zip(coordinates, limits, strict=True):
        if indices.ndim != 1 or indices.dtype.kind not in "iu" or len(indices) != len(X.data):
            raise InputError(f"{who} is a damaged sparse array: its indices do not fit its values.")
        wrong = (indices < 0) | (indices >= limit)
        if wrong.any():
            raise InputError(
                f"{who} is a damaged sparse array: the index {indices[wrong][0]} is not in the range 0 to "
                f"{limit - 1}."
            )
