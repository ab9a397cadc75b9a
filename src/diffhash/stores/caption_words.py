"""The words of a caption or a query, as the word index of a collection keeps them.

Which characters make a word is part of the file format: an index that was written years ago must still
match. So the rules use the Unicode tables of one version (3.2), which Python keeps, and never change.

- Letters are compared without case and without accents: "Café" is the word ``cafe``, and "Straße" ``strasse``. Unicode
  promises that the folding of case of a letter never changes.
- Digits are letters. Everything else, also the underscore and the apostrophe, separates words.
- Characters that Unicode 3.2 did not have, such as emoji, are letters.
- A Chinese or Japanese character is a word of its own, as no spaces separate words there.
- Words longer than 64 characters are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from unicodedata import ucd_3_2_0 as unicode_3_2

from ..errors import FilterError

__all__ = ["caption_of", "check_fields", "folded", "folded_all", "words_of"]

_MAX_LENGTH = 64
#: Kana, and the Chinese characters in the first two planes.
_UNSPACED = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FFFF))


class _Folding(dict[int, str]):
    """What a character becomes; computed when it first occurs."""

    def __missing__(self, number: int) -> str:
        self[number] = folded = "".join(map(_fold, unicode_3_2.normalize("NFKD", chr(number))))
        return folded


def _fold(character: str) -> str:
    category = unicode_3_2.category(character)
    if category == "Cn":
        return character
    if category[0] == "M":
        return ""
    if any(low <= ord(character) <= high for low, high in _UNSPACED):
        return f" {character} " if category[0] in "LN" else " "
    return character.casefold() if category[0] in "LN" else " "


_FOLDING = _Folding()
#: Between captions that are folded together; it stays what it is.
_SEPARATOR = "\0"
_FOLDING_OF_MANY = _Folding({ord(_SEPARATOR): _SEPARATOR})


def words_of(text: str) -> list[str]:
    """The words of a text, in order and with repetitions.

    Examples
    --------
    >>> words_of("Santa's CAFÉ_2, 黒猫")
    ['santa', 's', 'cafe', '2', '黒', '猫']
    """
    return folded(text).split()


def folded(text: str) -> str:
    """A text in which only words are left, with spaces between them; empty if there are none.

    Examples
    --------
    >>> folded("Santa's CAFÉ!")
    'santa s cafe '
    """
    return _cut(text.translate(_FOLDING))


def folded_all(texts: Iterable[str]) -> list[str]:
    """The same as :func:`folded` of each text, and faster.

    Examples
    --------
    >>> folded_all(["Santa's", "CAFÉ", "?"])
    ['santa s', 'cafe', '']
    """
    texts = list(texts)
    # In one long text Python looks every ASCII character up once. Other captions are few, or slower.
    together = _SEPARATOR.join([text if text.isascii() else "" for text in texts])
    parts = together.translate(_FOLDING_OF_MANY).split(_SEPARATOR)
    if len(parts) != len(texts):  # a caption contains the separator
        return [folded(text) for text in texts]
    for place, text in enumerate(texts):
        if not text.isascii():
            parts[place] = text.translate(_FOLDING)
    return [part if len(part) <= _MAX_LENGTH and not part.isspace() else _cut(part) for part in parts]


def _cut(text: str) -> str:
    """Cut words that are too long; a text of spaces becomes empty."""
    if len(text) > _MAX_LENGTH:
        words = text.split()
        # Looked at first, as hardly any text has such words.
        if any(len(word) > _MAX_LENGTH for word in words):
            return " ".join(word[:_MAX_LENGTH] for word in words)
    return "" if text.isspace() else text


def caption_of(payload: Mapping[str, Any], fields: Sequence[str]) -> str:
    r"""The text of a payload that is indexed: strings, and lists of strings, in these fields.

    A text that occurs twice is taken once.

    Examples
    --------
    >>> caption_of({"caption": "a cat", "captions": ["a cat", "a pet"], "n": 3}, ["caption", "captions", "n"])
    'a cat\na pet'
    """
    if len(fields) == 1 and isinstance(payload.get(fields[0]), str):
        return str(payload[fields[0]])
    texts: dict[str, None] = {}
    for field in fields:
        value = payload.get(field)
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str):
                texts[text] = None
    return "\n".join(texts)


def check_fields(fields: Any, *, caller: str) -> tuple[str, ...]:
    """Names of payload fields, each once; an error if they are not strings."""
    listed = [fields] if isinstance(fields, str) else fields
    try:
        names = tuple(dict.fromkeys(listed))
        for name in names:
            if not isinstance(name, str):
                raise TypeError
            name.encode()
    except (TypeError, UnicodeEncodeError):
        raise FilterError(f"{caller}: the name of a field must be a string, got {fields!r:.100}.") from None
    if not names:
        raise FilterError(f"{caller}: at least one field is needed.")
    return names
