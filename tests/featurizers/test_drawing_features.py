"""Drawings and printed symbols made alike: size, place, thickness and polarity do not matter, and shape does."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.errors import ParameterError
from diffhash.featurizers import DrawingFeatures
from diffhash.featurizers.pen_lines import draw_lines, find_lines
from diffhash.featurizers.strokes import draw_strokes

CROSS = [np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])]
SQUARE = [np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])]


def picture(strokes, extent=0.8, thickness=0.06, up=0.0):
    return draw_strokes(strokes, size=96, extent=extent, thickness=thickness, up=up)


def similarity(*pictures):
    one, other = DrawingFeatures().transform(list(pictures))
    return float(one @ other) / float(np.linalg.norm(one) * np.linalg.norm(other))


@pytest.mark.parametrize(
    "other",
    [
        picture(CROSS, extent=0.4),
        picture(CROSS, thickness=0.09),
        picture(CROSS, extent=0.5, up=0.2),
        255 - picture(CROSS),
    ],
    ids=["smaller", "thicker", "elsewhere", "dark on bright"],
)
def test_a_drawing_stays_the_same(other):
    assert similarity(picture(CROSS), other) > 0.9
    assert similarity(picture(SQUARE), other) < 0.5


def test_solid_parts_stay_solid():
    disc = np.hypot(*np.indices((96, 96)) - 47.5) < 30
    lines = find_lines(np.where(disc, 255, 0).astype(np.uint8), pen=5.0)
    drawn = draw_lines(lines, size=32, extent=0.85, thickness=0.07)

    assert drawn[16, 16] == 255
    assert (drawn > 127).mean() == pytest.approx(np.pi / 4 * 0.85**2, abs=0.05)


def test_a_turned_drawing_is_turned():
    lines = find_lines(picture([np.array([[0.0, 0.0], [1.0, 0.0]])]), pen=5.0)
    turned = draw_lines(lines, size=32, extent=0.85, thickness=0.07, turn=np.array([[0.0, -1.0], [1.0, 0.0]]))

    assert (turned > 127).any(axis=1).sum() > 24
    assert (turned > 127).any(axis=0).sum() <= 4


def test_a_blank_picture_has_no_features():
    assert not DrawingFeatures().transform(np.zeros((1, 20, 30), dtype=np.uint8)).any()
    assert DrawingFeatures().transform([]).shape == (0, DrawingFeatures().n_features)


@pytest.mark.parametrize(
    "wrong", [{"pen": 0.0}, {"thickness": 0.9}, {"extent": 2.0}, {"size": 4}, {"cells": 40}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        DrawingFeatures(**wrong).fit()
