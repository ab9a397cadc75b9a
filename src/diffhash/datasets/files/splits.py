"""Check features and labels, and split objects into training, test and database parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ...errors import InputError
from ...types import IntArray
from ...validation import check_count
from ..multimodal_data import MultimodalData, Split

__all__ = ["as_features", "as_labels", "check_rows", "select_rows", "split_rows"]

_SPARSE_BELOW = 0.1


def as_features(array: Any, name: str, *, caller: str) -> Any:
    """Return features as float32 or float64; sparse if fewer than one in ten values differ from zero."""
    if scipy.sparse.issparse(array):
        return scipy.sparse.csr_array(array).astype(np.float32)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"{caller}: {name} must be an array of shape (objects, features), got {array.shape}."
        )
    if array.dtype.kind in "iub" and np.count_nonzero(array) < _SPARSE_BELOW * array.size:
        return scipy.sparse.csr_array(array).astype(np.float32)
    array = np.asarray(array)
    dense = array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)
    if dense.dtype == np.float64 and np.count_nonzero(dense) < _SPARSE_BELOW * dense.size:
        return scipy.sparse.csr_array(dense)
    return np.ascontiguousarray(dense)


def as_labels(array: Any, name: str, *, caller: str) -> NDArray[Any]:
    """Return classes as integers of shape (n,), or several labels per object as bool of shape (n, n_labels)."""
    array = np.asarray(array.toarray() if scipy.sparse.issparse(array) else array)
    if array.ndim == 2 and 1 in array.shape and array.size > 1:
        array = array.ravel()  # MATLAB has no 1-d arrays
    ok = array.dtype.kind in "fiub" and array.ndim in (1, 2) and array.size > 0
    if ok and array.ndim == 1:
        whole = array.astype(np.int64)
        ok = bool((whole == array).all())
        result: NDArray[Any] = whole
    elif ok:
        ok = bool(np.isin(array, (0, 1)).all())
        result = array.astype(np.bool_)
    if not ok:
        raise InputError(
            f"{caller}: {name} must be integer classes, or zeros and ones of shape (objects, labels), "
            f"got {array.dtype} of shape {array.shape}."
        )
    return result


def check_rows(arrays: Mapping[str, Any], *, caller: str) -> int:
    """Return the number of rows; raise :class:`InputError` if it is not the same for all arrays."""
    rows = {name: int(array.shape[0]) for name, array in arrays.items()}
    if len(set(rows.values())) != 1:
        raise InputError(
            f"{caller}: all arrays must have the same number of rows, got "
            f"{', '.join(f'{n} rows of {name}' for name, n in rows.items())}."
        )
    return next(iter(rows.values()))


def select_rows(views: Mapping[str, Any], labels: NDArray[Any], rows: Any = slice(None)) -> Split:
    """Return some rows of aligned views as a Split."""
    chosen = labels[rows]
    return Split({m: X[rows] for m, X in views.items()}, dict.fromkeys(views, chosen))


def split_rows(
    views: Mapping[str, Any],
    labels: NDArray[Any],
    *,
    n_test: int,
    n_train: int | None,
    random_state: int | None,
    caller: str,
) -> MultimodalData:
    """Draw the queries. All other objects are the database, and training objects are drawn from it."""
    n = check_rows({**views, "labels": labels}, caller=caller)
    test, train, database = draw_rows(
        n, n_test=n_test, n_train=n_train, random_state=random_state, caller=caller
    )
    searched = select_rows(views, labels, database)
    learned = searched if n_train is None else select_rows(views, labels, train)
    return MultimodalData(learned, select_rows(views, labels, test), searched)


def draw_rows(
    n: int, *, n_test: int, n_train: int | None, random_state: int | None, caller: str
) -> tuple[IntArray, IntArray, IntArray]:
    """Draw row numbers of queries, training objects and database, each in increasing order."""
    check_count(n_test, "n_test", caller=caller)
    if n_train is not None:
        check_count(n_train, "n_train", caller=caller)
    if n_test + (n_train or 1) > n:
        raise InputError(
            f"{caller}: there are {n} objects, fewer than n_test={n_test} and n_train={n_train} together. "
            "Use smaller numbers, or check that the file is complete."
        )
    order = np.random.default_rng(random_state).permutation(n)
    database = np.sort(order[n_test:])
    train = database if n_train is None else np.sort(order[n_test : n_test + n_train])
    return np.sort(order[:n_test]), train, database
