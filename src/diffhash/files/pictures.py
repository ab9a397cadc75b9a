"""Pictures in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputFileError

__all__ = ["PICTURE_KINDS", "list_pictures"]

#: Endings that count as pictures, in any case of letters.
PICTURE_KINDS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def list_pictures(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Pictures in a folder and the folders in it, by their name relative to it (with ``/``), sorted.

    Names that come from elsewhere are only ever looked up here, so that none of them leads out of
    the folder. Hidden files are left out.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "cats").mkdir()
    >>> for name in ("b.PNG", "cats/a.jpg", "notes.txt"):
    ...     (folder / name).touch()
    >>> list(list_pictures(folder))
    ['b.PNG', 'cats/a.jpg']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputFileError(f"{folder}: there is no such folder.")
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.suffix.lower() in PICTURE_KINDS and not any(part.startswith(".") for part in name.parts):
            found[name.as_posix()] = path
    if not found:
        raise InputFileError(f"{folder}: there is no picture in it ({', '.join(PICTURE_KINDS)}).")
    return dict(sorted(found.items()))
