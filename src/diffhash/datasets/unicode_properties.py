"""What the Unicode standard says about a character, as features."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["unicode_properties"]


def unicode_properties(characters: Sequence[str]) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Features of characters from the Unicode database of Python and of fontTools; names are not used.

    Returns
    -------
    features : float32 array of shape (n, n_properties)
        1 for a property that the character has, 0 otherwise; "numeric value" is log(1 + value).
    names : tuple of str
        One for each column, such as "category Lu", "script Greek" or "bidirectional R".

    Examples
    --------
    >>> features, names = unicode_properties("Aα5")
    >>> [name for name, value in zip(names, features[1]) if value]
    ['bidirectional L', 'category L', 'category Ll', 'script Greek', 'width A']
    """
    found = [dict(_properties(character)) for character in characters]
    names = sorted({name for each in found for name in each})
    columns = {name: column for column, name in enumerate(names)}
    features = np.zeros((len(found), len(names)), dtype=np.float32)
    for row, each in enumerate(found):
        features[row, [columns[name] for name in each]] = list(each.values())
    return features, tuple(names)


def _properties(character: str) -> Iterator[tuple[str, float]]:
    from fontTools.unicodedata import script, script_name  # type: ignore[import-untyped]  # no stubs

    category = unicodedata.category(character)
    yield f"category {category[0]}", 1.0
    yield f"category {category}", 1.0
    yield f"script {script_name(script(character))}", 1.0
    if unicodedata.bidirectional(character):
        yield f"bidirectional {unicodedata.bidirectional(character)}", 1.0
    if unicodedata.east_asian_width(character) not in ("N", "Na"):
        yield f"width {unicodedata.east_asian_width(character)}", 1.0
    if unicodedata.combining(character):
        yield f"combining {unicodedata.combining(character)}", 1.0
    if unicodedata.mirrored(character):
        yield "mirrored", 1.0
    decomposition = unicodedata.decomposition(character)
    if decomposition:
        tag = decomposition.split()[0]
        yield f"decomposition {tag if tag.startswith('<') else 'canonical'}", 1.0
        # An accent, or the letter in a circle, is one of the parts.
        for part in decomposition.split()[0 if not tag.startswith("<") else 1 :]:
            yield f"part category {unicodedata.category(chr(int(part, 16)))}", 1.0
    numeric = unicodedata.numeric(character, None)
    if numeric is not None:
        yield "numeric", 1.0
        yield "numeric value", math.log1p(max(numeric, 0.0))
