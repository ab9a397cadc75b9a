"""Write the page of the demonstration."""

from __future__ import annotations

import os
from pathlib import Path

from ...atomic_write import write_atomically
from ...output_files import PAGE
from ...report import require_matplotlib
from .result import DemoResult

__all__ = ["write_demo"]


def write_demo(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """Write the page of the demonstration. An older page is replaced, a file of another kind never."""
    require_matplotlib()
    from .html_report import demo_page

    write_atomically(path, demo_page(result).encode(), PAGE)
    return Path(path)
