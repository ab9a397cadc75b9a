"""``PictureFeatures``: oriented gradients, colours and a thumbnail, for photographs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimator_parameters import ParametersMixin
from ..types import FloatArray
from ..validation import check_count, check_number
from .base import State, check_state_names
from .colour_features import colour_histograms
from .grey_features import hog, thumbnails, unit_rows
from .hog_features import LARGEST_SIDE, MOST_ORIENTATIONS
from .picture_reading import read_pictures

__all__ = ["PictureFeatures"]

_COUNTS = ("size", "cells", "orientations", "colour_grid", "hues", "greys", "thumbnail")
_WEIGHTS = ("colour_weight", "thumbnail_weight")
# Weights of red, green and blue in the brightness (ITU-R BT.601, as in Pillow).
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)


class PictureFeatures(ParametersMixin):
    """Turns pictures of any size into oriented gradients, colours and a colour thumbnail.

    Parameters
    ----------
    size : int
        Every picture is first resized to ``size × size``.
    cells, orientations : int
        Grid and number of directions for the gradients, see :func:`hog`.
    colour_grid, hues, greys : int
        Grid and number of bins for the colours, see :func:`colour_histograms`.
    thumbnail : int
        Side of the thumbnail in pixels; 0 for no thumbnail.
    colour_weight, thumbnail_weight : float
        Lengths of the colour part and the thumbnail part; the gradient part has length 1.

    Attributes
    ----------
    n_features : int
        Number of features. It depends on the parameters only; nothing is learned from pictures.

    Notes
    -----
    These are simple features from before neural networks. They describe shapes, textures and colours, not
    the objects in the picture. If you have a trained image model, use its vectors as features: they are
    better. Reading pictures needs Pillow: ``pip install 'diffhash[pictures]'``.

    Examples
    --------
    >>> photographs = [np.zeros((30, 40, 3), dtype=np.uint8), np.full((64, 48), 200, dtype=np.uint8)]
    >>> features = PictureFeatures()
    >>> features.transform(photographs).shape == (2, features.n_features)
    True
    """

    kind: ClassVar[str] = "picture"
    takes: ClassVar[str] = "pictures"

    def __init__(
        self,
        *,
        size: int = 64,
        cells: int = 8,
        orientations: int = 9,
        colour_grid: int = 4,
        hues: int = 12,
        greys: int = 4,
        thumbnail: int = 8,
        colour_weight: float = 1.0,
        thumbnail_weight: float = 1.0,
    ) -> None:
        self.size = size
        self.cells = cells
        self.orientations = orientations
        self.colour_grid = colour_grid
        self.hues = hues
        self.greys = greys
        self.thumbnail = thumbnail
        self.colour_weight = colour_weight
        self.thumbnail_weight = thumbnail_weight

    @property
    def n_features(self) -> int:
        """Number of features."""
        gradients = (self.cells - 1) ** 2 * 4 * self.orientations
        return int(gradients + self.colour_grid**2 * (self.hues + self.greys) + 3 * self.thumbnail**2)

    def fit(self, pictures: Any = None, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Check the parameters. Nothing is learned."""
        self._check()
        return self

    def transform(self, pictures: Any) -> FloatArray:
        """Turn pictures into float32 features of shape (n, n_features).

        Parameters
        ----------
        pictures : list of paths, Pillow images or uint8 arrays; or a batch in one uint8 array
            Pictures may differ in size and may be grey or coloured; see :func:`diffhash.featurizers.read_pictures`.

        Raises
        ------
        InputError
            If a file does not exist or cannot be read; the message names it.
        MissingExtraError
            If Pillow is not installed.
        """
        self._check()
        caller = "PictureFeatures.transform"
        return self._features(read_pictures(pictures, size=self.size, mode="RGB", caller=caller))

    def transform_blocks(self, blocks: Iterable[Any]) -> FloatArray:
        """Turn blocks of pictures into features; only one block is in memory at a time.

        Parameters
        ----------
        blocks : iterable
            Each block has a form that :meth:`transform` accepts.
        """
        return np.concatenate([np.empty((0, self.n_features), np.float32), *map(self.transform, blocks)])

    def fit_transform(self, pictures: Any, y: object = None) -> FloatArray:
        """Fit, then transform the same pictures."""
        return self.fit(pictures, y).transform(pictures)

    def state(self) -> State:
        """Return the parameters; there are no arrays."""
        return self.get_params(), {}

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Create a featurizer from its parameters, after checking each of them."""
        check_state_names(cls.kind, parameters, arrays, (*_COUNTS, *_WEIGHTS))
        made = cls(**parameters)
        made._check(caller="load: PictureFeatures")
        return made

    def _features(self, pictures: NDArray[np.uint8]) -> FloatArray:
        grey = pictures.astype(np.float32) @ _GREY
        parts = [
            unit_rows(hog(grey, cells=self.cells, orientations=self.orientations)),
            np.float32(self.colour_weight)
            * unit_rows(colour_histograms(pictures, grid=self.colour_grid, hues=self.hues, greys=self.greys)),
        ]
        if self.thumbnail:
            channels = [thumbnails(pictures[..., channel], side=self.thumbnail) for channel in range(3)]
            small = np.hstack(channels)
            small -= small.mean(axis=1, keepdims=True)
            parts.append(np.float32(self.thumbnail_weight) * unit_rows(small))
        return np.hstack(parts)

    def _check(self, caller: str = "PictureFeatures") -> None:
        for name in _COUNTS:
            minimum = {"cells": 2, "greys": 2, "thumbnail": 0, "size": 8}.get(name, 1)
            check_count(getattr(self, name), name, caller=caller, minimum=minimum)
        check_number(self.orientations, "orientations", caller=caller, high=MOST_ORIENTATIONS)
        for name in _WEIGHTS:
            check_number(getattr(self, name), name, caller=caller, high=1e6)
        if self.size > LARGEST_SIDE or max(self.cells, self.colour_grid, self.thumbnail) > self.size:
            raise ParameterError(
                f"{caller}: size must be at most {LARGEST_SIDE}, and every grid at most size; got size={self.size}, "
                f"cells={self.cells}, colour_grid={self.colour_grid}, thumbnail={self.thumbnail}."
            )
