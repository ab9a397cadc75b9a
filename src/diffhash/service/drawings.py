"""Searching with a drawing: strokes of a pen become pictures like those that were learned from.

A model that has learned drawings (:class:`~diffhash.featurizers.DrawingFeatures`) gets one picture, which it
centres and scales. Other models have only seen pictures. How large a symbol is there, and how thick its lines are, is
not known. So a drawing is tried in several sizes, and each object keeps the best place that it has in one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..featurizers import DrawingFeatures
from ..featurizers.strokes import draw_strokes
from ..stores import Hit
from ..types import CodeArray, FloatArray
from .asking import Answer, check_text_modality
from .requests import SearchRequest

__all__ = ["ask_drawing", "drawing_modality", "drawing_pictures", "merge_hits"]

#: The longer side of the drawing and the thickness of its lines, as shares of the picture.
_EXTENT, _THICKNESS = 0.8, 0.06
_EXTENTS, _THICKNESSES = (0.6, 0.75, 0.9), (0.05, 0.08)
#: Symbols of a font are a little above the centre of the line.
_UP = 0.04
#: Side of a picture for featurizers that resize.
_SIDE = 64


def drawing_modality(store: Any, modality: str | None) -> str:
    """The modality of a drawing: the one that is asked for, or one that was learned from drawings, or pictures."""
    if modality is None:
        for name, featurizer in store.model.featurizers.items():
            if featurizer.kind == DrawingFeatures.kind:
                return str(name)
    return check_text_modality(store, modality, words=False)


def drawing_pictures(featurizer: Any, strokes: Sequence[FloatArray]) -> list[NDArray[np.uint8]]:
    """The drawing as pictures for a featurizer; in several sizes, unless it was made for drawings.

    Pictures of symbols are white on black in some collections and black on white in others, so both are tried there.
    Photographs of drawings are black on white.
    """
    if featurizer.kind == DrawingFeatures.kind:
        side = DrawingFeatures.resolution
        return [draw_strokes(strokes, size=side, extent=_EXTENT, thickness=_THICKNESS)]
    symbols = featurizer.kind == "hog"
    size = int(featurizer.size) if symbols else _SIDE
    light = [
        draw_strokes(strokes, size=size, extent=extent, thickness=thickness, up=_UP if symbols else 0.0)
        for extent in _EXTENTS
        for thickness in _THICKNESSES
    ]
    dark = [np.subtract(255, picture) for picture in light]
    return [*light, *dark] if symbols else [np.repeat(each[..., None], 3, axis=2) for each in dark]


def ask_drawing(
    store: Any, options: SearchRequest, strokes: Sequence[FloatArray], k: int
) -> tuple[Answer, str, CodeArray | None]:
    """Search with a drawing. Returns the answer, the modality, and the code of the picture that found the best hit."""
    name = drawing_modality(store, options.modality)
    pictures = drawing_pictures(store.model.featurizers[name], strokes)
    found = store.search_raw(
        pictures,
        modality=name,
        into=options.into,
        k=k,
        where=options.where,
        radius=options.radius,
        max_false_matches=options.max_false_matches,
        expected_matches=options.expected_matches,
        # Results of several pictures are merged by distance.
        rank=options.rank if len(pictures) == 1 else "hamming",
    )
    hits = merge_hits(found)[:k] if len(pictures) > 1 else list(found[0])
    if not hits:
        return Answer(hits), name, None
    best = next(number for number, each in enumerate(found) if hits[0] in each)
    return Answer(hits), name, store.model.encode_raw([pictures[best]], modality=name)[0]


def merge_hits(found: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Hits of several queries as one list: each object at its smallest distance.

    Examples
    --------
    >>> merged = merge_hits([[Hit("a", 3, {}, "image"), Hit("b", 5, {}, "image")], [Hit("b", 1, {}, "image")]])
    >>> [(hit.id, hit.distance) for hit in merged]
    [('b', 1), ('a', 3)]
    """
    best: dict[tuple[Any, str], Hit] = {}
    for hits in found:
        for hit in hits:
            known = best.get((hit.id, hit.modality))
            if known is None or (hit.distance or 0) < (known.distance or 0):
                best[hit.id, hit.modality] = hit
    return sorted(best.values(), key=lambda hit: hit.distance or 0)
