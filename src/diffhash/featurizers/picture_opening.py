"""Open picture files of a size that can be decoded in little memory.

- A JPEG file is decoded at up to an eighth of its width and height.
- A PNG file of more than 25 million pixels is decoded in strips, which are reduced at once. Interlaced files,
  and colours of 16 bits, are not.
- A JPEG 2000 file of that size is decoded at a lower resolution.
- All others are decoded as a whole, and then reduced. They may take 400 MB, and 40 bytes more for each byte
  of the file: a few kilobytes can describe a picture of gigabytes.
- No picture may have more than 175 million pixels, or more than a million in a row or a column.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import DiffhashError, InputFileError
from ..input_files import check_regular_file
from .opaque_pictures import LARGE, can_be_read_in_strips

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["open_picture", "picture_size", "short_reason"]

#: Formats that are decoded, whatever the name of the file says. Pillow would start other programs for some others.
_FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
#: Pillow itself refuses to open pictures of a little more.
_MAX_PIXELS = 175_000_000
#: Every row takes some time and memory, however short it is.
_MAX_SIDE = 1_000_000
#: A JPEG 2000 file of more than LARGE pixels is decoded with at most so many.
_REDUCED = 4_000_000
#: A picture may take this many bytes in memory, and so many more for each byte of its file.
_FREE_BYTES, _BYTES_PER_BYTE = 400_000_000, 40
#: Bytes that a pixel takes while it is decoded, by format: measured, if they are not those of the mode.
_FORMAT_BYTES = {"WEBP": 16, "JPEG2000": 20}
#: Bytes that a pixel of a mode takes while it is decoded and converted; 8 for modes that are not listed.
_PIXEL_BYTES = {
    "1": 2,
    "L": 1,
    "P": 5,
    "RGB": 6,
    "I;16": 3,
    "I;16B": 3,
    "I;16L": 3,
    "I;16N": 3,
    "I": 6,
    "F": 6,
}


@contextmanager
def open_picture(
    file: str | os.PathLike[str] | bytes, side: int, *, caller: str, name: str = "the picture"
) -> Iterator[PIL.Image.Image]:
    """Open a picture file that is going to be reduced to ``side × side`` pixels.

    Parameters
    ----------
    file : path, or the content of the file as bytes
    side : int
    caller : str
    name : str
        What errors call a picture that is given as bytes.

    Raises
    ------
    InputFileError
        If the file does not exist, is not a picture, is damaged (also when it is decoded inside the
        context), or has too many pixels.
    """
    import PIL.Image

    who = f"{caller}: {name if isinstance(file, bytes) else os.fspath(file)}"
    try:
        with _opened(file, caller) as image:
            file_bytes = len(file) if isinstance(file, bytes) else os.stat(file).st_size  # noqa: PTH116 - any path
            _check_pixels(image, file_bytes, who)
            # Decoding a large JPEG at a fraction of its size is several times faster. Equal pictures
            # have to get equal codes, so every file is opened here.
            image.draft("RGB", (2 * side, 2 * side))
            if image.format == "JPEG2000" and image.width * image.height > LARGE:
                # In this format it is a number: how often the picture is halved.
                image.reduce = _halvings(image)  # type: ignore[method-assign, assignment]
            yield image
    except DiffhashError:
        raise
    except FileNotFoundError as error:
        raise InputFileError(f"{caller}: the picture {os.fsdecode(file)} does not exist.") from error
    except PIL.Image.DecompressionBombError as error:
        raise InputFileError(
            f"{who} cannot be read as a picture: it has more than {_MAX_PIXELS:,} pixels. Save it with fewer."
        ) from error
    except Exception as error:  # damaged pictures raise errors of many kinds in Pillow
        raise InputFileError(f"{who} cannot be read as a picture ({short_reason(error)}).") from error


def _opened(file: str | os.PathLike[str] | bytes, caller: str) -> PIL.Image.Image:
    """A picture whose header was read."""
    import PIL.Image

    if not isinstance(file, bytes):
        check_regular_file(file, InputFileError, who=f"{caller}: ")
    with warnings.catch_warnings():
        # Pillow warns of large pictures before a JPEG is reduced; they are checked later.
        warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
        return PIL.Image.open(io.BytesIO(file) if isinstance(file, bytes) else file, formats=_FORMATS)


def picture_size(data: bytes, *, caller: str) -> tuple[int, int]:
    """Width and height of a picture file in memory, which is not decoded.

    Raises
    ------
    InputFileError
        If it is not a picture of a known format.
    """
    try:
        with _opened(data, caller) as image:
            return image.size
    except Exception as error:
        raise InputFileError(
            f"{caller}: the picture cannot be read as a picture ({short_reason(error)})."
        ) from error


def _check_pixels(image: PIL.Image.Image, file_bytes: int, who: str) -> None:
    """Check the size of a picture before it is decoded."""
    width, height = image.size
    if width * height > _MAX_PIXELS or max(width, height) > _MAX_SIDE:
        raise InputFileError(
            f"{who} cannot be read as a picture: it has {width:,} × {height:,} pixels. At most {_MAX_PIXELS:,} are "
            f"read, and {_MAX_SIDE:,} in a row or a column. Save it with fewer pixels."
        )
    needed = width * height * _bytes_per_pixel(image)
    if needed > _FREE_BYTES + _BYTES_PER_BYTE * file_bytes:
        raise InputFileError(
            f"{who} cannot be read as a picture: it has {width:,} × {height:,} pixels in a file of {file_bytes:,} "
            f"bytes, and would take {needed / 1e6:,.0f} MB of memory. Save it with fewer pixels, or as PNG."
        )


def _bytes_per_pixel(image: PIL.Image.Image) -> float:
    """Bytes that decoding and converting take for each pixel of the file; 0 if they do not grow with it."""
    if image.format == "JPEG":
        # A progressive file is decoded only when all of its coefficients are known, of two bytes each.
        return 2 * len(image.getbands()) if "progressive" in image.info else 0
    large = image.width * image.height > LARGE
    if large and can_be_read_in_strips(image):
        return 0
    size = max(_FORMAT_BYTES.get(image.format or "", 0), _PIXEL_BYTES.get(image.mode, 8))
    return size / 4 ** _halvings(image) + 1 if large and image.format == "JPEG2000" else size


def _halvings(image: PIL.Image.Image) -> int:
    """How often a large JPEG 2000 picture is halved: its file has the smaller ones."""
    halvings = 0
    while image.width * image.height > _REDUCED << 2 * halvings:
        halvings += 1
    return halvings


def short_reason(error: Exception) -> str:
    """The message of an error of Pillow in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    # Pillow names what it read from; the address of a buffer says nothing.
    return re.sub(r" ?<_io\.BytesIO [^>]*>", "", text)[:300]
