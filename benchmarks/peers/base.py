"""What all peers share: their interface, checks of their input, and a linear base class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse

from diffhash.codes import pack
from diffhash.errors import (
    FeatureCountError,
    InputError,
    NotFittedError,
    TooManyBitsError,
    UnknownModalityError,
)
from diffhash.types import BoolArray, CodeArray, FloatArray, IntArray, Views

Grid = dict[str, list[Any]]
Labels = IntArray | BoolArray | None


class Peer(Protocol):
    """A baseline. Rows of the views are aligned; ``labels=None`` means that pairs are all there is."""

    name: str
    n_bits: int
    #: False for the reference without hashing: compare its real vectors by their cosine.
    binary: bool

    def fit(self, views: Views, labels: Labels = None) -> Self: ...

    def project(self, X: Any, modality: str) -> FloatArray:
        """Real values of shape (n, n_bits); the bit is one where the value is >= 0."""

    def encode(self, X: Any, modality: str) -> CodeArray: ...


@dataclass
class LinearPeer(ABC):
    """Sign of a linear function of the centred features, learned by ``_directions``.

    ``grid`` holds the hyperparameters that a benchmark tunes: six settings for every peer
    that has two of them, so that all get the same effort.
    """

    n_bits: int
    random_state: int = 0

    name: ClassVar[str]
    grid: ClassVar[Grid]
    binary: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False

    @abstractmethod
    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        """Matrices (d, n_bits) and (d', n_bits) from centred views and checked labels."""

    def fit(self, views: Views, labels: Labels = None) -> Self:
        arrays = check_views(self.name, views)
        labels = check_labels(self.name, labels, len(next(iter(arrays.values()))))
        if self.needs_labels and labels is None:
            raise InputError(f"{self.name}: is a supervised method and needs labels, got none.")
        self.means_ = {modality: X.mean(axis=0) for modality, X in arrays.items()}
        centred = [X - self.means_[modality] for modality, X in arrays.items()]
        self.projections_ = dict(zip(arrays, self._directions(*centred, labels), strict=True))
        self.thresholds_ = {
            modality: self._threshold(X @ self.projections_[modality])
            for modality, X in zip(arrays, centred, strict=True)
        }
        return self

    def _threshold(self, projected: FloatArray) -> FloatArray:
        """Zero: the mean of the training rows. Peers that balance their bits say otherwise."""
        return np.zeros(projected.shape[1])

    def project(self, X: Any, modality: str) -> FloatArray:
        X = check_features(self.name, X, modality, getattr(self, "means_", None))
        return (X - self.means_[modality]) @ self.projections_[modality] - self.thresholds_[modality]

    def encode(self, X: Any, modality: str) -> CodeArray:
        return pack(self.project(X, modality) >= 0)

    def _at_most(self, most: int, reason: str) -> None:
        if self.n_bits > most:
            raise TooManyBitsError(
                f"{self.name}: asked for {self.n_bits} bits, but {reason} give at most {most}. "
                "Ask for fewer bits, or put kernel features in front."
            )


def dense(X: Any) -> FloatArray:
    """Features as a dense float64 array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def check_views(name: str, views: Views) -> dict[str, FloatArray]:
    """Two dense views with the same number of rows."""
    if len(views) != 2:
        raise InputError(f"{name}: expected two views, got {len(views)}: {list(views)}.")
    arrays = {modality: dense(X) for modality, X in views.items()}
    shapes = {modality: X.shape for modality, X in arrays.items()}
    if any(X.ndim != 2 for X in arrays.values()) or len({len(X) for X in arrays.values()}) != 1:
        raise InputError(f"{name}: expected two arrays with one row per object, got shapes {shapes}.")
    if not all(np.isfinite(X).all() for X in arrays.values()):
        raise InputError(f"{name}: the features hold NaN or infinity.")
    return arrays


def check_features(name: str, X: Any, modality: str, means: dict[str, FloatArray] | None) -> FloatArray:
    """Dense features of a modality that the peer was fitted on."""
    if means is None:
        raise NotFittedError(f"{name}: call fit first.")
    if modality not in means:
        raise UnknownModalityError(f"{name}: fitted on {list(means)}, got modality {modality!r}.")
    array = dense(X)
    expected = len(means[modality])
    if array.ndim != 2 or array.shape[1] != expected:
        raise FeatureCountError(
            f"{name}: modality {modality!r} has {expected} features, got an array of shape {array.shape}."
        )
    return array


def check_labels(name: str, labels: Labels, n: int) -> Labels:
    """Labels of shape (n,), or truth values of shape (n, n_labels)."""
    if labels is None:
        return None
    labels = np.asarray(labels)
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise InputError(f"{name}: expected labels of {n} rows, got an array of shape {labels.shape}.")
    return labels


def label_vectors(labels: IntArray | BoolArray) -> FloatArray:
    """Rows of unit length whose products are the similarity of two objects' labels.

    For one label per object: one column per class, and the products are 1 for the same class
    and 0 otherwise. For several: the cosine of the two sets (Zhang & Li 2014).
    """
    if labels.ndim == 1:
        classes, index = np.unique(labels, return_inverse=True)
        return np.eye(len(classes))[index]
    vectors = labels.astype(np.float64)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def weighted_moment(X: FloatArray, Y: FloatArray, labels: Labels) -> FloatArray:
    """``Xᵀ W Y`` with ``W`` the similarity of labels, or the identity when there are none.

    ``W = L Lᵀ`` is never formed: the product goes through sums over classes.
    """
    if labels is None:
        return X.T @ Y
    L = label_vectors(labels)
    return (X.T @ L) @ (L.T @ Y)


def second_moment(X: FloatArray, ridge: float) -> FloatArray:
    """``XᵀX / n``, its diagonal raised by ``ridge`` times its mean."""
    C = X.T @ X / len(X)
    C[np.diag_indices_from(C)] += ridge * np.trace(C) / len(C) + np.finfo(float).tiny
    return C
