"""Draw the contact sheet of the symbols page: python docs/symbols_sheet.py."""

from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from diffhash.datasets import Symbols, load_symbols

BLOCKS = (
    "Basic Latin",
    "Latin Extended Additional",
    "Greek Extended",
    "Cyrillic",
    "Arabic",
    "Unified Canadian Aboriginal Syllabics",
    "Combining Diacritical Marks",
    "Arrows",
    "Mathematical Operators",
    "Box Drawing",
    "Geometric Shapes",
    "Miscellaneous Symbols",
    "Dingbats",
    "Braille Patterns",
    "Yijing Hexagram Symbols",
    "Playing Cards",
    "Emoticons",
)
COLUMNS, LABEL = 18, 300


def sheet(symbols: Symbols) -> Image.Image:
    """One line per block: its name and pictures at even steps through it, dark on white."""
    side = symbols.pictures.shape[1]
    paper = Image.new("L", (LABEL + COLUMNS * side, len(BLOCKS) * side), 255)
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    font = ImageFont.truetype(str(path), 14)
    for line, block in enumerate(BLOCKS):
        rows = np.flatnonzero(symbols.groups == block)
        shown = rows[np.linspace(0, len(rows) - 1, COLUMNS).astype(int)]
        strip = 255 - np.hstack(list(symbols.pictures[shown]))
        paper.paste(Image.fromarray(strip), (LABEL, line * side))
        ImageDraw.Draw(paper).text((8, line * side + 8), block, fill=60, font=font)
    return paper


if __name__ == "__main__":
    sheet(load_symbols()).save(Path(__file__).parent / "_static" / "symbols.png", optimize=True)
