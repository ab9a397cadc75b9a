"""Reports: draws numbers that it is given and computes none."""

from .write import require_matplotlib, write_demo, write_report

__all__ = ["require_matplotlib", "write_demo", "write_report"]
