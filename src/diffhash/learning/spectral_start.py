"""The start of the refinement: bits from the spectral solution in whitened coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maps import LinearMap, MappedView
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .refinement import Affine
from .rotation import bits_in_subspace, sample_rows
from .subspace import shuffled_differences, useful_subspace
from .view_difference import DifferenceSettings, view_difference

__all__ = ["SpectralStart"]

#: The refinement amplifies rounding errors. Separate sums keep the published figures reproducible.
_SETTINGS = DifferenceSettings(gamma=1.0, separate_sums=True)


class SpectralStart:
    """The spectral solution of one or two views, for any scaling of their coordinates.

    The covariance differences (of the pairs and of shuffled objects) are computed once. Scaling the
    coordinates only multiplies their rows and columns.

    Parameters
    ----------
    x, y : arrays of shape (n, d), (n', d')
        Coordinates of the two views; ``y`` is None for one view.
    pairs : ResolvedPairs
    rng : Generator
    """

    def __init__(
        self, x: FloatArray, y: FloatArray | None, pairs: ResolvedPairs, rng: np.random.Generator
    ) -> None:
        self._sides = [x] if y is None else [x, y]
        views = [MappedView(side, LinearMap(np.zeros(side.shape[1]))) for side in self._sides]
        self._difference = view_difference(views[0], views[-1], pairs, _SETTINGS)
        self._shuffled = list(shuffled_differences(views[0], views[-1], pairs, _SETTINGS, rng))

    def bits(
        self,
        scales: Sequence[FloatArray],
        n_bits: int,
        rng: np.random.Generator,
        *,
        strongest_only: bool = False,
    ) -> Affine:
        """Bits in the useful subspace: its paired directions are weighted by their strength and rotated.

        Parameters
        ----------
        scales : one or two arrays of shape (d,), (d',)
            Factors of the coordinates. The returned weights apply to the scaled coordinates.
        n_bits : int
            May be more than the number of directions.
        rng : Generator
        strongest_only : bool
            Use only the ``n_bits`` strongest directions. Otherwise each bit may mix all directions.
        """
        one_view = len(self._sides) == 1
        scale = np.outer(scales[0], scales[-1])
        shuffled = (scale * matrix for matrix in self._shuffled)
        found = useful_subspace(scale * self._difference, shuffled, rng, one_view=one_view, approximate=True)
        if strongest_only:
            found = found.first(n_bits)
        directions = (found.P.T,) if one_view else (found.P.T, found.Q.T)
        values = [
            sample_rows(side, rng) @ (scale[:, None] * direction).astype(side.dtype)
            for side, scale, direction in zip(self._sides, scales, directions, strict=True)
        ]
        mixes = bits_in_subspace(values, found.strengths, n_bits, rng)
        weights = [np.asarray(d @ mix, dtype=np.float64) for d, mix in zip(directions, mixes, strict=True)]
        zero = np.zeros(n_bits)
        return Affine((weights[0], weights[-1]), (zero, zero))
