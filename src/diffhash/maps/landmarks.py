"""Choose the landmarks of a kernel map."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..errors import ParameterError
from ..types import FloatArray
from ..validation import check_features

__all__ = ["choose_landmarks"]


def choose_landmarks(
    X: Any, n_landmarks: int, how: Any, random_state: int | None, *, caller: str, modality: str
) -> FloatArray:
    """Landmarks of one modality. No two of them are equal.

    There are ``n_landmarks``, or fewer if there are fewer different objects (or centres of k-means).

    Parameters
    ----------
    X : array of shape (n, n_features), dense or CSR
    n_landmarks : int
        Ignored if the landmarks are given.
    how : {"random", "kmeans"} or array of shape (any, n_features)
        Random rows, the centres of k-means, or the landmarks themselves.
    random_state : int or None
    caller, modality : str
        Used in error messages.

    Examples
    --------
    >>> choose_landmarks(np.eye(3), 2, "random", 0, caller="example", modality="x").shape
    (2, 3)
    >>> choose_landmarks(np.eye(3), 1000, "random", 0, caller="example", modality="x").shape
    (3, 3)
    """
    who = f"{caller}: modality {modality!r}"
    if not isinstance(how, str):
        if np.ndim(how) != 2 and not scipy.sparse.issparse(how):
            raise ParameterError(
                f'{who}: landmarks must be "random", "kmeans" or an array of shape (l, {X.shape[1]}), '
                f"got {type(how).__name__}."
            )
        given = check_features(how, X.shape[1], caller=f"{caller}, landmarks", modality=modality)
        given = np.array(given.toarray() if scipy.sparse.issparse(given) else given)
        n_distinct = len(_distinct_rows(given))
        if n_distinct < len(given):
            raise ParameterError(
                f"{who} has {len(given)} given landmarks, but only {n_distinct} are different. "
                "Remove the repeated ones."
            )
        return given
    n_landmarks = min(n_landmarks, X.shape[0])
    rng = np.random.default_rng(random_state)
    if how == "kmeans":
        # Imported here because scikit-learn is slow to import and k-means is rarely used.
        from sklearn.cluster import MiniBatchKMeans

        model = MiniBatchKMeans(n_landmarks, random_state=random_state, n_init=1, batch_size=4096)
        centres = np.ascontiguousarray(model.fit(X).cluster_centers_, dtype=X.dtype)
        # Centres of the same objects differ by rounding errors.
        size = np.abs(centres).max(axis=0)
        distinct = _distinct_rows(np.round(centres / np.where(size > 0, size, 1), 6))
        return centres if len(distinct) == n_landmarks else centres[np.sort(distinct)]
    drawn = _take(X, rng.choice(X.shape[0], size=n_landmarks, replace=False))
    if len(_distinct_rows(drawn)) == n_landmarks:
        return drawn
    # Some drawn objects are equal: draw again from the distinct objects.
    rows = _distinct_rows(X.toarray() if scipy.sparse.issparse(X) else X)
    return _take(X, rng.permutation(rows)[:n_landmarks])


def _take(X: Any, rows: Any) -> FloatArray:
    taken = X[rows]
    return np.asarray(taken.toarray() if scipy.sparse.issparse(taken) else taken)


def _distinct_rows(X: FloatArray) -> Any:
    """Row numbers of the first occurrence of each different row."""
    return np.unique(X, axis=0, return_index=True)[1]
