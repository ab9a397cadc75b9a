"""Write the report of the experiment into a folder."""

from __future__ import annotations

import os
from pathlib import Path

from ...atomic_write import write_atomically
from ...output_files import PAGE, OutputKind, starts_with, text_file
from ...report import require_matplotlib
from .content import Summary

__all__ = ["write_report"]

_KINDS = {
    ".html": PAGE,
    ".md": OutputKind("text in Markdown (.md)", text_file(".md")),
    ".png": OutputKind("PNG picture", starts_with(b"\x89PNG\r\n\x1a\n")),
    ".svg": OutputKind("SVG picture", text_file(".svg")),
}


def write_report(summary: Summary, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``report.html``, ``findings.md``, and every figure as PNG and SVG.

    Older files of the same kinds are replaced.

    Parameters
    ----------
    summary : Summary
    folder : path of an existing folder

    Returns
    -------
    list of paths
        The page first.
    """
    require_matplotlib()
    from .figures import chart_files
    from .html_report import page_html
    from .markdown_report import findings_markdown

    contents = {
        "report.html": page_html(summary).encode(),
        "findings.md": findings_markdown(summary).encode(),
    }
    for chart in summary.charts:
        contents |= chart_files(chart)
    paths = [Path(folder) / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content, _KINDS[path.suffix])
    return paths
