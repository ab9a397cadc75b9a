"""Kinds of files that the workflows read."""

from __future__ import annotations

from enum import StrEnum

from ..errors import InputFileError
from ..files import FILE_KINDS, Source
from ..input_files import open_input
from ..open_collections import is_open_collection
from ..stores.sqlite.schema import SQLITE_HEADER
from .options import FileName

__all__ = ["FileKind", "file_kind"]

#: In the first bytes of an index that HammingIndex.save wrote.
_INDEX = b'"diffhash_index"'
#: First bytes of the binary indexes that FAISS writes.
_FAISS = (b"IBxF", b"IBMp", b"IBM2")
_HEAD = 100


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
