"""ITQ on principal components, of two views of any kind and of embeddings of one space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from diffhash.comparison.linear_algebra import itq, principal_axes
from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer
from .raw import check_one_space
from .ridge import ridge_map


@dataclass
class PCAITQ(LinearPeer):
    """ITQ on the concatenated views (Gong & Lazebnik, CVPR 2011), from pairs alone.

    Each view is divided by the root of its mean squared row length; the principal components of the two
    beside each other are rotated by ITQ. One view of a new object predicts the rotated components by
    ridge regression (``ridge`` in units of the view's largest variance). At most as many bits as the
    concatenated views have directions.
    """

    ridge: float = 1e-2
    n_iterations: int = 50

    name: ClassVar[str] = "PCA + ITQ"
    grid: ClassVar[Grid] = {"ridge": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]}

    def _directions(
        self,
        X: FloatArray,
        Y: FloatArray,
        labels: Labels,  # noqa: ARG002 - pairs alone
    ) -> tuple[FloatArray, FloatArray]:
        both = np.hstack([Z / (np.sqrt(np.sum(Z**2) / len(Z)) or 1.0) for Z in (X, Y)])
        axes, _ = principal_axes(both, self.n_bits)
        self._at_most(axes.shape[1], f"views of {X.shape[1]} and {Y.shape[1]} features together")
        components = both @ axes
        R, self.losses_ = itq(components, self.n_iterations, np.random.default_rng(self.random_state))
        return ridge_map(X, components @ R, self.ridge), ridge_map(Y, components @ R, self.ridge)


@dataclass
class AlignedITQ(LinearPeer):
    """ITQ of embeddings of one space: principal components of both views' rows together, rotated.

    The rows of both views, each minus its view's mean, are stacked. At most as many bits as the embeddings
    have features.
    """

    n_iterations: int = 50

    name: ClassVar[str] = "ITQ of embeddings"
    grid: ClassVar[Grid] = {}

    def _directions(
        self,
        X: FloatArray,
        Y: FloatArray,
        labels: Labels,  # noqa: ARG002 - pairs alone
    ) -> tuple[FloatArray, FloatArray]:
        check_one_space(self.name, X, Y)
        rows = np.vstack([X, Y])
        axes, _ = principal_axes(rows, self.n_bits)
        self._at_most(axes.shape[1], f"embeddings of {X.shape[1]} features")
        R, self.losses_ = itq(rows @ axes, self.n_iterations, np.random.default_rng(self.random_state))
        return axes @ R, axes @ R
