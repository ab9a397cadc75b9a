"""Read raw pictures (paths, bytes of files, Pillow images, uint8 arrays of any size) into one array."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError
from .opaque_pictures import opaque_picture
from .picture_opening import open_picture, short_reason

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["picture_items", "read_picture", "read_pictures", "require_pillow"]


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
    animation only the first picture is read. Large pictures are reduced while they are decoded, and files with
    too many pixels are refused: see :mod:`.picture_opening`.

    Examples
    --------
    >>> pictures = [np.zeros((40, 60), dtype=np.uint8), np.zeros((9, 9, 3), dtype=np.uint8)]
    >>> read_pictures(pictures, size=32, mode="RGB", caller="example").shape
    (2, 32, 32, 3)
    """
    require_pillow(caller)
    items = picture_items(raw, caller)
    shape = (len(items), size, size) if mode == "L" else (len(items), size, size, 3)
    pictures = np.empty(shape, dtype=np.uint8)
    for number, item in enumerate(items):
        pictures[number] = read_picture(item, number, size=size, mode=mode, caller=caller)
    return pictures


def read_picture(
    item: Any,
    number: int = 0,
    *,
    size: int,
    mode: Literal["L", "RGB"],
    caller: str,
    crop: float | None = None,
) -> NDArray[np.uint8]:
    """Read one picture. Error messages name its file, or its ``number`` in the list.

    With ``crop`` the square in its middle is used, whose side is this share of the shorter side.
    """
    if isinstance(item, str | bytes | os.PathLike):
        with open_picture(item, size, caller=caller, name=f"picture {number}") as image:
            return _resized(image, size, mode, crop)
    who = f"{caller}: picture {number}"
    if isinstance(item, np.ndarray):
        _check_array(item, who)
        if item.shape == (size, size) and mode == "L" and crop is None:
            return np.asarray(item, dtype=np.uint8)
        import PIL.Image

        return _resized(PIL.Image.fromarray(np.ascontiguousarray(item)), size, mode, crop)
    if not hasattr(item, "convert") or not hasattr(item, "getbbox"):
        raise InputError(
            f"{who} must be a path, bytes, a Pillow image or a uint8 array, got {type(item).__name__}."
        )
    try:
        return _resized(item, size, mode, crop)
    except Exception as error:  # Pillow decodes only now, and raises errors of many kinds
        raise InputError(f"{who} cannot be read ({short_reason(error)}).") from error


def picture_items(raw: Any, caller: str) -> list[Any]:
    """The pictures of a list or a batch."""
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


def _resized(
    image: PIL.Image.Image, size: int, mode: Literal["L", "RGB"], crop: float | None = None
) -> NDArray[np.uint8]:
    import PIL.Image

    image = opaque_picture(image)
    if crop is not None:
        side = max(1, round(crop * min(image.size)))
        left, top = (image.width - side) // 2, (image.height - side) // 2
        image = image.crop((left, top, left + side, top + side))
    if image.mode == "1":
        image = image.convert("L")
    # Grey becomes colour after it was reduced: the values are the same, and the large picture is not copied.
    if image.mode not in ("L", mode):
        image = image.convert(mode)
    if image.size != (size, size):
        image = image.resize((size, size), PIL.Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(image if image.mode == mode else image.convert(mode), dtype=np.uint8)
