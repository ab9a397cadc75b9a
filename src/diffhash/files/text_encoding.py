"""The encoding of a text file: given, or guessed."""

from __future__ import annotations

import codecs
from pathlib import Path

from ..errors import InputFileError

__all__ = ["check_encoding", "guess_encoding"]

_BLOCK = 1 << 20
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def guess_encoding(path: Path) -> str:
    r"""The encoding of a file: UTF-8 if its bytes are that, else UTF-16 by its first bytes, else Windows-1252.

    Raises
    ------
    InputFileError
        If the bytes are none of these.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_bytes("file,caption\na.png,Café\n".encode("cp1252"))
    >>> guess_encoding(path)
    'cp1252'
    """
    with path.open("rb") as file:
        mark = _MARKS.get(file.read(2))
    for name in (mark,) if mark else ("utf-8-sig", "cp1252"):
        if _decodes(path, name):
            return name
    raise InputFileError(f"{path} is not UTF-8 text, and its encoding cannot be guessed. Say `encoding`.")


def _decodes(path: Path, name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def check_encoding(name: str) -> str:
    """The name of an encoding that Python knows for text."""
    try:
        found = codecs.lookup(name)
        # Some codecs, such as base64, do not decode to text.
        "".encode(found.name)
    except (LookupError, ValueError, TypeError):
        raise InputFileError(
            f"there is no encoding {name!r:.60}. Common ones: utf-8, utf-16, cp1252, latin-1, shift_jis, gb18030."
        ) from None
    return found.name
