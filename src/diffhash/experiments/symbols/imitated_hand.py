"""Symbols as an unsteady hand would draw them, to learn from: turned, stretched, sheared and warped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ...featurizers import DrawingFeatures
from ...featurizers.pen_lines import PenLines, draw_lines
from ...types import FloatArray

__all__ = ["drawn_by_hand"]

#: Largest angle in degrees; logarithm of the stretching; shear.
_TURN, _STRETCH, _SHEAR = 12.0, 0.15, 0.15
#: How far lines are off, as a share of the drawing; and the number of places across that err on their own.
_WARP, _PLACES = (0.005, 0.035), 8
_EXTENTS, _THICKNESSES = (0.75, 0.95), (0.05, 0.10)


def drawn_by_hand(
    featurizer: DrawingFeatures, lines: Sequence[PenLines], rng: np.random.Generator
) -> FloatArray:
    """Features of one drawing of each symbol.

    Parameters
    ----------
    featurizer : DrawingFeatures
    lines : sequence of PenLines
        Of the printed symbols.
    rng : Generator
    """
    return featurizer.of_lines([_draw(each, featurizer.size, rng) for each in lines])


def _draw(lines: PenLines, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    angle = np.radians(rng.uniform(-_TURN, _TURN))
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    stretched = np.diag(np.exp(rng.uniform(-_STRETCH, _STRETCH) * np.array([1.0, -1.0])))
    sheared = np.array([[1.0, rng.uniform(-_SHEAR, _SHEAR)], [0.0, 1.0]])
    error = rng.normal(size=(2, _PLACES, _PLACES)) * rng.uniform(*_WARP)
    return draw_lines(
        lines,
        size=size,
        extent=rng.uniform(*_EXTENTS),
        thickness=rng.uniform(*_THICKNESSES),
        turn=turned @ stretched @ sheared,
        shift=ndimage.zoom(error, (1, size / _PLACES, size / _PLACES), order=1),
    )
