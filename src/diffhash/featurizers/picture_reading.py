"""Read raw pictures (paths, bytes of files, Pillow images, uint8 arrays of any size) into one array."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DiffhashError, InputError, InputFileError, MissingExtraError
from ..input_files import check_regular_file

if TYPE_CHECKING:
    import PIL.Image

__all__ = [
    "opaque_picture",
    "open_picture",
    "picture_size",
    "read_picture",
    "read_pictures",
    "require_pillow",
]

#: Formats that are decoded, whatever the name of the file says. Pillow would start other programs for some others.
_FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
#: A picture may take this many bytes in memory, and so many more for each byte of its file. A few
#: kilobytes can describe a picture of gigabytes.
_FREE_BYTES, _BYTES_PER_BYTE = 100_000_000, 40
#: Bytes that a pixel takes while it is decoded and converted; 4 for modes that are not listed.
_PIXEL_BYTES = {"1": 2, "L": 1, "I": 30, "F": 30, "I;16": 30, "I;16B": 30, "I;16L": 30, "I;16N": 30}
#: Rows that are put on a white ground at a time.
_STRIP = 256


def require_pillow(caller: str) -> None:
    """Check that Pillow is installed.

    Raises
    ------
    MissingExtraError
        If it is not; the message has the command that installs it.
    """
    try:
        import PIL.Image  # noqa: F401 - checks only that it is installed
    except ImportError as error:
        raise MissingExtraError(
            f"{caller}: reading pictures needs Pillow ({error}). Run: pip install 'diffhash[pictures]'"
        ) from error


def read_pictures(raw: Any, *, size: int, mode: Literal["L", "RGB"], caller: str) -> NDArray[np.uint8]:
    """Read pictures and resize them to one size.

    Parameters
    ----------
    raw : list of paths, contents of files as bytes, Pillow images or uint8 arrays; or one uint8 array
        An array with one picture has shape (height, width), (height, width, 3) or, with opacity,
        (height, width, 4). One array with all pictures has shape (n, height, width) or (n, height, width, 3 or 4).
    size : int
        Each picture is resized to ``size × size``.
    mode : {"L", "RGB"}
        Grey or colour.
    caller : str
        Name of the calling function, for error messages.

    Returns
    -------
    uint8 array of shape (n, size, size), or (n, size, size, 3) for colour

    Notes
    -----
    The orientation that a camera has stored is applied. Transparent parts become white. From an
    animation only the first picture is read.

    Examples
    --------
    >>> pictures = [np.zeros((40, 60), dtype=np.uint8), np.zeros((9, 9, 3), dtype=np.uint8)]
    >>> read_pictures(pictures, size=32, mode="RGB", caller="example").shape
    (2, 32, 32, 3)
    """
    require_pillow(caller)
    items = _as_items(raw, caller)
    shape = (len(items), size, size) if mode == "L" else (len(items), size, size, 3)
    pictures = np.empty(shape, dtype=np.uint8)
    for number, item in enumerate(items):
        pictures[number] = read_picture(item, number, size=size, mode=mode, caller=caller)
    return pictures


def read_picture(
    item: Any, number: int = 0, *, size: int, mode: Literal["L", "RGB"], caller: str
) -> NDArray[np.uint8]:
    """Read one picture. Error messages name its file, or its ``number`` in the list."""
    if isinstance(item, str | os.PathLike):
        with open_picture(item, size, caller=caller) as image:
            return _resized(image, size, mode)
    who = f"{caller}: picture {number}"
    if isinstance(item, bytes):
        with _reduced(io.BytesIO(item), len(item), size, who) as image:
            return _resized(image, size, mode)
    if isinstance(item, np.ndarray):
        _check_array(item, who)
        if item.shape == (size, size) and mode == "L":
            return np.asarray(item, dtype=np.uint8)
        import PIL.Image

        return _resized(PIL.Image.fromarray(np.ascontiguousarray(item)), size, mode)
    if not hasattr(item, "convert") or not hasattr(item, "getbbox"):
        raise InputError(
            f"{who} must be a path, bytes, a Pillow image or a uint8 array, got {type(item).__name__}."
        )
    try:
        return _resized(item, size, mode)
    except Exception as error:  # Pillow decodes only now, and raises errors of many kinds
        raise InputError(f"{who} cannot be read ({_reason(error)}).") from error


def _as_items(raw: Any, caller: str) -> list[Any]:
    if isinstance(raw, str | bytes | os.PathLike) or hasattr(raw, "getbbox"):
        raise InputError(f"{caller}: expected a list of pictures, got a single one. Write [picture].")
    if isinstance(raw, np.ndarray):
        # A single colour picture looks like a batch of grey pictures with three columns.
        single = raw.ndim == 2 or (raw.ndim == 3 and raw.shape[-1] in (3, 4))
        if single or raw.ndim not in (3, 4):
            raise InputError(
                f"{caller}: expected a batch of pictures of shape (n, height, width) or (n, height, width, 3), "
                f"got {raw.shape}. Put a single picture into a list: [picture]."
            )
    if not isinstance(raw, Iterable):
        raise InputError(f"{caller}: expected a list of pictures, got {type(raw).__name__}.")
    return list(raw)


def _check_array(item: NDArray[Any], who: str) -> None:
    colours = item.ndim == 3 and item.shape[2] in (3, 4)
    if item.dtype != np.uint8 or not (item.ndim == 2 or colours) or 0 in item.shape:
        raise InputError(
            f"{who} must be a uint8 array of shape (height, width), (height, width, 3) or (height, width, 4), got "
            f"{item.dtype} of shape {item.shape}. Scale other numbers to 0..255 and convert them."
        )


@contextmanager
def open_picture(path: str | os.PathLike[str], side: int, *, caller: str) -> Iterator[PIL.Image.Image]:
    """Open a picture file that is going to be reduced to ``side × side`` pixels.

    Raises
    ------
    InputFileError
        If the file does not exist, is not a picture, is damaged (also when it is decoded inside the
        context), or has far more pixels than a file of its size should have.
    """
    try:
        check_regular_file(path, InputFileError, who=f"{caller}: ")
        n_bytes = os.stat(path).st_size  # noqa: PTH116 - any path
    except FileNotFoundError as error:
        raise InputFileError(f"{caller}: the picture {os.fspath(path)} does not exist.") from error
    except OSError as error:
        raise _unreadable(f"{caller}: {os.fspath(path)}", error) from error
    with _reduced(path, n_bytes, side, f"{caller}: {os.fspath(path)}") as image:
        yield image


@contextmanager
def _reduced(file: Any, n_bytes: int, side: int, who: str) -> Iterator[PIL.Image.Image]:
    """Open a picture, in a file or in memory, that is going to be reduced to ``side × side`` pixels."""
    try:
        with _opened(file) as image:
            # Decoding a large JPEG at a fraction of its size is several times faster. Equal pictures
            # have to get equal codes, so every file is opened here.
            image.draft("RGB", (2 * side, 2 * side))
            _check_pixels(image, n_bytes, who)
            yield image
    except DiffhashError:
        raise
    except Exception as error:  # damaged pictures raise errors of many kinds in Pillow
        raise _unreadable(who, error) from error


def _opened(file: Any) -> PIL.Image.Image:
    import PIL.Image

    with warnings.catch_warnings():
        # Pillow warns of large pictures before a JPEG is reduced; they are checked later.
        warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
        return PIL.Image.open(file, formats=_FORMATS)


def _unreadable(who: str, error: Exception) -> InputFileError:
    return InputFileError(f"{who} cannot be read as a picture ({_reason(error)}).")


def picture_size(data: bytes, *, caller: str) -> tuple[int, int]:
    """Width and height of a picture file in memory, which is not decoded.

    Raises
    ------
    InputFileError
        If it is not a picture of a known format.
    """
    require_pillow(caller)
    who = f"{caller}: the picture"
    try:
        with _opened(io.BytesIO(data)) as image:
            return image.size
    except Exception as error:
        raise _unreadable(who, error) from error


def _check_pixels(image: PIL.Image.Image, file_bytes: int, who: str) -> None:
    """Check the size of a picture before it is decoded."""
    width, height = image.size
    needed = width * height * _PIXEL_BYTES.get(image.mode, 4)
    if needed > _FREE_BYTES + _BYTES_PER_BYTE * file_bytes:
        raise InputFileError(
            f"{who} cannot be read as a picture: it has {width:,} × {height:,} pixels in a file of "
            f"{file_bytes:,} bytes. Save it with fewer pixels."
        )


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    # Pillow names what it read from; the address of a buffer says nothing.
    return re.sub(r" ?<_io\.BytesIO [^>]*>", "", text)[:300]


def _resized(image: PIL.Image.Image, size: int, mode: Literal["L", "RGB"]) -> NDArray[np.uint8]:
    import PIL.Image

    image = opaque_picture(image)
    if image.mode == "1":
        image = image.convert("L")
    # Grey becomes colour after it was reduced: the values are the same, and the large picture is not copied.
    if image.mode not in ("L", mode):
        image = image.convert(mode)
    if image.size != (size, size):
        image = image.resize((size, size), PIL.Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(image if image.mode == mode else image.convert(mode), dtype=np.uint8)


def opaque_picture(image: PIL.Image.Image) -> PIL.Image.Image:
    """Return the picture with its stored orientation applied, 8 bits per value and white where it was transparent."""
    import PIL.ExifTags
    import PIL.ImageOps

    image.load()
    if image.getexif().get(PIL.ExifTags.Base.Orientation, 1) != 1:
        image = PIL.ImageOps.exif_transpose(image)
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _eight_bits(image)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = _on_white(image)
    return image


def _on_white(image: PIL.Image.Image) -> PIL.Image.Image:
    """A picture without its transparent parts, in colour. Strips of rows keep the memory small."""
    import PIL.Image

    width, height = image.size
    result = PIL.Image.new("RGB", image.size)
    for top in range(0, height, _STRIP):
        strip = image.crop((0, top, width, min(top + _STRIP, height))).convert("RGBA")
        white = PIL.Image.new("RGBA", strip.size, (255, 255, 255, 255))
        result.paste(PIL.Image.alpha_composite(white, strip).convert("RGB"), (0, top))
    return result


def _eight_bits(image: PIL.Image.Image) -> PIL.Image.Image:
    """Scale grey values to 0..255, as Pillow would clip them: 16-bit values by 1/256, others by their range."""
    import PIL.Image

    values = np.asarray(image, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it has values that are not finite")
    if image.mode.startswith("I;16") or (image.mode == "I" and 255 < values.max(initial=0) < 65536):
        grey = np.clip(values, 0, 65535) / 256
    else:
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        grey = (values - low) * (255 / (high - low)) if high > low else np.zeros_like(values)
    return PIL.Image.fromarray(grey.astype(np.uint8))
