"""Oriented gradients and thumbnails of grey pictures, as functions of arrays.

The functions work on blocks of pictures, without a loop over single pictures. The number of
features depends on the grid of cells and not on the size of the pictures, so pictures of
different sizes can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, NonFiniteError, ParameterError
from ..types import FloatArray

__all__ = ["hog", "thumbnails", "unit_rows"]

# Number of pictures per block: small enough for the intermediate arrays to stay in the cache.
_BLOCK = 64
# Numbers per block; of large pictures fewer are processed at a time.
_BLOCK_NUMBERS = 1 << 22


def hog(
    pictures: NDArray[Any], *, cells: int = 8, orientations: int = 9, block: int = 2, signed: bool = False
) -> FloatArray:
    """Compute a histogram of oriented gradients for each picture.

    Parameters
    ----------
    pictures : array of shape (n, height, width)
        Grey values on any scale; the scale has no effect on the result.
    cells : int
        A picture of any size is divided into ``cells × cells`` cells.
    orientations : int
        Number of bins for the direction of the gradient.
    block : int
        Histograms are normalised over overlapping blocks of ``block × block`` cells.
    signed : bool
        Use directions over the full circle, so that dark-to-light differs from light-to-dark.

    Returns
    -------
    float32 array of shape (n, (cells - block + 1)² · block² · orientations)

    Notes
    -----
    Each pixel adds the length of its gradient (central differences) to the histogram, shared
    linearly between the two nearest directions and the four nearest cells. The vector
    ``v`` of a block is divided by its length, clipped at 0.2 and normalised again ("L2-Hys" of
    Dalal & Triggs, "Histograms of oriented gradients for human detection", CVPR 2005). A block
    without gradients is zero.

    Examples
    --------
    >>> picture = np.zeros((1, 16, 16))
    >>> picture[:, :, 8:] = 1.0
    >>> features = hog(picture, cells=2, orientations=4)
    >>> features.shape
    (1, 16)
    >>> features[0, :4].round(2)  # a vertical edge: half of it in each of the two bins next to 0°
    array([0.35, 0.  , 0.  , 0.35], dtype=float32)
    """
    pictures = _as_pictures(pictures, "hog")
    if cells < 1 or orientations < 1 or not 1 <= block <= cells:
        raise ParameterError(
            "hog: cells and orientations must be at least 1 and block between 1 and cells, "
            f"got cells={cells}, orientations={orientations}, block={block}."
        )
    side = cells - block + 1
    features = np.empty((len(pictures), side * side * block * block * orientations), dtype=np.float32)
    for rows in _blocks(pictures, orientations):
        votes = _votes(pictures[rows].astype(np.float32), cells, orientations, signed)
        features[rows] = _normalised_blocks(votes, block)
    return features


def thumbnails(pictures: NDArray[Any], *, side: int = 8) -> FloatArray:
    """Reduce each picture to ``side × side`` means over equal areas.

    Parameters
    ----------
    pictures : array of shape (n, height, width)
    side : int
        A pixel on the border of two areas counts for both, in proportion.

    Returns
    -------
    float32 array of shape (n, side · side)

    Examples
    --------
    >>> thumbnails(np.arange(16.0).reshape(1, 4, 4), side=2)
    array([[ 2.5,  4.5, 10.5, 12.5]], dtype=float32)
    """
    pictures = _as_pictures(pictures, "thumbnails")
    if side < 1:
        raise ParameterError(f"thumbnails: side must be at least 1, got {side}.")
    _, height, width = pictures.shape
    down, across = _area_means(height, side), _area_means(width, side)
    small = np.empty((len(pictures), side, side), dtype=np.float32)
    for rows in _blocks(pictures):
        small[rows] = down @ pictures[rows].astype(np.float32) @ across.T
    return small.reshape(len(pictures), side * side)


def _blocks(pictures: NDArray[Any], numbers_per_pixel: int = 1) -> Iterator[slice]:
    n, height, width = pictures.shape
    step = max(1, min(_BLOCK, _BLOCK_NUMBERS // (height * width * numbers_per_pixel)))
    return (slice(start, start + step) for start in range(0, n, step))


def _as_pictures(pictures: NDArray[Any], caller: str) -> NDArray[Any]:
    pictures = np.asarray(pictures)
    if pictures.ndim != 3 or min(pictures.shape[1:]) < 2:
        raise InputError(
            f"{caller}: expected grey pictures of shape (n, height, width) of at least 2 × 2 pixels, "
            f"got {pictures.shape}. Convert colours to grey; a single picture needs the shape (1, height, width)."
        )
    if pictures.dtype.kind not in "buif":
        raise InputError(f"{caller}: expected numeric pictures, got dtype {pictures.dtype}.")
    if pictures.dtype.kind == "f" and not np.isfinite(pictures).all():
        raise NonFiniteError(
            f"{caller}: expected finite grey values, got NaN or infinity. Replace or remove them."
        )
    return pictures


def _votes(pictures: FloatArray, cells: int, orientations: int, signed: bool) -> FloatArray:
    """Return histograms of shape (n, cells, cells, orientations)."""
    n, height, width = pictures.shape
    dx, dy = np.zeros_like(pictures), np.zeros_like(pictures)
    np.subtract(pictures[:, :, 2:], pictures[:, :, :-2], out=dx[:, :, 1:-1])
    np.subtract(pictures[:, 2:], pictures[:, :-2], out=dy[:, 1:-1])

    # Most pixels of a drawing have no gradient: work only on the others.
    voters = np.flatnonzero((dx != 0) | (dy != 0))
    dx, dy = dx.ravel()[voters], dy.ravel()[voters]
    length = np.hypot(dx, dy)
    turn = 2 * np.pi if signed else np.pi
    angle = np.arctan2(dy, dx) * np.float32(orientations / turn) - np.float32(0.5)
    before = np.floor(angle)
    later = angle - before
    first = before.astype(np.int64) % orientations
    # A pixel contributes to two different bins, so plain assignment is enough for the first one. Only with
    # one single bin both are the same, hence the += for the second one.
    by_pixel = np.zeros((n * height * width, orientations), dtype=np.float32)
    by_pixel[voters, first] = length * (1 - later)
    by_pixel[voters, (first + 1) % orientations] += length * later

    down, across = _cell_shares(height, cells), _cell_shares(width, cells)
    rows = down @ by_pixel.reshape(n, height, width * orientations)
    columns = across @ rows.reshape(n * cells, width, orientations)
    return columns.reshape(n, cells, cells, orientations)


def _cell_shares(pixels: int, cells: int) -> FloatArray:
    """Return a (cells, pixels) matrix: the share of each pixel that goes to each cell, linear in the distance."""
    position = (np.arange(pixels) + 0.5) * cells / pixels - 0.5
    shares: FloatArray = np.maximum(0, 1 - np.abs(np.arange(cells)[:, None] - position)).astype(np.float32)
    return shares


def _normalised_blocks(votes: FloatArray, block: int) -> FloatArray:
    n, cells, _, orientations = votes.shape
    windows = np.lib.stride_tricks.sliding_window_view(votes, (block, block), axis=(1, 2))
    blocks = np.moveaxis(windows, 3, -1).reshape(n, (cells - block + 1) ** 2, orientations * block * block)
    blocks = np.minimum(unit_rows(blocks), np.float32(0.2))
    return unit_rows(blocks).reshape(n, -1)


def unit_rows(values: FloatArray) -> FloatArray:
    """Scale vectors along the last axis to length 1; zero vectors stay zero."""
    length = np.sqrt(np.einsum("...i,...i->...", values, values))[..., None]
    unit: FloatArray = np.divide(values, length, out=np.zeros_like(values), where=length > 0)
    return unit


def _area_means(pixels: int, side: int) -> FloatArray:
    """Return a (side, pixels) matrix; row ``s`` averages the ``s``-th of ``side`` equal parts."""
    edges = np.arange(side + 1) * pixels / side
    start, stop = np.arange(pixels), np.arange(1, pixels + 1)
    overlap = np.minimum(stop, edges[1:, None]) - np.maximum(start, edges[:-1, None])
    means: FloatArray = (np.maximum(overlap, 0) * side / pixels).astype(np.float32)
    return means
