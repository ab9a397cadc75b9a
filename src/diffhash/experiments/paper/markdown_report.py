"""Findings and tables as Markdown, for reading as text or for documentation."""

from __future__ import annotations

import re

from . import Finding, Summary, Table

__all__ = ["findings_markdown"]

_SIGNS = {"agrees": "✓", "partly": "◐", "does not agree": "✗"}


def findings_markdown(summary: Summary) -> str:
    """Return each claim with its verdict and the numbers, then the tables."""
    results = summary.results
    head = (
        f"Run “{_plain(results.settings.name)}” of {_plain(results.updated[:10])} with diffhash "
        f"{_plain(results.environment.get('diffhash', '?'))}, seeds {', '.join(map(str, results.settings.seeds))}, on "
        f"{_plain(results.environment.get('processor', '?'))}."
    )
    parts = [head, *map(_finding, summary.findings), *map(_table, summary.tables)]
    return "\n\n".join(parts) + "\n"


def _finding(finding: Finding) -> str:
    evidence = "\n".join(f"- {_plain(line)}" for line in finding.evidence)
    verdict = f"{_SIGNS.get(finding.verdict, '')} {_plain(finding.verdict)}".strip()
    return (
        f"**{_plain(finding.statement)}**\n\n**{verdict}.** {_plain(finding.conclusion)} "
        f"*Agrees if:* {_plain(finding.rule)}\n\n{evidence}"
    )


def _table(table: Table) -> str:
    rows = [[_plain(cell) for cell in row] for row in (table.header, *table.rows)]
    rows.insert(1, ["---"] * len(table.header))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return f"**{_plain(table.title)}.** {_plain(table.caption)}\n\n" + "\n".join(lines)


def _plain(text: str) -> str:
    """Escape text so that Markdown shows it unchanged."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#])", r"\\\1", " ".join(text.split()))
