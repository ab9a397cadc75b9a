"""Symbols: pictures of characters and their Unicode names, a real image–text data set.

The pictures are drawn with the font DejaVu Sans, which is part of matplotlib. The names come
from Python's ``unicodedata``. Nothing is downloaded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError, ParameterError
from ..featurizers import HogFeatures, TfidfFeatures
from ..types import IntArray

__all__ = ["Symbols", "load_symbols"]

# Characters are drawn at this size and then reduced, so that they are smooth at any picture size.
_EM = 96
# Side of the square that a picture shows, and the height of its centre above the baseline, both in ems.
# Letters with their accents and most symbols fit into it.
_FRAME = 1.15
_CENTRE = 0.30


@dataclass(frozen=True, eq=False)
class Symbols:
    """Pictures and names of ``n`` characters. Row ``r`` of every attribute is the same character.

    Attributes
    ----------
    views : dict
        ``"image"``: float32 array of shape (n, 964), oriented gradients and a thumbnail.
        ``"text"``: sparse float32 array of shape (n, n_words), TF-IDF of the words of the name.
    names : list of str
        Unicode names, such as ``"LEFTWARDS ARROW"``.
    characters : list of str
        The characters, in the order of their code points.
    groups : array of str, shape (n,)
        The Unicode block of each character, such as ``"Arrows"``.
    pictures : uint8 array of shape (n, height, width)
        White (255) on black (0).
    image_featurizer, text_featurizer
        The featurizers that computed the views. Use them for a query that is not in the data.
    """

    views: dict[str, Any]
    names: list[str]
    characters: list[str]
    groups: NDArray[np.str_]
    pictures: NDArray[np.uint8]
    image_featurizer: HogFeatures
    text_featurizer: TfidfFeatures

    def __len__(self) -> int:
        return len(self.names)

    def split(
        self, n_test: int = 600, *, by_group: bool = False, random_state: int | None = 0
    ) -> tuple[IntArray, IntArray]:
        """Split the rows into a training and a test part; both are in increasing order.

        Parameters
        ----------
        n_test : int
            Size of the test part.
        by_group : bool
            Keep Unicode blocks together: no block is in both parts. Blocks are taken in random
            order, and each one that still fits into ``n_test`` rows goes to the test part. The
            test part may then be a little smaller than ``n_test``.
        random_state : int or None
            Seed; ``None`` for a different split at every call.

        Returns
        -------
        train, test : int arrays

        Examples
        --------
        >>> train, test = load_symbols().split(n_test=600, random_state=0)
        >>> len(train), len(test)
        (5149, 600)
        """
        n = len(self)
        if not 1 <= n_test < n:
            raise ParameterError(f"Symbols.split: n_test must be between 1 and {n - 1}, got {n_test}.")
        rng = np.random.default_rng(random_state)
        if by_group:
            chosen = _whole_groups(self.groups, n_test, rng)
        else:
            chosen = np.zeros(n, dtype=np.bool_)
            chosen[rng.permutation(n)[:n_test]] = True
        return np.flatnonzero(~chosen), np.flatnonzero(chosen)

    def fit_text(self, rows: IntArray) -> Symbols:
        """Return the same symbols, but with words and weights learned from some rows only.

        Parameters
        ----------
        rows : int array
            The training rows. A word that occurs in none of their names has no column.

        Examples
        --------
        >>> symbols = load_symbols()
        >>> train, test = symbols.split()
        >>> symbols.views["text"].shape[1] > symbols.fit_text(train).views["text"].shape[1]
        True
        """
        rows = np.asarray(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
            raise InputError(
                "Symbols.fit_text: expected a 1-d array of row numbers, "
                f"got {rows.dtype} of shape {rows.shape}. Use the first result of split()."
            )
        featurizer = TfidfFeatures(**self.text_featurizer.get_params())
        featurizer.fit(np.asarray(self.names)[rows].tolist())
        views = {**self.views, "text": featurizer.transform(self.names)}
        return replace(self, views=views, text_featurizer=featurizer)


def load_symbols(*, size: int = 32) -> Symbols:
    """Draw every named character of DejaVu Sans, and featurize drawings and names.

    Parameters
    ----------
    size : int
        Side of the square pictures in pixels, at least 8.

    Returns
    -------
    Symbols
        5,749 characters (with the font of matplotlib 3.11) in the order of their code
        points. The result is the same at every call.

    Raises
    ------
    MissingExtraError
        If matplotlib or Pillow is not installed.

    Notes
    -----
    Characters without a name (private use) and characters that are blank (spaces, format
    characters) are left out. All others are drawn at the same scale and on the same baseline, so
    that a full stop differs from a black square and an apostrophe from a comma. If a drawing is
    larger than the picture, it is moved or reduced until it fits. Combining marks are drawn alone.

    A word needs to occur in at least two names, and the weights of words come from **all** names.
    No pairs of pictures and names are used for this, but words of the test names are. Call
    :meth:`Symbols.fit_text` to learn from training rows only.

    Many characters look alike or are drawn exactly alike (the capitals Latin A, Greek Alpha and
    Cyrillic A), so no method can rank the right character first for every name.

    Examples
    --------
    >>> symbols = load_symbols()
    >>> row = symbols.names.index("LEFTWARDS ARROW")
    >>> symbols.characters[row], str(symbols.groups[row])
    ('←', 'Arrows')
    >>> symbols.pictures.shape, symbols.views["image"].shape
    ((5749, 32, 32), (5749, 964))
    """
    if size < 8:
        raise ParameterError(f"load_symbols: size must be at least 8 pixels, got {size}.")
    font_path, code_points, block = _font()
    named = [chr(point) for point in sorted(code_points) if unicodedata.name(chr(point), "")]
    drawn = _draw(named, font_path, size)
    inked = np.flatnonzero(drawn.any(axis=(1, 2)))
    characters = [named[row] for row in inked]
    names = [unicodedata.name(character) for character in characters]
    pictures = drawn[inked]
    image, text = HogFeatures(cells=6, size=size), TfidfFeatures(min_count=2)
    return Symbols(
        views={"image": image.fit_transform(pictures), "text": text.fit_transform(names)},
        names=names,
        characters=characters,
        groups=np.array([block(character) for character in characters], dtype=np.str_),
        pictures=pictures,
        image_featurizer=image,
        text_featurizer=text,
    )


def _font() -> tuple[Path, list[int], Callable[[str], str]]:
    """Return the path of DejaVu Sans, its code points, and a function that names the block of a character."""
    try:
        import matplotlib
        import PIL  # noqa: F401 - _draw needs it; check before any work is done
        from fontTools.unicodedata import block  # type: ignore[import-untyped]  # no stubs
        from matplotlib.ft2font import FT2Font
    except ImportError as error:
        raise MissingExtraError(
            f"load_symbols: needs matplotlib (for its font) and Pillow (to draw): {error}. "
            "Run: pip install 'diffhash[report]'"
        ) from error
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return path, list(FT2Font(str(path)).get_charmap()), block


def _draw(characters: list[str], font_path: Path, size: int) -> NDArray[np.uint8]:
    """Draw pictures of shape (n, size, size) with a margin of one pixel. Blank characters give all zeros."""
    from PIL import Image, ImageDraw, ImageFont

    # Every build of Pillow has the basic layout engine, so the pictures are the same on every system.
    font = ImageFont.truetype(str(font_path), _EM, layout_engine=ImageFont.Layout.BASIC)
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
        frame = _frame(ink, across, baseline - _CENTRE * _EM)
        shown = plane.resize((size - 2, size - 2), Image.Resampling.LANCZOS, box=frame)
        picture[1:-1, 1:-1] = np.asarray(shown)
    return pictures


def _frame(ink: tuple[int, int, int, int], across: float, down: float) -> tuple[float, float, float, float]:
    """Return a square around (across, down), moved and enlarged as needed to contain all ink."""
    left, top, right, bottom = ink
    side = max(_FRAME * _EM, right - left, bottom - top)
    x = min(max(across - side / 2, right - side), left)
    y = min(max(down - side / 2, bottom - side), top)
    return x, y, x + side, y + side


def _whole_groups(groups: NDArray[np.str_], n_test: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose whole groups in random order, each one that still fits into ``n_test`` rows; return their rows."""
    names, group_of_row, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    taken = np.zeros(len(names), dtype=np.bool_)
    room = n_test
    for group in rng.permutation(len(names)):
        if sizes[group] <= room:
            taken[group] = True
            room -= int(sizes[group])
    if not taken.any():
        raise ParameterError(
            f"Symbols.split: no group has {n_test} rows or fewer (the smallest has {sizes.min()}). "
            "Use a larger n_test, or by_group=False."
        )
    return taken[group_of_row]
