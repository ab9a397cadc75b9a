"""Drawings as addresses that a page can hold."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["picture_address"]


def picture_address(picture: NDArray[Any]) -> str:
    """A white-on-black drawing as black ink on white, in a ``data:`` address."""
    import PIL.Image

    # Sixteen greys: half of the bytes, and no eye sees it at this size.
    grey = 255 - np.asarray(picture, dtype=np.uint8)
    image = PIL.Image.fromarray(grey).quantize(16)
    with io.BytesIO() as buffer:
        image.save(buffer, "png", optimize=True)
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
