"""A folder of pictures and a table of their captions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputFileError
from ..files import list_pictures, open_table
from ..files.source import listed
from .payloads import check_payloads

__all__ = ["Captioned", "read_captions"]

_FILE_NAMES = ("file", "filename", "file_name", "image", "picture", "path")
_CAPTION_NAMES = ("caption", "text", "title", "description", "name")


@dataclass
class Captioned:
    """Pictures by name, and captions of some of them.

    Attributes
    ----------
    pictures : dict by name of paths
    captions : list of str
    of : list of str
        Name of the picture that each caption belongs to.
    payloads : list of dict
        The whole row of each caption.
    n_skipped : int
        Rows whose picture or caption is missing, and pictures whose name is no text, left out.
    """

    pictures: dict[str, Path]
    captions: list[str] = field(default_factory=list)
    of: list[str] = field(default_factory=list)
    payloads: list[dict[str, Any]] = field(default_factory=list)
    n_skipped: int = 0

    @property
    def one_each(self) -> bool:
        """Whether no picture has two captions, so that both can share an id."""
        return len(set(self.of)) == len(self.of)


def read_captions(
    folder: Path, table_name: str, *, file_column: str | None, caption_column: str | None, skip: bool
) -> Captioned:
    """Match the rows of a table with the pictures of a folder.

    A name in the table is looked up among the pictures that are there, and is never opened as a
    path. With ``skip``, rows without a picture or a caption are counted and left out.
    """
    table = open_table(table_name)
    unnamed: list[Path] | None = [] if skip else None
    found = Captioned(list_pictures(folder, unnamed))
    file_column = _column(table.columns, file_column, _FILE_NAMES, "--file-column", table_name)
    caption_column = _column(table.columns, caption_column, _CAPTION_NAMES, "--caption-column", table_name)
    missing, empty, numbers = [], [], []
    for number, row in enumerate(table.rows()):
        name, caption = str(row.get(file_column)), row.get(caption_column)
        if name not in found.pictures:
            missing.append(name)
        elif caption is None or not str(caption).strip():
            empty.append(number)
        else:
            found.captions.append(str(caption))
            found.of.append(name)
            numbers.append(number)
            rest = {key: value for key, value in row.items() if key not in (file_column, caption_column)}
            found.payloads.append({"file": name, "caption": str(caption), **rest})
    found.n_skipped = len(missing) + len(empty) + len(unnamed or ())
    if missing and not skip:
        raise InputFileError(
            f"{table_name}: {len(missing):,} of its pictures are not in {folder}: {listed(missing, 5)}. "
            "Names are relative to the folder. Add --skip to leave such rows out."
        )
    if empty and not skip:
        raise InputFileError(
            f"{table_name}: {len(empty):,} rows have no caption, the first is row {empty[0]}. "
            "Add --skip to leave such rows out."
        )
    if not found.captions:
        raise InputFileError(f"{table_name}: not one caption belongs to a picture in {folder}.")
    check_payloads(table_name, zip(numbers, found.payloads, strict=True))
    return found


def _column(columns: list[str], wanted: str | None, guesses: tuple[str, ...], option: str, name: str) -> str:
    by_lower = {column.lower(): column for column in reversed(columns)}
    chosen = wanted or next((by_lower[guess] for guess in guesses if guess in by_lower), None)
    if chosen is None or chosen not in columns:
        what = f"no column {wanted!r}" if wanted else f"none of the columns {listed(guesses)}"
        raise InputFileError(f"{name} has {what}; say {option}. Columns: {listed(columns)}.")
    return chosen
