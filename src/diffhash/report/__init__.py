"""Shared parts of pages and figures. This package draws numbers; it does not compute any."""

from __future__ import annotations

from ..errors import MissingExtraError

__all__ = ["require_matplotlib"]


def require_matplotlib() -> None:
    """Check that matplotlib is installed. Call this before long work.

    Raises
    ------
    MissingExtraError
        If it is not; the message has the command that installs it.
    """
    try:
        import matplotlib  # noqa: F401 - checks only that it is installed
    except ImportError as error:
        raise MissingExtraError(
            f"report: figures need matplotlib ({error}). Run: pip install 'diffhash[report]'"
        ) from error
