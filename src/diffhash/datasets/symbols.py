"""Symbols: pictures of characters, their Unicode names and more, a real data set of two to four modalities.

The pictures are drawn with the fonts DejaVu Sans and Serif, which are part of matplotlib. The names
and properties come from Python's ``unicodedata``. Nothing is downloaded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterError
from ..featurizers import HogFeatures, TfidfFeatures
from ..types import IntArray
from .glyphs import draw, font_code_points, font_path
from .unicode_properties import unicode_properties

__all__ = ["VIEWS", "Symbols", "load_symbols"]

#: Views that can be loaded.
VIEWS = ("image", "text", "serif", "properties")


@dataclass(frozen=True, eq=False)
class Symbols:
    """Views of ``n`` characters. Row ``r`` of every attribute is the same character, except in views with gaps.

    Attributes
    ----------
    views : dict
        Those that were loaded.
        ``"image"``: float32 array of shape (n, 964), oriented gradients and a thumbnail.
        ``"text"``: sparse float32 array of shape (n, n_words), TF-IDF of the words of the name.
        ``"serif"``: float32 array of shape (n_serif, 964), the same as image of the glyph in DejaVu Serif.
        ``"properties"``: float32 array of shape (n, n_properties), what the Unicode standard says.
    rows : dict of int arrays by view
        The character of each row of the view. Only ``"serif"`` has gaps: many characters have no glyph there.
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
    property_names : tuple of str
        Columns of the view ``"properties"``, such as ``"category Lu"``; empty if it was not loaded.
    """

    views: dict[str, Any]
    names: list[str]
    characters: list[str]
    groups: NDArray[np.str_]
    pictures: NDArray[np.uint8]
    image_featurizer: HogFeatures
    text_featurizer: TfidfFeatures
    rows: dict[str, IntArray] = field(default_factory=dict)
    property_names: tuple[str, ...] = ()

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

    def take(self, characters: IntArray) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Views of some characters, and the character of each of their rows: ids for :meth:`Pairs.from_ids`.

        Parameters
        ----------
        characters : int array
            Rows of the attributes, such as a part of :meth:`split`.

        Returns
        -------
        views, ids : dicts by view

        Examples
        --------
        >>> symbols = load_symbols(views=("image", "serif"))
        >>> views, ids = symbols.take(symbols.split()[1])
        >>> len(views["image"]), len(views["serif"])
        (600, 320)
        """
        kept = {name: np.flatnonzero(np.isin(rows, characters)) for name, rows in self.rows.items()}
        return (
            {name: view[kept[name]] for name, view in self.views.items()},
            {name: self.rows[name][chosen] for name, chosen in kept.items()},
        )

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
        views = dict(self.views)
        if "text" in views:
            views["text"] = featurizer.transform(self.names)
        return replace(self, views=views, text_featurizer=featurizer)


def load_symbols(*, size: int = 32, views: Sequence[str] = ("image", "text")) -> Symbols:
    """Draw every named character of DejaVu Sans, and featurize drawings, names and more.

    Parameters
    ----------
    size : int
        Side of the square pictures in pixels, at least 8.
    views : sequence of str
        Views to make, of ``"image"``, ``"text"``, ``"serif"`` and ``"properties"``; see :class:`Symbols`.

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
    wanted = (views,) if isinstance(views, str) else tuple(views)
    if not wanted or not set(wanted) <= set(VIEWS):
        raise ParameterError(f"load_symbols: views must be some of {', '.join(VIEWS)}, got {views!r:.60}.")
    sans = font_path("DejaVuSans")
    from fontTools.unicodedata import block  # type: ignore[import-untyped]  # no stubs

    named = [chr(point) for point in sorted(font_code_points(sans)) if unicodedata.name(chr(point), "")]
    drawn = draw(named, sans, size)
    inked = np.flatnonzero(drawn.any(axis=(1, 2)))
    characters = [named[row] for row in inked]
    names = [unicodedata.name(character) for character in characters]
    pictures = drawn[inked]
    image, text = HogFeatures(cells=6, size=size), TfidfFeatures(min_count=2)
    found: dict[str, Any] = {"image": image.fit_transform(pictures), "text": text.fit_transform(names)}
    everyone: IntArray = np.arange(len(characters))
    rows = dict.fromkeys(("image", "text", "properties"), everyone)
    property_names: tuple[str, ...] = ()
    if "serif" in wanted:
        rows["serif"], glyphs = _serif(characters, size)
        found["serif"] = image.transform(glyphs)
    if "properties" in wanted:
        found["properties"], property_names = unicode_properties(characters)
    return Symbols(
        views={name: found[name] for name in wanted},
        names=names,
        characters=characters,
        groups=np.array([block(character) for character in characters], dtype=np.str_),
        pictures=pictures,
        image_featurizer=image,
        text_featurizer=text,
        rows={name: rows[name] for name in wanted},
        property_names=property_names,
    )


def _serif(characters: list[str], size: int) -> tuple[IntArray, NDArray[np.uint8]]:
    """Rows of the characters that DejaVu Serif has, and their pictures."""
    path = font_path("DejaVuSerif")
    known = set(font_code_points(path))
    rows = np.flatnonzero([ord(character) in known for character in characters])
    pictures = draw([characters[row] for row in rows], path, size)
    inked = pictures.any(axis=(1, 2))
    return rows[inked], pictures[inked]


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
