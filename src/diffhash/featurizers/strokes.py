"""Strokes of a pen as small pictures that look like printed symbols: centred, scaled and thickened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..types import FloatArray

__all__ = ["draw_strokes", "read_strokes"]

#: Coordinates of a drawing are whole numbers below this.
SIDE = 1000
#: Points of a drawing. A drawing of a person has some hundred.
_MOST_POINTS = 5_000


def read_strokes(text: str) -> list[FloatArray]:
    """Strokes in an address: points are ``x.y``, joined by ``-``; strokes are joined by ``_``.

    Parameters
    ----------
    text : str
        Coordinates are whole numbers from 0 to 999, x to the right and y down.

    Returns
    -------
    list of arrays of shape (n_points, 2)

    Raises
    ------
    InputError
        If the text is not a drawing, or has too many points.

    Examples
    --------
    >>> read_strokes("0.0-10.0_5.5")
    [array([[ 0.,  0.],
           [10.,  0.]]), array([[5., 5.]])]
    """
    if text.count("-") + text.count("_") >= _MOST_POINTS:
        raise InputError(f"A drawing may have {_MOST_POINTS:,} points.")
    strokes: list[FloatArray] = []
    for part in text.split("_"):
        points = [point.partition(".")[::2] for point in part.split("-")]
        if not all(_is_coordinate(x) and _is_coordinate(y) for x, y in points):
            raise InputError(
                f"A drawing looks like 10.20-30.40_50.60: points x.y of whole numbers below {SIDE}, got {text[:50]!r}."
            )
        strokes.append(np.array(points, dtype=np.float64))
    return strokes


def _is_coordinate(text: str) -> bool:
    return 1 <= len(text) <= 3 and text.isascii() and text.isdigit()


def draw_strokes(
    strokes: Sequence[FloatArray], *, size: int, extent: float, thickness: float, up: float = 0.0
) -> NDArray[np.uint8]:
    """Draw strokes in white on black.

    Parameters
    ----------
    strokes : sequence of arrays of shape (n_points, 2)
        Where and how large they are has no effect.
    size : int
        Side of the picture in pixels.
    extent : float
        The longer side of the drawing, as a share of the picture, with its thickness.
    thickness : float
        Of a line, as a share of the picture.
    up : float
        How far the centre of the drawing is above that of the picture, as a share of it.

    Returns
    -------
    uint8 array of shape (size, size)

    Examples
    --------
    >>> draw_strokes([np.array([[0, 0], [1, 0]])], size=5, extent=1.0, thickness=0.2)
    array([[  0,   0,   0,   0,   0],
           [  0,   0,   0,   0,   0],
           [255, 255, 255, 255, 255],
           [  0,   0,   0,   0,   0],
           [  0,   0,   0,   0,   0]], dtype=uint8)
    """
    points = np.concatenate([np.asarray(stroke, dtype=np.float64) for stroke in strokes])
    low, high = points.min(axis=0), points.max(axis=0)
    # A single dot has no side; it becomes a dot of the thickness of a line.
    scale = max(extent - thickness, 0.0) * size / max(float((high - low).max()), 1e-9)
    centre = (low + high) / 2
    place = np.array([size / 2, size / 2 - up * size])
    starts, ends = [], []
    for stroke in strokes:
        placed = (np.asarray(stroke, dtype=np.float64) - centre) * scale + place
        starts.append(placed if len(placed) == 1 else placed[:-1])
        ends.append(placed if len(placed) == 1 else placed[1:])
    distance = _distances(np.concatenate(starts), np.concatenate(ends), size, thickness * size / 2 + 1)
    # A pixel whose centre is half a pixel inside the line is white, half a pixel outside black.
    grey = np.clip(thickness * size / 2 + 0.5 - distance, 0.0, 1.0)
    drawn: NDArray[np.uint8] = np.rint(255 * grey).astype(np.uint8)
    return drawn


def _distances(starts: FloatArray, ends: FloatArray, size: int, reach: float) -> FloatArray:
    """Distance of the centre of each pixel to the nearest of some segments, as far as it is at most ``reach``."""
    nearest = np.full((size, size), np.inf)
    centres = np.arange(size) + 0.5
    # Each segment changes only the pixels around it.
    lows = np.clip(np.floor(np.minimum(starts, ends) - reach), 0, size).astype(int).tolist()
    highs = np.clip(np.ceil(np.maximum(starts, ends) + reach), 0, size).astype(int).tolist()
    ways = ends - starts
    lengths = np.maximum((ways * ways).sum(axis=1), 1e-12).tolist()
    for (x, y), (dx, dy), length, low, high in zip(
        starts.tolist(), ways.tolist(), lengths, lows, highs, strict=True
    ):
        part = nearest[low[1] : high[1], low[0] : high[0]]
        across, down = centres[low[0] : high[0]] - x, (centres[low[1] : high[1]] - y)[:, None]
        share = np.clip((across * dx + down * dy) / length, 0.0, 1.0)
        np.minimum(part, np.hypot(across - share * dx, down - share * dy), out=part)
    return nearest
