"""What pages and figures share: this package draws numbers that it is given and computes none."""

from __future__ import annotations

from ..errors import MissingExtraError

__all__ = ["require_matplotlib"]


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
