"""Kinds of files that the workflows read."""

from __future__ import annotations

from enum import StrEnum

from ..errors import InputFileError
from ..files import FILE_KINDS, Source
from ..input_files import open_input
from ..open_collections import is_open_collection
from ..stores.sqlite.schema import SQLITE_HEADER
from .options import FileName

__all__ = ["FileKind", "file_kind", "foreign_kind"]

#: In the first bytes of an index that HammingIndex.save wrote.
_INDEX = b'"diffhash_index"'
#: First bytes of the binary indexes that FAISS writes.
_FAISS = (b"IBxF", b"IBMp", b"IBM2")
_HEAD = 100


#: First bytes of other files that people take for a collection, and what they are.
_OTHERS = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
)


class FileKind(StrEnum):
    """Kinds of files that the workflows read."""

    model = "model"
    collection = "collection"
    saved_index = "index"
    faiss = "FAISS index"
    data = "data"


def file_kind(name: FileName) -> tuple[FileKind, Source]:
    """Kind of an existing file, from its ending and its first bytes."""
    source = Source.parse(name)
    if is_open_collection(source.path):
        return FileKind.collection, source
    with open_input(source.path, InputFileError) as file:
        head = file.read(_HEAD)
    if head.startswith(SQLITE_HEADER):
        return FileKind.collection, source
    if source.kind in FILE_KINDS:
        return FileKind.data, source
    if source.kind == ".dhi" or _INDEX in head:
        return FileKind.saved_index, source
    if source.kind == ".faiss" or head.startswith(_FAISS):
        return FileKind.faiss, source
    return FileKind.model, source


def foreign_kind(name: FileName) -> str | None:
    """What a file is that no workflow reads, from its first bytes; None if that cannot be told.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x"
    >>> _ = path.write_text("Some words.")
    >>> foreign_kind(path)
    'a text file'
    """
    with open_input(Source.parse(name).path, InputFileError) as file:
        head = file.read(_HEAD)
    if not head:
        return "an empty file"
    for start, kind in _OTHERS:
        if head.startswith(start):
            return kind
    # A character may be cut off at the end.
    text = head.decode("utf-8", "ignore")
    if len(head) - len(text.encode()) < 4 and (text.isprintable() or (text.split() and "\0" not in text)):
        return "a text file"
    return None
