"""Pictures of characters, drawn with the fonts of DejaVu that are part of matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtraError

__all__ = ["draw", "font_code_points", "font_path", "frame"]

# Characters are drawn at this size and then reduced, so that they are smooth at any picture size.
_EM = 96
# Side of the square that a picture shows, and the height of its centre above the baseline, both in ems.
# Letters with their accents and most symbols fit into it.
_FRAME = 1.15
_CENTRE = 0.30


def font_path(name: str) -> Path:
    """Path of a font of matplotlib, such as "DejaVuSans"."""
    try:
        import fontTools.unicodedata  # type: ignore[import-untyped]  # noqa: F401 - no stubs; names of blocks and scripts
        import matplotlib
        import matplotlib.ft2font
        import PIL  # noqa: F401 - draw needs it; check before any work is done
    except ImportError as error:
        raise MissingExtraError(
            f"load_symbols: needs matplotlib (for its font) and Pillow (to draw): {error}. "
            "Run: pip install 'diffhash[report]'"
        ) from error
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"


def font_code_points(path: Path) -> list[int]:
    """Code points for which a font has a glyph."""
    from matplotlib.ft2font import FT2Font

    return list(FT2Font(str(path)).get_charmap())


def draw(characters: list[str], path: Path, size: int) -> NDArray[np.uint8]:
    """Draw pictures of shape (n, size, size) with a margin of one pixel. Blank characters give all zeros."""
    from PIL import Image, ImageDraw, ImageFont

    # Every build of Pillow has the basic layout engine, so the pictures are the same on every system.
    font = ImageFont.truetype(str(path), _EM, layout_engine=ImageFont.Layout.BASIC)
    baseline = _EM // 2 + font.getmetrics()[0]
    pictures = np.zeros((len(characters), size, size), dtype=np.uint8)
    for picture, character in zip(pictures, characters, strict=True):
        plane = Image.new("L", (4 * _EM, 3 * _EM))
        start = 3 * _EM // 2
        ImageDraw.Draw(plane).text((start, _EM // 2), character, fill=255, font=font)
        ink = plane.getbbox()
        if ink is None:
            continue
        # A combining mark has no width and is drawn to the left of its position.
        width = font.getlength(character)
        across = start + width / 2 if width > 0 else (ink[0] + ink[2]) / 2
        box = frame(ink, across, baseline - _CENTRE * _EM)
        shown = plane.resize((size - 2, size - 2), Image.Resampling.LANCZOS, box=box)
        picture[1:-1, 1:-1] = np.asarray(shown)
    return pictures


def frame(ink: tuple[int, int, int, int], across: float, down: float) -> tuple[float, float, float, float]:
    """Return a square around (across, down), moved and enlarged as needed to contain all ink."""
    left, top, right, bottom = ink
    side = max(_FRAME * _EM, right - left, bottom - top)
    x = min(max(across - side / 2, right - side), left)
    y = min(max(down - side / 2, bottom - side), top)
    return x, y, x + side, y + side
