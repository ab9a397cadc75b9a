"""The counts of a long attack, written into SECURITY.md and as JSON."""

from __future__ import annotations

import datetime
import json
import platform
import re
import sqlite3

from .campaign import Counts
from .paths import ROOT

__all__ = ["write_report"]

PAGE = ROOT / "SECURITY.md"
NUMBERS = ROOT / "benchmarks" / "results" / "attack.json"
_BLOCK = re.compile("(<!-- attack: begin.*?-->\n).*?(<!-- attack: end -->)", re.DOTALL)


def write_report(counts: Counts) -> None:
    """Replace the table in SECURITY.md, and write the same numbers for programs."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    places = len(counts.findings)
    text = (
        f"{counts.seconds / 60:.0f} minutes on {day}, first seed {counts.seed}, {versions}. "
        f"Findings in {places} places.\n\n{counts.table()}\n"
    )
    page = PAGE.read_text(encoding="utf-8")
    replaced, n = _BLOCK.subn(lambda found: f"{found[1]}\n{text}\n{found[2]}", page)
    if n != 1:
        raise SystemExit(f"{PAGE.name} must have one pair of marks for the table of the attack, found {n}.")
    PAGE.write_text(replaced, encoding="utf-8")
    result = {
        "date": day,
        "versions": versions,
        "seconds": round(counts.seconds),
        "seed": counts.seed,
        "outcomes": {name: dict(sorted(found.items())) for name, found in sorted(counts.outcomes.items())},
        "findings": counts.findings,
    }
    NUMBERS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
