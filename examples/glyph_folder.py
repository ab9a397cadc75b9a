"""Write a folder of pictures and a table of captions to try things on: ``python examples/glyph_folder.py glyphs``.

The pictures are characters that matplotlib's font can draw, the captions their Unicode names: real
pictures and real words, without a download.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import PIL.Image

import diffhash as dh


def write_glyphs(folder: Path, groups: list[str]) -> int:
    """Write ``pictures/U+2190.png`` and so on, and ``captions.csv``; gives the number of pictures."""
    symbols = dh.datasets.load_symbols(size=64)
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    written = 0
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["file", "caption", "group"])
        for character, name, group, picture in zip(
            symbols.characters, symbols.names, symbols.groups, symbols.pictures, strict=True
        ):
            if groups and group not in groups:
                continue
            file_name = f"U+{ord(character):04X}.png"
            PIL.Image.fromarray(255 - picture).save(pictures / file_name)
            table.writerow([file_name, name.lower(), group])
            written += 1
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--groups", nargs="*", default=[], help="only these; default: all 5,700 characters")
    options = parser.parse_args()
    n = write_glyphs(options.folder, options.groups)
    print(f"{n} pictures and captions.csv in {options.folder}")


if __name__ == "__main__":
    main()
