"""Ridge regression: to codes of classes, and to class posteriors without hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from diffhash.comparison.linear_algebra import principal_axes
from diffhash.errors import InputError
from diffhash.types import CodeArray, FloatArray

from .base import Grid, Labels, LinearPeer, label_vectors
from .class_codes import separated_class_codes
from .leave_one_out import choose_ridge, indicators, ridge_weights

#: A number in units of the largest variance, or "loo": each view's own, by leave-one-out log loss.
Ridge = float | str


def view_ridge(X: FloatArray, labels: Labels, ridge: Ridge) -> float:
    """The ridge of one centred view, in units of its largest variance."""
    if isinstance(ridge, str):
        if ridge != "loo" or labels is None:
            raise InputError(f"ridge must be a number, or 'loo' where there are labels, got {ridge!r}.")
        return choose_ridge(X @ principal_axes(X, X.shape[1])[0], labels).ridge
    return float(ridge)


def ridge_map(X: FloatArray, targets: FloatArray, ridge: float) -> FloatArray:
    """``(XᵀX/n + ridge s₁)⁻¹ Xᵀ targets / n`` with ``s₁`` the largest variance of the centred rows."""
    axes, _ = principal_axes(X, X.shape[1])
    return axes @ ridge_weights(X @ axes, targets, ridge)


@dataclass
class RidgeCodes(LinearPeer):
    """Ridge regression of each view to codes of the classes.

    What supervised discrete hashing (such as DCH: Xu, Shen, Yang, Shen & Li, "Learning
    discriminative binary codes for large-scale cross-modal retrieval", IEEE TIP 2017) amounts to
    when its codes are fixed: every class gets a code, far from the others, and each view learns to
    predict the code of its rows. With several labels, that is the sum of their codes over the root of
    their number. Any number of bits. On kernel features this is kernel ridge regression.
    """

    ridge: Ridge = "loo"

    name: ClassVar[str] = "ridge to class codes"
    grid: ClassVar[Grid] = {"ridge": ["loo", 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        targets = class_targets(labels, self.n_bits, self.random_state)
        self.offset_ = targets.mean(axis=0)
        first, second = (
            ridge_map(Z, targets - self.offset_, view_ridge(Z, labels, self.ridge)) for Z in (X, Y)
        )
        return first, second

    def _threshold(self, projected: FloatArray) -> FloatArray:  # noqa: ARG002 - the mean of the codes
        return -self.offset_


def class_targets(labels: Labels, n_bits: int, random_state: int) -> FloatArray:
    """The code of each row's class, or what stands for several."""
    assert labels is not None  # fit has checked it
    vectors = label_vectors(labels)
    return vectors @ separated_class_codes(vectors.shape[1], n_bits, np.random.default_rng(random_state))


@dataclass
class Posteriors(LinearPeer):
    """Reference without hashing: softmax of ridge scores of the classes, compared by inner product.

    The inner product of two posteriors is the chance that both objects have the same class. An object
    takes as many real values as there are classes, whatever ``n_bits`` is.
    """

    name: ClassVar[str] = "class posteriors, real-valued"
    binary: ClassVar[bool] = False
    inner: ClassVar[bool] = True
    grid: ClassVar[Grid] = {}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        assert labels is not None  # fit has checked it
        T = indicators(labels)
        self.share_ = T.mean(axis=0)
        directions, steepness = [], []
        for Z in (X, Y):
            axes, _ = principal_axes(Z, Z.shape[1])
            chosen = choose_ridge(Z @ axes, labels)
            directions.append(axes @ ridge_weights(Z @ axes, T - self.share_, chosen.ridge))
            steepness.append(chosen.steepness)
        self.steepness_ = dict(zip(self.means_, steepness, strict=True))
        return directions[0], directions[1]

    def project(self, X: Any, modality: str) -> FloatArray:
        scores = super().project(X, modality)
        return np.asarray(softmax(self.steepness_[modality] * (self.share_ + scores), axis=1))

    def encode(self, X: Any, modality: str) -> CodeArray:  # noqa: ARG002 - the interface's
        raise InputError(f"{self.name}: has no codes. Compare the vectors of project() by inner product.")
