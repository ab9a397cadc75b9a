"""What a file is, and the model in it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from ..errors import InputFileError
from ..files import FILE_KINDS, Source
from ..hashers import load
from ..hashers.base import BaseHasher

__all__ = ["FileKind", "kind_of", "load_model"]

_SQLITE = b"SQLite format 3\x00"


class FileKind(StrEnum):
    """What the commands can be given."""

    model = "model"
    collection = "collection"
    data = "data"


def kind_of(name: str) -> tuple[FileKind, Source]:
    """Look at the ending and the first bytes of a file that must be there."""
    source = Source.parse(name)
    if source.kind in FILE_KINDS:
        return FileKind.data, source
    with source.path.open("rb") as file:
        head = file.read(len(_SQLITE))
    return (FileKind.collection if head == _SQLITE else FileKind.model), source


def load_model(name: str | Path) -> BaseHasher:
    """The model of a model file or of a collection."""
    kind, source = kind_of(str(name))
    if kind is FileKind.data:
        raise InputFileError(f"{source}: a model or a collection is needed here, not a {source.kind} file.")
    if kind is FileKind.collection:
        from ..stores import Collection

        with Collection.open(source.path) as collection:
            hasher: BaseHasher = collection.hasher
            return hasher
    return load(source.path)
