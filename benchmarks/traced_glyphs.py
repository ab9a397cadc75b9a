"""Drawings as a person could make them: the lines of a glyph, followed with an unsteady pen.

Thin parts of a glyph are drawn along their middle. Solid parts are drawn along their outline, and hatched. Then the
drawing is turned, scaled, moved and shaken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from contourpy import contour_generator
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

EM = 96
#: A part of a glyph is solid if a disc of this radius fits into it; a stem of the font has about 0.045.
SOLID = 0.075
#: Branches of the middle lines that are shorter than this come from corners, and are left out.
SPUR = 0.06
_AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


@dataclass(frozen=True)
class Hand:
    """How unsteady the hand is. Lengths are in ems.

    ``pen`` is the width of the pen: outlines of solid parts are half of it inside, and hatches are so far apart.
    """

    pen: tuple[float, float] = (0.03, 0.09)
    jitter: float = 0.015
    turn: float = 10.0
    scale: tuple[float, float] = (0.6, 1.6)
    aspect: float = 0.1


def glyph_mask(character, path):
    """Where a glyph has ink, at EM pixels per em."""
    font = ImageFont.truetype(str(path), EM, layout_engine=ImageFont.Layout.BASIC)
    plane = Image.new("L", (4 * EM, 3 * EM))
    ImageDraw.Draw(plane).text((3 * EM // 2, EM // 2), character, fill=255, font=font)
    box = plane.getbbox()
    return np.pad(np.asarray(plane.crop(box)) > 127, 3)


def trace(character, path, rng, hand=None):
    """Strokes of a drawing of a character: arrays of shape (n, 2), x to the right and y down, in ems."""
    hand = hand or Hand()
    pen = rng.uniform(*hand.pen)
    mask = glyph_mask(character, path)
    depth = ndimage.distance_transform_edt(mask)
    deep = depth > SOLID * EM
    solid = (ndimage.distance_transform_edt(~deep) <= SOLID * EM + 1) & mask if deep.any() else deep
    lines = middle_lines(mask & ~solid)
    if solid.any():
        lines += _filled(solid, pen * EM)
    if not lines:  # a dot smaller than the pen
        lines = [np.argwhere(mask).mean(axis=0)[None]]
    return shake([line[:, ::-1] / EM for line in lines], rng, hand)


def shake(strokes, rng, hand):
    """The strokes as an unsteady hand draws them, somewhere on the paper."""
    angle = np.radians(rng.uniform(-hand.turn, hand.turn))
    scale = np.exp(rng.uniform(*np.log(hand.scale)))
    stretch = np.exp(rng.uniform(-hand.aspect, hand.aspect) * np.array([1, -1]))
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * stretch * scale
    shift = rng.uniform(-0.5, 0.5, 2)
    shaken = []
    for stroke in strokes:
        # Neighbouring points err together; each stroke as a whole is a little off, too.
        noise = ndimage.gaussian_filter1d(rng.normal(size=(len(stroke) + 8, 2)), 2.0, axis=0)[4:-4]
        noise *= hand.jitter * 2.5
        shaken.append((stroke + noise + rng.normal(scale=hand.jitter, size=2)) @ turned.T + shift)
    return shaken


def _filled(solid, pen):
    """Outlines half a pen inside of solid parts, and hatches as far apart as the pen is wide."""
    depth = ndimage.distance_transform_edt(solid)
    lines = [line[::3, ::-1] for line in contour_generator(z=depth).lines(min(pen / 2, depth.max() / 2))]
    inside = depth > pen / 2
    for row in np.arange(pen, len(solid), pen).astype(int):
        labels, count = ndimage.label(inside[row])
        for number in range(1, count + 1):
            columns = np.flatnonzero(labels == number)
            lines.append(np.array([[row, column] for column in np.linspace(columns[0], columns[-1], 6)]))
    return [line for line in lines if len(line)]


def thinned(mask):
    """The middle lines of a mask, one pixel wide (Zhang and Suen, "A fast parallel algorithm for thinning", 1984)."""
    mask = np.pad(mask, 1).astype(np.uint8)
    while True:
        removed = 0
        for step in range(2):
            p = [np.roll(mask, (-dy, -dx), (0, 1)) for dy, dx in _AROUND]
            count = sum(each.astype(int) for each in p)
            turns = sum((p[i] == 0) & (p[(i + 1) % 8] == 1) for i in range(8))
            if step == 0:
                open_side = (p[0] * p[2] * p[4] == 0) & (p[2] * p[4] * p[6] == 0)
            else:
                open_side = (p[0] * p[2] * p[6] == 0) & (p[0] * p[4] * p[6] == 0)
            gone = (mask == 1) & (count >= 2) & (count <= 6) & (turns == 1) & open_side
            mask[gone] = 0
            removed += int(gone.sum())
        if not removed:
            return mask[1:-1, 1:-1].astype(bool)


def middle_lines(mask):
    """The middle lines of a mask as chains of points (row, column)."""
    if not mask.any():
        return []
    pixels = set(map(tuple, np.argwhere(thinned(mask))))

    def near(pixel):
        return [(pixel[0] + y, pixel[1] + x) for y, x in _AROUND if (pixel[0] + y, pixel[1] + x) in pixels]

    ends = {pixel for pixel in pixels if len(near(pixel)) != 2}
    left, chains = set(pixels), []
    for start in [*sorted(ends), *sorted(pixels)]:
        for first in near(start) or [start]:
            if first not in left and not (first in ends and start in ends):
                continue
            if start not in ends and start not in left:
                continue
            chain, here = [start], first
            while True:
                chain.append(here)
                left.discard(here)
                after = [other for other in near(here) if other in left and other not in chain[-3:]]
                if here in ends or not after:
                    break
                here = after[0]
            left.discard(start)
            loose_ends = sum(len(near(pixel)) <= 1 for pixel in (chain[0], chain[-1]))
            if len(chain) >= SPUR * EM or loose_ends != 1:
                chains.append(np.array([*chain[:-1:4], chain[-1]], dtype=float))
    return chains
