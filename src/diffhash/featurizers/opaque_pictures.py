"""Pictures as their pixels look: upright, opaque, 8 bits in a value. Large ones are reduced at once."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, sqrt
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .png_strips import png_strips, read_png_header

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["LARGE", "can_be_read_in_strips", "opaque_picture"]

#: Pictures with more pixels than this are reduced, by the same whole factor in width and height.
LARGE = 25_000_000
#: Most pixels of a picture that was reduced.
_REDUCED = 4_000_000
#: Pixels in a strip of rows that is converted at a time.
_STRIP = 1 << 18


def opaque_picture(image: PIL.Image.Image) -> PIL.Image.Image:
    """Return the picture with its stored orientation applied, 8 bits per value and white where it was transparent.

    A picture of more than 25 million pixels is reduced to at most 4 million. A PNG file of that size is decoded
    in strips; files of other formats are decoded as a whole.
    """
    import PIL.ExifTags
    import PIL.ImageOps

    if image.width * image.height > LARGE:
        image = _reduced(image)
    image.load()
    if image.getexif().get(PIL.ExifTags.Base.Orientation, 1) != 1:
        image = PIL.ImageOps.exif_transpose(image)
    return _plain(image)


def can_be_read_in_strips(image: PIL.Image.Image) -> bool:
    """Whether a picture was opened, and not yet decoded, from a PNG file whose rows can be decoded one by one."""
    file = _file_of(image)
    if file is None:
        return False
    place = file.tell()
    try:
        return read_png_header(file) is not None
    finally:
        file.seek(place)


def _file_of(image: PIL.Image.Image) -> IO[bytes] | None:
    """The open PNG file that a picture will be decoded from, if there is one."""
    undecoded = image.format == "PNG" and bool(getattr(image, "tile", ()))
    return getattr(image, "fp", None) if undecoded else None


def _reduced(image: PIL.Image.Image) -> PIL.Image.Image:
    """A large picture with at most ``_REDUCED`` pixels; each is the mean of a square of pixels."""
    import PIL.Image

    width, height = image.size
    factor = ceil(sqrt(width * height / _REDUCED))
    n_rows = max(1, _STRIP // width // factor) * factor
    file = _file_of(image)
    if file is not None and can_be_read_in_strips(image):
        header = read_png_header(file)
        assert header is not None  # it was read a line before
        strips = png_strips(file, header, n_rows)
        exif = b"Exif\0\0" + header.exif if header.exif else b""
    else:
        image.load()
        strips, exif = _strips_of_picture(image, n_rows), image.info.get("exif", b"")
    result, top = None, 0
    for strip in strips:
        small = _reducible(_plain(strip)).reduce(factor)
        if result is None:
            result = PIL.Image.new(small.mode, (small.width, -(-height // factor)))
        result.paste(small, (0, top))
        top += small.height
    assert result is not None  # a picture has at least one row
    if exif:
        result.info["exif"] = exif
    return result


def _strips_of_picture(image: PIL.Image.Image, n_rows: int) -> Iterator[PIL.Image.Image]:
    """Strips of a decoded picture. Grey values without a fixed range are scaled first, by the range of all."""
    if image.mode in ("I", "F"):
        image = _eight_bits(image)
    for top in range(0, image.height, n_rows):
        yield image.crop((0, top, image.width, min(top + n_rows, image.height)))


def _reducible(image: PIL.Image.Image) -> PIL.Image.Image:
    if image.mode == "1":
        return image.convert("L")
    return image if image.mode in ("L", "RGB", "CMYK", "YCbCr") else image.convert("RGB")


def _plain(image: PIL.Image.Image) -> PIL.Image.Image:
    """A picture of 8-bit values without transparency."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _eight_bits(image)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = _on_white(image)
    return image


def _rows(image: PIL.Image.Image) -> Iterator[tuple[int, int]]:
    """First row, and row after the last, of strips that keep the memory of conversions small."""
    n_rows = max(1, _STRIP // image.width)
    return ((top, min(top + n_rows, image.height)) for top in range(0, image.height, n_rows))


def _on_white(image: PIL.Image.Image) -> PIL.Image.Image:
    """A picture without its transparent parts, in colour."""
    import PIL.Image

    result = PIL.Image.new("RGB", image.size)
    for top, bottom in _rows(image):
        strip = image.crop((0, top, image.width, bottom)).convert("RGBA")
        white = PIL.Image.new("RGBA", strip.size, (255, 255, 255, 255))
        result.paste(PIL.Image.alpha_composite(white, strip).convert("RGB"), (0, top))
    return result


def _eight_bits(image: PIL.Image.Image) -> PIL.Image.Image:
    """Scale grey values to 0..255, as Pillow would clip them: 16-bit values by 1/256, others by their range."""
    import PIL.Image

    def strips() -> Iterator[NDArray[np.float64]]:
        for top, bottom in _rows(image):
            yield np.asarray(image.crop((0, top, image.width, bottom)), dtype=np.float64)

    low, high = np.inf, -np.inf
    for values in strips():
        if not np.isfinite(values).all():
            raise ValueError("it has values that are not finite")
        low, high = min(low, values.min()), max(high, values.max())
    sixteen = image.mode.startswith("I;16") or (image.mode == "I" and 255 < max(high, 0) < 65536)
    grey = np.zeros((image.height, image.width), dtype=np.uint8)
    for (top, bottom), values in zip(_rows(image), strips(), strict=True):
        if sixteen:
            grey[top:bottom] = np.clip(values, 0, 65535) / 256
        elif high > low:
            grey[top:bottom] = (values - low) * (255 / (high - low))
    return PIL.Image.fromarray(grey)
