"""Kinds of files, and the model that a file contains."""

from __future__ import annotations

from enum import StrEnum

from ..errors import InputFileError
from ..files import FILE_KINDS, FeatureFile, Source
from ..model import HashModel
from ..stores import Collection
from ..stores.sqlite.schema import SQLITE_HEADER
from .options import FileName, OptionError
from .results import ModalityInfo, ModelInfo

__all__ = ["FileKind", "choose_modality", "describe_model", "file_kind", "load_model"]


class FileKind(StrEnum):
    """Kinds of files that the workflows read."""

    model = "model"
    collection = "collection"
    data = "data"


def file_kind(name: FileName) -> tuple[FileKind, Source]:
    """Kind of an existing file, from its ending and its first bytes."""
    source = Source.parse(name)
    if source.kind in FILE_KINDS:
        return FileKind.data, source
    with source.path.open("rb") as file:
        head = file.read(len(SQLITE_HEADER))
    return (FileKind.collection if head == SQLITE_HEADER else FileKind.model), source


def load_model(name: FileName) -> HashModel:
    """The model in a model file or in a collection."""
    kind, source = file_kind(name)
    if kind is FileKind.data:
        raise InputFileError(
            f"{source} is a {source.kind} file. A model (.dhm) or a collection (.dh) is needed here."
        )
    if kind is FileKind.collection:
        with Collection.open(source.path) as collection:
            return collection.model
    return HashModel.load(source.path)


def describe_model(model: HashModel) -> ModelInfo:
    """What a model is, in plain values."""
    return ModelInfo(
        method=model.method,
        bits=int(model.n_bits),
        modalities=tuple(
            ModalityInfo(name, n, model.featurizers[name].kind if name in model.featurizers else None)
            for name, n in model.n_features.items()
        ),
    )


def choose_modality(model: HashModel, file: FeatureFile, wanted: str | None) -> str:
    """The modality ``wanted``, or the only one with as many features as the file."""
    described = ", ".join(f"{name} ({n:,} features)" for name, n in model.n_features.items())
    if wanted is not None:
        if wanted not in model.modalities:
            raise OptionError(f"`modality`: the model has no {wanted!r}. It has {described}")
        return wanted
    if len(model.modalities) == 1:
        return model.modalities[0]
    matching = [name for name, n in model.n_features.items() if n == file.n_features]
    if len(matching) != 1:
        raise OptionError(
            f"{file.source} has {file.n_features:,} features, and the model has {described}: say `modality`"
        )
    return matching[0]
