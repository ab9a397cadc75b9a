"""A folder of pictures and a table of their captions."""

from __future__ import annotations

import os
from collections.abc import Collection as Names
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import InputFileError
from ..files import list_pictures, open_table
from ..files.source import Source, listed
from ..files.text_encoding import check_encoding, guess_encoding
from ..input_files import reading
from .options import FileName
from .payloads import check_payloads

__all__ = ["Caption", "CaptionedPictures", "read_captions"]

_FILE_NAMES = ("file", "filename", "file_name", "image", "picture", "path")
_CAPTION_NAMES = ("caption", "text", "title", "description", "name")


@dataclass(frozen=True)
class Caption:
    """A caption, the name of its picture, and the whole row of the table as a payload."""

    picture: str
    text: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class CaptionedPictures:
    """Pictures, and captions of some of them.

    Attributes
    ----------
    pictures : dict of paths by name
    captions : tuple of Caption
    n_left_out : int
        Rows without a picture or a caption, and pictures that cannot be read or whose names are not
        valid UTF-8.
    notes : tuple of str
        What to tell people, such as the encoding of the table if it was guessed.
    """

    pictures: dict[str, Path]
    captions: tuple[Caption, ...]
    n_left_out: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n_uncaptioned(self) -> int:
        """Number of pictures without a caption."""
        return len(self.pictures) - len({caption.picture for caption in self.captions})

    def without(self, names: Names[str]) -> CaptionedPictures:
        """The same without some pictures and their captions."""
        if not names:
            return self
        return replace(
            self,
            pictures={name: path for name, path in self.pictures.items() if name not in names},
            captions=tuple(caption for caption in self.captions if caption.picture not in names),
            n_left_out=self.n_left_out + len(names),
        )


def read_captions(
    folder: FileName,
    table_name: FileName,
    *,
    file_column: str | None,
    caption_column: str | None,
    skip: bool,
    encoding: str | None = None,
) -> CaptionedPictures:
    """Match the rows of a table with the pictures in a folder.

    A name in the table is relative to the folder, or an absolute path inside it. It is only looked up among
    the pictures in the folder, and never opened. With ``skip``, rows without a picture or a caption are
    counted and left out. Without ``encoding`` a table that is not UTF-8 is read with a guess, which is noted.
    """
    table_name = os.fspath(table_name)
    with reading(folder, InputFileError):
        if Path(folder).exists() and not Path(folder).is_dir():
            raise InputFileError(f"{folder} is not a folder. `images` takes the folder of the pictures.")
    encoding, notes = _encoding(table_name, encoding)
    table = open_table(table_name, encoding=encoding)
    badly_named: list[Path] | None = [] if skip else None
    pictures = list_pictures(folder, badly_named)
    file_column = _column(table.columns, file_column, _FILE_NAMES, "file_column", table_name)
    caption_column = _column(table.columns, caption_column, _CAPTION_NAMES, "caption_column", table_name)
    captions, places, missing, empty = [], [], [], []
    starts = {f"{path.as_posix()}/" for path in (Path(folder).absolute(), Path(folder).resolve())}
    for place, row in table.places_and_rows():
        name, text = _relative(str(row.get(file_column)), starts), row.get(caption_column)
        if name not in pictures:
            missing.append(name)
        elif text is None or not str(text).strip():
            empty.append(place)
        else:
            rest = {key: value for key, value in row.items() if key not in (file_column, caption_column)}
            captions.append(Caption(name, str(text), {"file": name, "caption": str(text), **rest}))
            places.append(place)
    if missing and not skip:
        raise InputFileError(
            f"{table_name}: {len(missing):,} of its pictures {'is' if len(missing) == 1 else 'are'} not in {folder}: "
            f"{listed(missing, 5)}. Names are relative to the folder, or absolute paths inside it. "
            "Use `skip` to leave such rows out."
        )
    if empty and not skip:
        raise InputFileError(
            f"{table_name}: {len(empty):,} rows have no caption, the first is {empty[0]}. "
            "Use `skip` to leave such rows out."
        )
    check_payloads(table_name, zip(places, (caption.payload for caption in captions), strict=True))
    n_left_out = len(missing) + len(empty) + len(badly_named or ())
    return CaptionedPictures(pictures, tuple(captions), n_left_out, notes)


def _encoding(table: str, wanted: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The encoding of a table of captions, and what to say if it was guessed."""
    source = Source.parse(table)
    if source.kind not in (".csv", ".jsonl"):
        if wanted is not None:
            raise InputFileError(f"{table}: `encoding` goes with a .csv or .jsonl file.")
        return None, ()
    if wanted is not None:
        return check_encoding(wanted), ()
    with source.reading():
        guess = guess_encoding(source.path)
    if guess.startswith("utf-8"):
        return None, ()
    return guess, (
        f"{table} is not UTF-8 text. It was read as {guess}, which is a guess. Say `encoding` if it is wrong.",
    )


def _relative(name: str, starts: Iterable[str]) -> str:
    """The name of a picture relative to the folder, with ``/``."""
    if os.sep != "/":
        name = name.replace(os.sep, "/")
    start = next((start for start in starts if name.startswith(start)), "")
    name = name[len(start) :]
    return name[2:] if name.startswith("./") else name


def _column(columns: list[str], wanted: str | None, guesses: tuple[str, ...], option: str, name: str) -> str:
    by_lower = {column.lower(): column for column in reversed(columns)}
    chosen = wanted or next((by_lower[guess] for guess in guesses if guess in by_lower), None)
    if chosen is None or chosen not in columns:
        what = f"no column {wanted!r}" if wanted else f"none of the columns {listed(guesses)}"
        raise InputFileError(f"{name} has {what}. Say `{option}`. Columns: {listed(columns)}.")
    return chosen
