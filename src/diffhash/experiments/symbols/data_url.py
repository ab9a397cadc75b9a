"""Turn drawings into ``data:`` URLs for pages."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["picture_data_url"]


def picture_data_url(picture: NDArray[Any]) -> str:
    """Return a ``data:`` URL of a white-on-black drawing, with black and white exchanged."""
    import PIL.Image

    # Sixteen grey levels need half of the bytes and look the same at this size.
    grey = 255 - np.asarray(picture, dtype=np.uint8)
    image = PIL.Image.fromarray(grey).quantize(16)
    with io.BytesIO() as buffer:
        image.save(buffer, "png", optimize=True)
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
