"""Small pictures that travel in a payload, and are shown only if they are nothing else."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

from ..featurizers.reading import opaque_picture

__all__ = ["THUMBNAIL", "is_thumbnail", "thumbnail"]

#: Field of a payload that holds one.
THUMBNAIL = "thumbnail"
_SIDE = 96
_FORM = re.compile(r"data:image/(?:jpeg|png|webp);base64,[A-Za-z0-9+/]+={0,2}")


def thumbnail(path: Path) -> str:
    """A picture of at most 96 × 96 pixels as a ``data:`` address, JPEG or PNG, whichever is smaller."""
    import PIL.Image

    with PIL.Image.open(path) as image:
        image.draft("RGB", (2 * _SIDE, 2 * _SIDE))
        small = opaque_picture(image).convert("RGB")
    small.thumbnail((_SIDE, _SIDE))
    encoded = {}
    for name in ("jpeg", "png"):
        with io.BytesIO() as buffer:
            small.save(buffer, name, quality=80, optimize=True)
            encoded[name] = buffer.getvalue()
    name = min(encoded, key=lambda name: len(encoded[name]))
    return f"data:image/{name};base64,{base64.b64encode(encoded[name]).decode()}"


def is_thumbnail(value: Any) -> bool:
    """Whether a payload's value is a picture and nothing else.

    Examples
    --------
    >>> is_thumbnail("data:image/png;base64,iVBORw0KGgo="), is_thumbnail("data:text/html,<script>")
    (True, False)
    """
    return isinstance(value, str) and _FORM.fullmatch(value) is not None
