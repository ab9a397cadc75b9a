"""The model in a model file or a collection, and its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CollectionFileError, InputFileError
from ..featurizers.base import checked_state, state_hash, takes_pictures, takes_texts
from ..files import FeatureFile, Source
from ..input_files import check_regular_file, reading
from ..model import HashModel
from ..model.file import is_model_file
from ..stores import Collection
from ..stores import open as open_address
from ..stores.address import is_url, shown_address
from ..stores.engine_store import EngineStore
from .file_kinds import FileKind, file_kind, foreign_kind
from .options import FileName, OptionError
from .results import ModalityInfo, ModelInfo

__all__ = [
    "check_calibrated",
    "choose_modality",
    "describe_model",
    "load_model",
    "open_collection",
    "open_store",
]


def load_model(name: FileName, featurizers: Mapping[str, Any] | None = None) -> HashModel:
    """The model in a model file or in a collection, which may be on a server; with featurizers of the user's own."""
    if is_url(name):
        with open_store(name, featurizers=featurizers) as store:
            return store.model
    kind, source = file_kind(name)
    if kind is FileKind.collection:
        with Collection.open(source.path, featurizers=featurizers) as collection:
            return collection.model
    if kind is FileKind.model:
        return HashModel.load(source.path, featurizers=featurizers)
    raise InputFileError(
        f"{source} is {_described(kind, source)}. A model (.dhm) or a collection (.dh) is needed here."
    )


def open_store(
    name: FileName,
    *,
    writable: bool = False,
    featurizers: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Collection | EngineStore:
    """Open a collection, in a file or on a server; ``timeout`` is the time in seconds to wait for a server."""
    if is_url(name):
        return open_address(name, writable=writable, featurizers=featurizers, timeout=timeout)
    return open_collection(name, writable=writable, featurizers=featurizers)


def open_collection(
    name: FileName, *, writable: bool = False, featurizers: Mapping[str, Any] | None = None
) -> Collection:
    """Open a collection in a file. The error for a file of another kind says what it is."""
    if is_url(name):
        raise OptionError(
            f"{shown_address(name)} is on a server, and a file is needed here. Copy it first: "
            f"diffhash copy ADDRESS FILE"
        )
    with reading(name, InputFileError):
        check_regular_file(name, InputFileError)
    try:
        # Not after a look at its first bytes: closing that handle would end the locks of a collection
        # that is open in this process (see stores/sqlite/lock.py).
        return Collection.open(name, writable=writable, featurizers=featurizers)
    except CollectionFileError as error:
        kind, source = file_kind(name)
        # Files of unknown kinds count as models, also a damaged collection.
        foreign = foreign_kind(name) if kind is FileKind.model and not is_model_file(source.path) else None
        if foreign is not None:
            raise InputFileError(f"{source} is {foreign}. A collection (.dh) is needed here.") from error
        if kind is FileKind.collection or (kind is FileKind.model and not is_model_file(source.path)):
            raise
        raise InputFileError(
            f"{source} is {_described(kind, source)}. A collection (.dh) is needed here."
        ) from error


def _described(kind: FileKind, source: Source) -> str:
    if kind is FileKind.data:
        return f"a {source.kind} file"
    return {
        FileKind.model: "a model",
        FileKind.saved_index: "an index of codes (.dhi)",
        FileKind.faiss: "a FAISS index",
    }[kind]


def describe_model(model: HashModel) -> ModelInfo:
    """What a model is, in plain values."""
    return ModelInfo(
        method=model.method,
        bits=int(model.n_bits),
        modalities=tuple(
            ModalityInfo(name, n, *_describe_featurizer(model, name)) for name, n in model.n_features.items()
        ),
    )


def _describe_featurizer(model: HashModel, name: str) -> tuple[str | None, str | None, str | None]:
    """Kind of a featurizer, what it takes, and the hash of its state. One that is not given takes nothing."""
    featurizer = model.featurizers.get(name)
    if featurizer is not None:
        takes = "text" if takes_texts(featurizer) else "pictures" if takes_pictures(featurizer) else None
        return (
            featurizer.kind,
            takes,
            state_hash(featurizer.kind, *checked_state(featurizer, name, caller="info")),
        )
    kept = model.absent_featurizers.get(name)
    return (None, None, None) if kept is None else (None, None, state_hash(*kept))


def check_calibrated(model: HashModel, name: FileName) -> None:
    """Raise unless a model can make fused codes."""
    if model.fusion_slopes is None:
        raise InputFileError(
            f"the model in {name} is not calibrated, and fused codes need that. Learn it again with `calibrate` "
            "(or build the collection with `fused`)."
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
    if not matching:
        raise OptionError(
            f"{file.source} has {file.n_features:,} features, and no modality of the model has "
            f"{file.n_features:,} features. It has {described}"
        )
    if len(matching) > 1:
        raise OptionError(
            f"{file.source} has {file.n_features:,} features, as several modalities of the model. "
            f"It has {described}. Say `modality`"
        )
    return matching[0]
