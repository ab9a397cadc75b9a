"""Drawings by hand as one more modality of the symbols, and what unseen symbols say about all modalities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...datasets import Symbols
from ...datasets.glyphs import draw, font_path
from ...featurizers import DrawingFeatures
from ...hashers.base import BaseHasher
from ...pairs import Pairs
from ...types import FloatArray, IntArray
from .imitated_hand import drawn_by_hand

__all__ = ["DRAWING", "Drawings", "learn_drawings"]

#: Name of the modality.
DRAWING = "drawing"
#: Symbols that the hand is learned from. More make no difference on held-out drawings, and take longer.
_LEARNED = 1500


@dataclass(frozen=True)
class Drawings:
    """What was learned about drawings.

    Attributes
    ----------
    hasher : BaseHasher
        With the modality "drawing", featurizers, and a calibration.
    features : array of shape (n, n_features)
        Of the printed symbols, as drawings.
    """

    hasher: BaseHasher
    features: FloatArray


def learn_drawings(hasher: BaseHasher, symbols: Symbols, train: IntArray, test: IntArray) -> Drawings:
    """Learn from imitated drawings of some training symbols, and calibrate with the unseen symbols.

    Printed symbols become drawings, too: centred, scaled and with lines of one thickness. So a drawing finds them
    whatever its size is.
    """
    featurizer = DrawingFeatures()
    lines = featurizer.lines(draw(symbols.characters, font_path("DejaVuSans"), featurizer.resolution))
    features = featurizer.of_lines([featurizer.redraw(each) for each in lines])
    rng = np.random.default_rng(0)
    known = np.array([each is not None for each in lines])
    learned = np.sort(rng.permutation(train[known[train]])[:_LEARNED])
    by_hand = drawn_by_hand(featurizer, [lines[row] for row in learned], rng)
    # Rows of these views are characters.
    views = {"image": symbols.views["image"][learned], DRAWING: by_hand}
    extended = hasher.extend(views, Pairs.from_ids({"image": learned, DRAWING: learned}), modality=DRAWING)
    unseen, ids = symbols.take(test)
    shown = test[known[test]]
    again = drawn_by_hand(featurizer, [lines[row] for row in shown], rng)
    # Each unseen symbol twice, printed and by hand: how near drawings of one symbol are is counted as well.
    unseen[DRAWING], ids[DRAWING] = np.vstack([features[test], again]), np.concatenate([test, shown])
    extended.calibrate(unseen, Pairs.from_ids(ids), unseen=True)
    # A picture that is a query counts as a drawing in Sans, so the other face needs no featurizer.
    extended.set_featurizers(
        {"image": symbols.image_featurizer, "text": symbols.text_featurizer, DRAWING: featurizer}
    )
    return Drawings(extended, features)
