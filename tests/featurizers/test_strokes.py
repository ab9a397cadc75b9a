"""Strokes become pictures that do not depend on where and how large they were drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.errors import InputError
from diffhash.featurizers.strokes import draw_strokes, read_strokes

points = st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999)), min_size=1, max_size=20)


@given(st.lists(points, min_size=1, max_size=5))
def test_strokes_come_back_from_an_address(strokes):
    text = "_".join("-".join(f"{x}.{y}" for x, y in stroke) for stroke in strokes)
    assert [stroke.tolist() for stroke in read_strokes(text)] == [
        list(map(list, stroke)) for stroke in strokes
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.",
        "1.2-",
        "1.2_",
        "-1.2",
        "1.2.3",
        "1000.1",
        "1e2.3",
        "²3.1",
        "1.2;3.4",
        "1.2-" * 9000 + "1.2",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(InputError, match="drawing"):
        read_strokes(text)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.2, 300.0), (3.0, -5.0)])
def test_place_and_size_have_no_effect(scale, shift):
    cross = [np.array([[0, 0], [90, 90]]), np.array([[0, 90], [90, 0]])]
    drawn = draw_strokes(cross, size=32, extent=0.8, thickness=0.07)
    moved = draw_strokes([stroke * scale + shift for stroke in cross], size=32, extent=0.8, thickness=0.07)
    assert np.abs(drawn.astype(int) - moved).max() <= 1
    rows = np.flatnonzero(drawn.max(axis=1) > 127)
    assert len(rows) == pytest.approx(0.8 * 32, abs=1.5)
    assert (drawn == drawn[::-1]).all()


def test_thickness_is_that_of_the_lines():
    line = [np.array([[0, 0], [100, 0]])]
    for thickness in (0.05, 0.1, 0.2):
        drawn = draw_strokes(line, size=100, extent=0.8, thickness=thickness)
        assert drawn[:, 50].sum() / 255 == pytest.approx(100 * thickness, abs=0.6)


def test_a_dot_is_a_dot():
    drawn = draw_strokes([np.array([[5.0, 5.0]])], size=32, extent=0.8, thickness=0.1)
    assert 4 < drawn.sum() / 255 < 14
