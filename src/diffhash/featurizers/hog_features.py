"""Features of small grey drawings: oriented gradients and a thumbnail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray
from ..validation import check_count, check_flag, check_number
from .base import State, expect_state
from .grey_features import hog, thumbnails, unit_rows
from .parameters import ParametersMixin
from .reading import read_pictures

__all__ = ["HogFeatures"]

_NAMES = ("cells", "orientations", "block", "signed", "thumbnail", "thumbnail_weight", "size")
#: No picture is resized to a larger side than this, whatever a file says.
LARGEST_SIDE = 1024


class HogFeatures(ParametersMixin):
    """Oriented gradients and a thumbnail of grey pictures, as one feature array.

    Parameters
    ----------
    cells, orientations, block, signed
        See :func:`hog`.
    thumbnail : int
        Side of the thumbnail; 0 for none.
    thumbnail_weight : float
        Length of the thumbnail's part; that of the gradients' part is 1.
    size : int
        Side of the square that pictures of a list are brought to. A batch of grey
        pictures in one array is taken as it is.

    Attributes
    ----------
    n_features : int
        Number of features, which the parameters alone decide. Nothing is learned from the pictures.

    Notes
    -----
    Both parts are scaled to a fixed length per picture. The thumbnail's mean is removed
    first, so that neither brightness nor contrast counts. For photographs there is
    :class:`PictureFeatures`, which sees colours.

    Examples
    --------
    >>> pictures = np.random.default_rng(0).random((3, 32, 32))
    >>> HogFeatures().fit(pictures).transform(pictures).shape
    (3, 1828)
    """

    kind: ClassVar[str] = "hog"

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
        """The same, by scikit-learn's name."""
        return self.n_features

    def fit(self, pictures: Any, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Check the parameters and a first picture; nothing depends on the data."""
        self.transform(pictures[:1])
        return self

    def transform(self, pictures: Any) -> FloatArray:
        """Turn pictures into float32 features of shape (n, n_features).

        Parameters
        ----------
        pictures : array of shape (n, height, width), or list of paths, Pillow images or uint8 arrays
            Those of a list become grey and ``size × size``.
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
        """Parameters; there are no arrays."""
        return self.get_params(), {}

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make one from its parameters, each checked."""
        expect_state(cls.kind, parameters, arrays, _NAMES)
        caller = "load: HogFeatures"
        made = cls(**parameters)
        for name, minimum in (("cells", 1), ("orientations", 1), ("block", 1), ("thumbnail", 0), ("size", 2)):
            check_count(getattr(made, name), name, caller=caller, minimum=minimum)
        check_number(made.block, "block", caller=caller, low=1, high=made.cells)
        check_number(made.size, "size", caller=caller, low=2, high=LARGEST_SIDE)
        check_number(made.thumbnail_weight, "thumbnail_weight", caller=caller, high=1e6)
        check_flag(made.signed, "signed", caller=caller)
        return made
