"""The built-in featurizers, by their kind in model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from .base import Featurizer
from .drawing_features import DrawingFeatures
from .hog_features import HogFeatures
from .picture_features import PictureFeatures
from .text_features import TfidfFeatures

__all__ = ["BUILT_IN", "featurizer_from_state", "is_built_in"]

#: Only these classes are ever created from a file.
BUILT_IN: dict[
    str, type[DrawingFeatures] | type[HogFeatures] | type[PictureFeatures] | type[TfidfFeatures]
] = {c.kind: c for c in (DrawingFeatures, HogFeatures, PictureFeatures, TfidfFeatures)}


def is_built_in(featurizer: Featurizer) -> bool:
    """Tell whether a model file alone is enough to create this featurizer again."""
    return type(featurizer) is BUILT_IN.get(featurizer.kind)


def featurizer_from_state(
    kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Featurizer:
    """Create a built-in featurizer from its state; ``kind`` must be one of :data:`BUILT_IN`.

    Examples
    --------
    >>> text = TfidfFeatures().fit(["white star", "black star"])
    >>> featurizer_from_state(text.kind, *text.state()).words_
    ['black', 'star', 'white']
    """
    return BUILT_IN[kind].from_state(parameters, arrays)
