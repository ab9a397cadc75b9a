"""Write a report into a folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..demo import DemoResult
from ..errors import MissingExtraError
from ..model.file import write_atomically
from ..reproduction import Summary

__all__ = ["require_matplotlib", "write_demo", "write_report"]


def require_matplotlib() -> None:
    """Say at once, and not after long work, that figures cannot be drawn.

    Raises
    ------
    MissingExtraError
        With the line that installs what is missing.
    """
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtraError(
            f"report: figures need matplotlib ({error}). Run: pip install 'diffhash[report]'"
        ) from error


def write_report(summary: Summary, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``report.html``, ``findings.md``, and every figure as PNG and SVG.

    Parameters
    ----------
    summary : Summary
    folder : path of a folder that is there

    Returns
    -------
    list of paths
        The page first.
    """
    require_matplotlib()
    from .figures import chart_files
    from .markdown import findings_markdown
    from .page import page_html

    contents = {
        "report.html": page_html(summary).encode(),
        "findings.md": findings_markdown(summary).encode(),
    }
    for chart in summary.charts:
        contents |= chart_files(chart)
    paths = [Path(folder) / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content)
    return paths


def write_demo(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """Write the demonstration's page."""
    require_matplotlib()
    from .demo_page import demo_page

    write_atomically(path, demo_page(result).encode())
    return Path(path)
