"""``HogFeatures``: oriented gradients and a thumbnail, for small grey drawings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..estimator_parameters import ParametersMixin
from ..types import FloatArray
from ..validation import check_count, check_flag, check_number
from .base import State, check_state_names
from .grey_features import hog, thumbnails, unit_rows
from .picture_reading import read_pictures

__all__ = ["HogFeatures"]

_NAMES = ("cells", "orientations", "block", "signed", "thumbnail", "thumbnail_weight", "size")
#: Largest side that pictures are resized to; a larger value in a file is refused.
LARGEST_SIDE = 1024
#: The same for the number of directions: every pixel takes memory for each of them.
MOST_ORIENTATIONS = 64


class HogFeatures(ParametersMixin):
    """Turns grey pictures into oriented gradients and a thumbnail, in one feature array.

    Parameters
    ----------
    cells, orientations, block, signed
        See :func:`hog`.
    thumbnail : int
        Side of the thumbnail in pixels; 0 for no thumbnail.
    thumbnail_weight : float
        Length of the thumbnail part; the gradient part has length 1.
    size : int
        Pictures given as a list are resized to ``size × size``. Grey pictures in one array are not
        resized.

    Attributes
    ----------
    n_features : int
        Number of features. It depends on the parameters only; nothing is learned from pictures.

    Notes
    -----
    Both parts are scaled to a fixed length for each picture. The mean of the thumbnail is subtracted
    first, so brightness and contrast have no effect. For photographs use
    :class:`PictureFeatures`, which includes colours.

    Examples
    --------
    >>> pictures = np.random.default_rng(0).random((3, 32, 32))
    >>> HogFeatures().fit(pictures).transform(pictures).shape
    (3, 1828)
    """

    kind: ClassVar[str] = "hog"
    takes: ClassVar[str] = "pictures"

    def __init__(
        self,
        *,
        cells: int = 8,
        orientations: int = 9,
        block: int = 2,
        signed: bool = False,
        thumbnail: int = 8,
        thumbnail_weight: float = 1.0,
        size: int = 32,
    ) -> None:
        self.cells = cells
        self.orientations = orientations
        self.block = block
        self.signed = signed
        self.thumbnail = thumbnail
        self.thumbnail_weight = thumbnail_weight
        self.size = size

    @property
    def n_features(self) -> int:
        """Number of features."""
        blocks = (self.cells - self.block + 1) ** 2
        return int(blocks * self.block**2 * self.orientations + self.thumbnail**2)

    @property
    def n_features_out_(self) -> int:
        """Number of features, under the name that scikit-learn uses."""
        return self.n_features

    def fit(self, pictures: Any, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Check the parameters and the first picture. Nothing is learned."""
        self.transform(pictures[:1])
        return self

    def transform(self, pictures: Any) -> FloatArray:
        """Turn pictures into float32 features of shape (n, n_features).

        Parameters
        ----------
        pictures : array of shape (n, height, width), or list of paths, Pillow images or uint8 arrays
            Pictures of a list are converted to grey and resized to ``size × size``.
        """
        if not isinstance(pictures, np.ndarray) or pictures.ndim == 4:
            pictures = read_pictures(pictures, size=self.size, mode="L", caller="HogFeatures.transform")
        gradients = hog(
            pictures,
            cells=self.cells,
            orientations=self.orientations,
            block=self.block,
            signed=self.signed,
        )
        if self.thumbnail == 0:
            return unit_rows(gradients)
        small = thumbnails(pictures, side=self.thumbnail)
        small -= small.mean(axis=1, keepdims=True)
        return np.hstack([unit_rows(gradients), np.float32(self.thumbnail_weight) * unit_rows(small)])

    def fit_transform(self, pictures: Any, y: object = None) -> FloatArray:
        """Fit, then transform the same pictures."""
        return self.fit(pictures, y).transform(pictures)

    def state(self) -> State:
        """Return the parameters; there are no arrays."""
        return self.get_params(), {}

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Create a featurizer from its parameters, after checking each of them."""
        check_state_names(cls.kind, parameters, arrays, _NAMES)
        caller = "load: HogFeatures"
        made = cls(**parameters)
        for name, minimum in (("cells", 1), ("orientations", 1), ("block", 1), ("thumbnail", 0), ("size", 2)):
            check_count(getattr(made, name), name, caller=caller, minimum=minimum)
        check_number(made.block, "block", caller=caller, low=1, high=made.cells)
        check_number(made.size, "size", caller=caller, low=2, high=LARGEST_SIDE)
        check_number(made.orientations, "orientations", caller=caller, high=MOST_ORIENTATIONS)
        check_number(made.thumbnail_weight, "thumbnail_weight", caller=caller, high=1e6)
        check_flag(made.signed, "signed", caller=caller)
        return made
