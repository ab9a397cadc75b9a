"""``DrawingFeatures``: drawings by hand and printed symbols, made alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimator_parameters import ParametersMixin
from ..types import FloatArray
from ..validation import check_count, check_number
from .base import State, check_state_names
from .hog_features import LARGEST_SIDE, MOST_ORIENTATIONS, HogFeatures
from .pen_lines import PenLines, draw_lines, find_lines
from .picture_reading import read_pictures

__all__ = ["DrawingFeatures"]

_NAMES = ("size", "extent", "thickness", "pen", "cells", "orientations", "thumbnail")


class DrawingFeatures(ParametersMixin):
    """Turns pictures of lines into features that do not depend on size, place and thickness of the lines.

    Parameters
    ----------
    size : int
        Side of the picture that is drawn again, in pixels.
    extent, thickness : float
        Longer side of the drawing and thickness of its lines there, as shares of the picture.
    pen : float
        Parts that are thicker than twice this share of the given picture are solid, and stay so.
    cells, orientations, thumbnail : int
        See :class:`HogFeatures`, which computes the features of the picture.

    Attributes
    ----------
    n_features : int
        Number of features. It depends on the parameters only; nothing is learned from pictures.

    Notes
    -----
    Pictures may be bright on dark or dark on bright. A comma and an apostrophe get the same features, and so do a
    small and a large circle: use :class:`HogFeatures` if size and place matter.

    Examples
    --------
    >>> small, large = np.zeros((2, 64, 64), dtype=np.uint8)
    >>> small[20:28, 10:12] = 255
    >>> large[8:56, 36:44] = 255
    >>> one, other = DrawingFeatures().transform([small, large])
    >>> bool(one @ other > 0.9 * (one @ one))
    True
    """

    kind: ClassVar[str] = "drawing"
    takes: ClassVar[str] = "pictures"
    #: Side in pixels of the pictures in which lines are looked for.
    resolution: ClassVar[int] = 96

    def __init__(
        self,
        *,
        size: int = 32,
        extent: float = 0.85,
        thickness: float = 0.07,
        pen: float = 0.05,
        cells: int = 6,
        orientations: int = 9,
        thumbnail: int = 8,
    ) -> None:
        self.size = size
        self.extent = extent
        self.thickness = thickness
        self.pen = pen
        self.cells = cells
        self.orientations = orientations
        self.thumbnail = thumbnail

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._hog.n_features

    @property
    def _hog(self) -> HogFeatures:
        return HogFeatures(
            cells=self.cells, orientations=self.orientations, thumbnail=self.thumbnail, size=self.size
        )

    def fit(self, pictures: Any = None, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Check the parameters. Nothing is learned."""
        self._check("DrawingFeatures")
        return self

    def transform(self, pictures: Any) -> FloatArray:
        """Turn pictures into float32 features of shape (n, n_features).

        Parameters
        ----------
        pictures : list of paths, Pillow images or uint8 arrays; or a batch in one uint8 array
            See :func:`diffhash.featurizers.read_pictures`. A blank picture has features 0.
        """
        self._check("DrawingFeatures")
        return self.of_lines([self.redraw(lines) for lines in self.lines(pictures)])

    def lines(self, pictures: Any) -> list[PenLines | None]:
        """The lines of each picture; None for a blank one."""
        caller = "DrawingFeatures.transform"
        read = read_pictures(pictures, size=self.resolution, mode="L", caller=caller)
        return [find_lines(picture, pen=self.pen * self.resolution) for picture in read]

    def of_lines(self, drawn: list[NDArray[np.uint8]]) -> FloatArray:
        """Features of pictures of ``size × size`` that were drawn along lines."""
        if not drawn:
            return np.empty((0, self.n_features), dtype=np.float32)
        return self._hog.transform(np.stack(drawn))

    def redraw(self, lines: PenLines | None) -> NDArray[np.uint8]:
        """The picture whose features are computed; black without lines."""
        if lines is None:
            return np.zeros((self.size, self.size), dtype=np.uint8)
        return draw_lines(lines, size=self.size, extent=self.extent, thickness=self.thickness)

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
        made = cls(**parameters)
        made._check("load: DrawingFeatures")
        return made

    def _check(self, caller: str) -> None:
        for name, minimum in (("size", 8), ("cells", 2), ("orientations", 1), ("thumbnail", 0)):
            check_count(getattr(self, name), name, caller=caller, minimum=minimum)
        check_number(self.orientations, "orientations", caller=caller, high=MOST_ORIENTATIONS)
        check_number(self.extent, "extent", caller=caller, low=0.1, high=1.0)
        check_number(self.thickness, "thickness", caller=caller, low=0.001, high=0.5)
        check_number(self.pen, "pen", caller=caller, low=0.01, high=0.5)
        if (
            self.thickness >= self.extent
            or self.size > LARGEST_SIDE
            or max(self.cells, self.thumbnail) > self.size
        ):
            raise ParameterError(
                f"{caller}: size must be at most {LARGEST_SIDE}, cells and thumbnail at most size, and thickness below "
                f"extent; got size={self.size}, cells={self.cells}, thumbnail={self.thumbnail}, "
                f"thickness={self.thickness}, extent={self.extent}."
            )
