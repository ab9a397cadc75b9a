"""Bodies of requests: JSON, arrays as npy or Arrow, and pictures. They stay in memory, and nothing is unpickled."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from ..errors import InputError
from .arrow_body import read_arrow
from .problems import RefusedError

__all__ = [
    "ARROW",
    "JSON",
    "NPY",
    "PICTURES",
    "check_picture",
    "decode_picture",
    "media_type",
    "parse",
    "read_arrow",
    "read_npy",
]

JSON = "application/json"
NPY = "application/x-npy"
ARROW = "application/vnd.apache.arrow.stream"
#: Types of picture files. Which of the formats it is, the file itself tells.
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/bmp", "image/tiff", "image/webp")

Model = TypeVar("Model", bound=BaseModel)
_MOST_ERRORS = 3


def media_type(header: bytes) -> str:
    """The type in a Content-Type header, without its parameters."""
    return header.partition(b";")[0].strip().lower().decode("latin-1")


def parse(model: type[Model], body: bytes) -> Model:
    """A request, checked.

    Raises
    ------
    RefusedError
        400 if it is not JSON, 422 if it is not such a request.
    """
    try:
        return model.__pydantic_validator__.validate_json(body)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise _problem(error) from None


def _problem(error: ValidationError) -> RefusedError:
    listed = error.errors(include_url=False, include_context=False, include_input=False)
    if listed[0]["type"] == "json_invalid":
        return RefusedError(400, "JSONError", f"The body is not JSON: {listed[0]['msg']}.")
    # The JSON path of a value contains names that the client chose: it is cut to a sensible length.
    lines = [f"{'.'.join(map(str, each['loc']))[:200]}: {each['msg']}" for each in listed[:_MOST_ERRORS]]
    more = f"; and {len(listed) - _MOST_ERRORS} more" if len(listed) > _MOST_ERRORS else ""
    return RefusedError(422, "RequestError", "The request is not valid. " + "; ".join(lines) + more + ".")


def read_npy(body: bytes) -> NDArray[Any]:
    """The array in a ``.npy`` file of numbers; its size is checked before it is used.

    Examples
    --------
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.eye(2, dtype=np.float32))
    >>> read_npy(buffer.getvalue())
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    file = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version[0]}.{version[1]} of the format")
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
    except Exception as error:  # NumPy evaluates the header as a literal, and raises errors of many kinds
        raise InputError(f"The body is not an npy file ({' '.join(str(error).split())[:200]}).") from error
    if dtype.kind not in "fiu" or dtype.hasobject or len(shape) not in (1, 2) or min(shape) < 0:
        raise InputError(
            f"The body must be an array of numbers with one or two dimensions, got {dtype} of shape {shape}."
        )
    begin, count = file.tell(), int(np.prod([int(n) for n in shape], dtype=object))
    if len(body) - begin != count * dtype.itemsize:
        raise InputError(
            f"An array of shape {shape} and type {dtype} takes {count * dtype.itemsize:,} bytes, got "
            f"{len(body) - begin:,}."
        )
    array = np.frombuffer(body, dtype=dtype, offset=begin).reshape(shape, order="F" if fortran else "C")
    # Numbers of the other byte order, and half floats, are converted here once.
    return np.atleast_2d(np.ascontiguousarray(array, dtype=dtype.newbyteorder("=")))


def decode_picture(text: str, most_pixels: int) -> bytes:
    """A picture file that was sent in base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError("A picture must be a file in base64.") from error
    check_picture(data, most_pixels)
    return data


def check_picture(data: bytes, most_pixels: int) -> None:
    """Raise unless bytes are a picture with not too many pixels; nothing is decoded for that."""
    from ..featurizers.picture_opening import picture_size
    from ..featurizers.picture_reading import require_pillow

    require_pillow("search")
    width, height = picture_size(data, caller="search")
    if width * height > most_pixels:
        raise InputError(
            f"A picture may have {most_pixels:,} pixels, got {width:,} × {height:,}. Send a smaller one."
        )
