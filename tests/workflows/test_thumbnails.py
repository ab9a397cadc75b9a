"""Thumbnails show what the features saw."""

from __future__ import annotations

import base64
import io

import numpy as np
import PIL.Image
import pytest

from diffhash.workflows.picture_reader import is_thumbnail, thumbnail


def pixels(path):
    address = thumbnail(path)
    assert is_thumbnail(address)
    with PIL.Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_a_turned_photograph_stands_upright(tmp_path):
    """Orientation 6: the camera was held upright, the left side of the stored rows is the top."""
    stored = np.zeros((40, 80, 3), dtype=np.uint8)
    stored[:, :40] = 255
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    PIL.Image.fromarray(stored).save(tmp_path / "a.jpg", exif=exif, quality=95)

    shown = pixels(tmp_path / "a.jpg")

    assert shown.shape == (80, 40, 3)
    assert shown[:35].min() > 200
    assert shown[45:].max() < 50


def test_sixteen_bits_of_grey_are_shown_as_grey(tmp_path):
    PIL.Image.fromarray(np.full((20, 20), 128 * 256, dtype=np.uint16)).save(tmp_path / "a.png")

    assert abs(pixels(tmp_path / "a.png") - 128).max() <= 2


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode, tmp_path):
    options = {"transparency": 0} if mode == "P" else {}
    PIL.Image.new("RGBA", (20, 20), (0, 0, 0, 0)).convert(mode).save(tmp_path / "a.png", **options)

    assert pixels(tmp_path / "a.png").min() > 250
