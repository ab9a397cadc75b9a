"""Read raw pictures (paths, Pillow images, uint8 arrays of any size) into one array."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["opaque_picture", "read_picture", "read_pictures", "require_pillow"]


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
    raw : list of paths, Pillow images or uint8 arrays; or one uint8 array
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
        return _read_file(Path(item), size, mode, caller)
    who = f"{caller}: picture {number}"
    if isinstance(item, np.ndarray):
        _check_array(item, who)
        if item.shape == (size, size) and mode == "L":
            return np.asarray(item, dtype=np.uint8)
        import PIL.Image

        return _resized(PIL.Image.fromarray(np.ascontiguousarray(item)), size, mode)
    if not hasattr(item, "convert") or not hasattr(item, "getbbox"):
        raise InputError(f"{who} must be a path, a Pillow image or a uint8 array, got {type(item).__name__}.")
    try:
        return _resized(item, size, mode)
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"{who} cannot be read ({_reason(error)}).") from error


def _as_items(raw: Any, caller: str) -> list[Any]:
    if isinstance(raw, str | os.PathLike) or hasattr(raw, "getbbox"):
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


def _read_file(path: Path, size: int, mode: Literal["L", "RGB"], caller: str) -> NDArray[np.uint8]:
    import PIL.Image

    try:
        with PIL.Image.open(path) as image:
            # Decoding a large JPEG at a fraction of its size is several times faster.
            image.draft("RGB", (2 * size, 2 * size))
            return _resized(image, size, mode)
    except FileNotFoundError as error:
        raise InputError(f"{caller}: the picture {path} does not exist.") from error
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        raise InputError(f"{caller}: {path} cannot be read as a picture ({_reason(error)}).") from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _resized(image: PIL.Image.Image, size: int, mode: Literal["L", "RGB"]) -> NDArray[np.uint8]:
    import PIL.Image

    image = opaque_picture(image).convert(mode)
    if image.size != (size, size):
        image = image.resize((size, size), PIL.Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(image, dtype=np.uint8)


def opaque_picture(image: PIL.Image.Image) -> PIL.Image.Image:
    """Return the picture with its stored orientation applied, 8 bits per value and white where it was transparent."""
    import PIL.Image
    import PIL.ImageOps

    image = PIL.ImageOps.exif_transpose(image)
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _eight_bits(image)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        background = PIL.Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = PIL.Image.alpha_composite(background, image)
    return image


def _eight_bits(image: PIL.Image.Image) -> PIL.Image.Image:
    """Scale grey values to 0..255, as Pillow would clip them: 16-bit values by 1/256, others by their range."""
    import PIL.Image

    values = np.asarray(image, dtype=np.float64)
    if image.mode.startswith("I;16") or (image.mode == "I" and 255 < values.max(initial=0) < 65536):
        grey = np.maximum(values, 0) / 256
    else:
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        grey = (values - low) * (255 / (high - low)) if high > low else np.zeros_like(values)
    return PIL.Image.fromarray(grey.astype(np.uint8))
