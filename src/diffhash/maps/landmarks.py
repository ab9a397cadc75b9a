"""Choose the landmarks of a kernel map."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import ParameterError
from ..types import FloatArray, IntArray
from ..validation import check_features

__all__ = ["choose_landmarks", "random_landmarks"]

#: Sparse rows are compared as dense ones if they have at most this many numbers together.
_MAX_DENSE = 1 << 26


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
    drawn = random_landmarks(X, n_landmarks, rng)
    return np.asarray(X[drawn].toarray() if scipy.sparse.issparse(X) else X[drawn])


def random_landmarks(X: Any, n_landmarks: int, rng: np.random.Generator) -> IntArray:
    """Numbers of random rows. No two of these rows are equal, so there may be fewer than ``n_landmarks``."""
    drawn = rng.choice(X.shape[0], size=min(n_landmarks, X.shape[0]), replace=False)
    if _all_different(X[drawn]):
        return np.asarray(drawn)
    # Some drawn objects are equal: draw again from the distinct objects.
    small = X.shape[0] * X.shape[1] <= _MAX_DENSE
    rows = _distinct_rows(X.toarray() if small and scipy.sparse.issparse(X) else X)
    return np.asarray(rng.permutation(rows)[:n_landmarks])


def _all_different(X: Any) -> bool:
    if scipy.sparse.issparse(X):
        return bool(len(_distinct_rows(X)) == X.shape[0])
    # Adding zero makes -0.0 and 0.0 the same bytes.
    return len({row.tobytes() for row in X + 0.0}) == len(X)


def _distinct_rows(X: Any) -> Any:
    """Row numbers of the first occurrence of each different row: ordered by dense rows, or by sparse row numbers."""
    if not scipy.sparse.issparse(X):
        return np.unique(X, axis=0, return_index=True)[1]
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    first: dict[tuple[bytes, bytes], int] = {}
    for row, (start, end) in enumerate(itertools.pairwise(X.indptr)):
        first.setdefault((X.indices[start:end].tobytes(), X.data[start:end].tobytes()), row)
    return np.fromiter(first.values(), dtype=np.int64)
