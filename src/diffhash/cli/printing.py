"""Results on stdout: aligned text for people, JSON for programs."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from .terminal import echo, escaped_json, shown

__all__ = ["megabytes", "modalities_line", "print_facts", "print_json", "print_table", "yes_or_no"]


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print aligned columns. Columns of numbers are aligned to the right."""
    header = [shown(name, 40) for name in header]
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
        echo("  ".join(parts).rstrip())


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair on a line."""
    named = {shown(name): shown(value, 200) for name, value in facts.items()}
    width = max(map(len, named), default=0)
    for name, value in named.items():
        echo(f"{name:<{width}}  {value}".rstrip())


def print_json(content: Any) -> None:
    """Print strict JSON: NaN and infinities become null."""
    text = json.dumps(_plain(content), ensure_ascii=False, indent=2, default=str, allow_nan=False)
    echo(escaped_json(text))


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


def yes_or_no(value: bool) -> str:
    """A flag for people."""
    return "yes" if value else "no"


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
