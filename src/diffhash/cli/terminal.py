"""The one way to a terminal: text from files, names and errors cannot control it."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import typer

from ..paths import without_passwords

__all__ = ["echo", "escaped_json", "shown", "visible"]


def visible(text: str) -> str:
    r"""Write control characters out, all but the end of a line.

    A terminal would obey them: they can move the cursor, change the title or hide text.

    Examples
    --------
    >>> visible("name \x1b[31mred\x9b2J\n")
    'name \\x1b[31mred\\x9b2J\n'
    """
    return "".join(repr(c)[1:-1] if _is_control(c) else c for c in text)


def shown(value: Any, limit: int = 60) -> str:
    r"""A value as one line of text that is safe for a terminal.

    Examples
    --------
    >>> shown("two\nlines \x1b[31mred")
    'two lines \\x1b[31mred'
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = visible(" ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def escaped_json(text: str) -> str:
    r"""JSON text in which control characters, and halves of characters, are escaped.

    The values stay the same. ``json.dumps`` escapes only some of them: the others would reach the
    terminal, or could not be encoded.

    Examples
    --------
    >>> escaped_json('["a\x9b", "\ud800"]')
    '["a\\u009b", "\\ud800"]'
    """
    return "".join(_json_escape(c) if _is_control(c) else c for c in text)


def echo(text: str, *, err: bool = False) -> None:
    """Print text, which may have several lines. Everything that the command line prints goes through here.

    Messages (``err``) quote what was typed. So the passwords of addresses in them are hidden.
    """
    if err:
        text = without_passwords(text)
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # A terminal that lacks a character shows its number.
    typer.echo(visible(text).encode(encoding, "backslashreplace").decode(encoding), err=err)


def _is_control(character: str) -> bool:
    # The categories of Unicode that begin with C: control, format (also the direction of writing), half and
    # unassigned characters. The separators of lines and paragraphs are the only characters in Zl and Zp.
    return character != "\n" and unicodedata.category(character) in _CONTROLS


_CONTROLS = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"
