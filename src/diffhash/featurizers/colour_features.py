"""Colour histograms over a grid of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterError
from ..types import FloatArray

__all__ = ["colour_histograms"]

_BLOCK = 256
# Pixels per block; of large pictures fewer are processed at a time.
_BLOCK_PIXELS = 1 << 20


def colour_histograms(pictures: NDArray[Any], *, grid: int = 4, hues: int = 12, greys: int = 4) -> FloatArray:
    """Compute the share of each hue and each grey level in every cell of a grid.

    Parameters
    ----------
    pictures : uint8 array of shape (n, height, width, 3)
        Red, green, blue.
    grid : int
        The picture is divided into ``grid × grid`` cells, each at least one pixel wide.
    hues, greys : int
        Number of bins for the hue (around the colour circle) and for the brightness.

    Returns
    -------
    float32 array of shape (n, grid² · (hues + greys))
        Square roots of the shares, so that the Euclidean distance is the Hellinger distance. The squares of one
        cell sum to 1.

    Notes
    -----
    With ``chroma = max − min`` of the three channels, a pixel gives the share ``chroma`` to its hue and
    ``1 − chroma`` to its brightness (the maximum). Each share is divided linearly between the two nearest bins. There
    is no threshold between "coloured" and "grey", so a small change of a pixel changes the features only a little.

    Examples
    --------
    >>> red = np.zeros((1, 8, 8, 3), dtype=np.uint8)
    >>> red[..., 0] = 255
    >>> colour_histograms(red, grid=1, hues=3, greys=2).round(2)
    array([[1., 0., 0., 0., 0.]], dtype=float32)
    """
    pictures = np.asarray(pictures)
    if pictures.ndim != 4 or pictures.shape[3] != 3 or pictures.dtype != np.uint8:
        raise InputError(
            "colour_histograms: expected uint8 pictures of shape (n, height, width, 3), "
            f"got {pictures.dtype} of shape {pictures.shape}."
        )
    if grid < 1 or hues < 1 or greys < 2 or grid > min(pictures.shape[1:3], default=0):
        raise ParameterError(
            "colour_histograms: grid must be between 1 and the picture size, hues at least 1, greys at least 2; "
            f"got grid={grid}, hues={hues}, greys={greys} for pictures of shape {pictures.shape[1:3]}."
        )
    n, bins = len(pictures), hues + greys
    features = np.empty((n, grid * grid * bins), dtype=np.float32)
    step = max(1, min(_BLOCK, _BLOCK_PIXELS // max(1, pictures.shape[1] * pictures.shape[2])))
    for start in range(0, n, step):
        block = pictures[start : start + step]
        features[start : start + len(block)] = _block_histograms(block, grid, hues, greys)
    return features


def _block_histograms(pictures: NDArray[np.uint8], grid: int, hues: int, greys: int) -> FloatArray:
    n, height, width, _ = pictures.shape
    rgb = pictures.reshape(-1, 3).astype(np.float32) / 255
    brightness = rgb.max(axis=1)
    chroma = brightness - rgb.min(axis=1)
    bins = hues + greys
    rows, columns = np.arange(height) * grid // height, np.arange(width) * grid // width
    cell = np.add.outer(np.arange(n) * grid * grid, np.add.outer(rows * grid, columns).ravel()).ravel() * bins
    total = n * grid * grid * bins
    histogram = np.zeros(total)

    place = _hue(rgb, brightness, chroma) * hues
    before = np.floor(place)
    share = place - before
    first = before.astype(np.int64) % hues
    histogram += np.bincount(cell + first, weights=chroma * (1 - share), minlength=total)
    histogram += np.bincount(cell + (first + 1) % hues, weights=chroma * share, minlength=total)

    place = brightness * np.float32(greys - 1)
    first = np.minimum(place.astype(np.int64), greys - 2)
    share = place - first
    for step, part in ((0, 1 - share), (1, share)):
        where = cell + hues + first + step
        histogram += np.bincount(where, weights=(1 - chroma) * part, minlength=total)

    shares = histogram.reshape(n, grid * grid, bins)
    shares /= shares.sum(axis=2, keepdims=True)
    roots: FloatArray = np.sqrt(shares).reshape(n, -1).astype(np.float32)
    return roots


def _hue(rgb: FloatArray, brightness: FloatArray, chroma: FloatArray) -> FloatArray:
    """Return the hue in [0, 1): 0 for red, 1/3 for green, 2/3 for blue, and 0 for a pixel without colour."""
    red, green, blue = rgb.T
    safe = np.where(chroma > 0, chroma, 1)
    sixths = np.select(
        [brightness == red, brightness == green],
        [(green - blue) / safe, 2 + (blue - red) / safe],
        4 + (red - green) / safe,
    )
    hue: FloatArray = np.where(chroma > 0, sixths / 6 % 1, 0)
    return hue
