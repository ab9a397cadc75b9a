"""List the pictures in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputFileError
from ..input_files import reading

__all__ = ["PICTURE_KINDS", "list_pictures"]

#: Endings of picture files; upper case counts too.
PICTURE_KINDS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def list_pictures(folder: str | os.PathLike[str], left_out: list[Path] | None = None) -> dict[str, Path]:
    """List the pictures in a folder and its subfolders, sorted by name.

    Hidden files are skipped. A picture whose name is not valid UTF-8 is an error, or is appended
    to ``left_out`` if that list is given.

    Returns
    -------
    dict of Path by name
        Names are relative to the folder, with ``/``. Names from tables are looked up in this dict, so
        that no name can lead out of the folder.

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
    with reading(folder, InputFileError):
        found = _found(folder, left_out)
    if not found:
        raise InputFileError(f"{folder}: the folder contains no pictures ({', '.join(PICTURE_KINDS)}).")
    return dict(sorted(found.items()))


def _found(folder: Path, left_out: list[Path] | None) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputFileError(f"{folder}: there is no such folder.")
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        if path.suffix.lower() not in PICTURE_KINDS or hidden or not path.is_file():
            continue
        if _is_text(name.as_posix()):
            found[name.as_posix()] = path
        elif left_out is not None:
            left_out.append(path)
        else:
            raise InputFileError(
                f"{folder}: the name of the picture {os.fsencode(name)!r} is not valid UTF-8. "
                "Rename it, or add --skip to leave such pictures out."
            )
    return found


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
