"""Results on stdout: aligned text for people, JSON for programs."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import typer

__all__ = ["megabytes", "modalities_line", "print_facts", "print_json", "print_table", "shown"]


def shown(value: Any, limit: int = 60) -> str:
    r"""One line of text that is safe for a terminal: control characters are written out.

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
    text = " ".join(text.split())
    # Files come from anywhere, and a terminal would obey control characters in them.
    text = "".join(c if unicodedata.category(c)[0] != "C" else repr(c)[1:-1] for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print aligned columns. Columns of numbers are aligned to the right."""
    cells = [[shown(value, 72) for value in row] for row in rows]
    numbers = [
        all(isinstance(row[i], int | float) for row in rows) and bool(rows) for i in range(len(header))
    ]
    widths = [max(_width(line[i]) for line in [header, *cells]) for i in range(len(header))]
    for line in [header, *cells]:
        parts = [
            " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
            for cell, width, right in zip(line, widths, numbers, strict=True)
        ]
        typer.echo("  ".join(parts).rstrip())


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair on a line."""
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {shown(value, 200)}".rstrip())


def print_json(content: Any) -> None:
    """Print strict JSON: NaN and infinities become null."""
    typer.echo(json.dumps(_plain(content), ensure_ascii=False, indent=2, default=str, allow_nan=False))


def megabytes(n: int) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> megabytes(512), megabytes(2_500_000)
    ('512 bytes', '2.5 MB')
    """
    if n < 10_000:
        return f"{n:,} bytes"
    return f"{n / 1e3:,.1f} kB" if n < 1e6 else f"{n / 1e6:,.1f} MB"


def modalities_line(modalities: Sequence[Mapping[str, Any]]) -> str:
    """The modalities of a model on one line.

    Examples
    --------
    >>> modalities_line([{"name": "text", "features": 1200, "raw": "tfidf"}])
    'text (1,200 features, tfidf)'
    """
    return ", ".join(
        f"{m['name']} ({m['features']:,} features{', ' + m['raw'] if m['raw'] else ''})" for m in modalities
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _width(text: str) -> int:
    """Columns that a text needs on a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
