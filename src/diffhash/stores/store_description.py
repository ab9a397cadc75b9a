"""What a store is: bits, modalities and model. Engines keep it beside the codes, and compare it before they write."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import CollectionFileError, NewerCollectionError, ParameterError
from ..model import HashModel, model_of
from ..native.argument_checks import MAX_BITS
from .caption_words import check_fields
from .fused_objects import check_can_fuse
from .model_loading import (
    check_description,
    check_featurizers,
    check_n_bits,
    copy_model,
    load_model,
    with_own_featurizers,
)

__all__ = ["FORMAT", "NewStore", "StoreDescription", "describe_store"]

#: Format of the description. A later release raises it if this one could not use its stores.
FORMAT = 1
_MAGIC = "diffhash collection"


@dataclass(frozen=True)
class StoreDescription:
    """What a store is. It never changes while the store exists.

    Attributes
    ----------
    n_bits : int
    modalities : tuple of str
        All in which objects can have codes, the one of fused codes included.
    fused : str or None
        The modality of fused codes.
    model_sha256 : str
        Checksum of the bytes of the model; empty without a model.
    identity : str
        Random name. A store that was made again has another one, and whoever has the old one open can tell.
    words : tuple of str
        Payload fields that are captions. A store without a word index remembers them, so that a copy in a file has
        the index again.

    Examples
    --------
    >>> description = StoreDescription(64, ("image", "text"), None, "", "a1")
    >>> StoreDescription.from_json(description.to_json(), name="the store") == description
    True
    """

    n_bits: int
    modalities: tuple[str, ...]
    fused: str | None
    model_sha256: str
    identity: str
    words: tuple[str, ...] = ()

    @property
    def has_model(self) -> bool:
        """Whether there is a model; without one only codes can be added and searched."""
        return bool(self.model_sha256)

    @property
    def model_modalities(self) -> tuple[str, ...]:
        """Modalities that the model encodes."""
        return tuple(name for name in self.modalities if name != self.fused)

    def to_json(self) -> str:
        """The description as text, for the engine to keep."""
        facts = {
            "magic": _MAGIC,
            "format": FORMAT,
            "n_bits": self.n_bits,
            "modalities": list(self.modalities),
            "fused": self.fused,
            "model_sha256": self.model_sha256,
            "identity": self.identity,
        }
        # Engines compare this text with the one that they keep: without captions it is that of earlier releases.
        return json.dumps(facts | ({"words": list(self.words)} if self.words else {}))

    @classmethod
    def from_json(cls, text: str, *, name: str) -> StoreDescription:
        """Read and check a description that :meth:`to_json` made.

        Parameters
        ----------
        text : str
        name : str
            What the store is called in errors.

        Raises
        ------
        CollectionFileError
            If it is not a description.
        NewerCollectionError
            If a later release wrote it.
        """
        try:
            given = json.loads(text)
            if given["magic"] != _MAGIC:
                raise ValueError("it belongs to something else")
            if type(given["format"]) is int and given["format"] > FORMAT:
                raise NewerCollectionError(
                    f"{name} has format {given['format']}, and this release of diffhash reads up to {FORMAT}. "
                    "Install a newer release."
                )
            names = tuple(given["modalities"])
            words = tuple(given.get("words", ()))
            found = cls(
                given["n_bits"], names, given["fused"], given["model_sha256"], given["identity"], words
            )
            whole = type(found.n_bits) is int and 1 <= found.n_bits <= MAX_BITS
            texts = all(
                isinstance(value, str) for value in (*names, *words, found.model_sha256, found.identity)
            ) and all(isinstance(given.get(name, []), list) for name in ("modalities", "words"))
            fused = found.fused is None or (found.fused in names and len(names) > 1)
            if not whole or not texts or not names or len(set(names)) != len(names) or not fused:
                raise ValueError("values out of range")
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, NewerCollectionError):
                raise
            raise CollectionFileError(
                f"{name} is not a collection, or it is damaged: its description cannot be read ({error!s:.100})."
            ) from error
        return found

    def load(
        self,
        data: bytes,
        *,
        name: str,
        kernel: Any = None,
        featurizers: Mapping[str, Any] | None = None,
        caller: str = "diffhash.open",
    ) -> HashModel:
        """The model from the bytes that the engine kept. Its checksum must be that of the description."""
        if hashlib.sha256(data).hexdigest() != self.model_sha256:
            raise CollectionFileError(
                f"{caller}: the model of {name} is damaged, or is not the one that made the codes: its checksum is "
                "wrong. Restore it from a backup."
            )
        own = check_featurizers(featurizers, self.model_modalities, caller=caller)
        model = load_model(
            data, path=name, modalities=self.model_modalities, kernel=kernel, featurizers=own, strict=True
        )
        if (model.n_bits, set(model.modalities)) != (self.n_bits, set(self.model_modalities)):
            raise CollectionFileError(
                f"{caller}: the number of bits or the modalities of the model of {name} differ from its description."
            )
        return model

    def without_identity(self) -> StoreDescription:
        """The description with an empty identity, to compare two stores."""
        return replace(self, identity="")


@dataclass(frozen=True)
class NewStore:
    """What an engine needs to make a store.

    Attributes
    ----------
    description : StoreDescription
    model : HashModel or None
        The copy that the store uses.
    data : bytes
        The model as bytes, to be kept; empty without a model.
    """

    description: StoreDescription
    model: HashModel | None
    data: bytes


def describe_store(
    hasher: Any,
    *,
    n_bits: int | None,
    modalities: Any,
    featurizers: Mapping[str, Any] | None,
    fused: str | None,
    words: str | Sequence[str] | None = None,
    caller: str,
) -> NewStore:
    """Check the arguments with which a store is made; see :func:`diffhash.create`."""
    fields = () if words is None else check_fields(words, caller=caller)
    if hasher is None:
        bits, names = check_description(n_bits, modalities, caller=caller)
        if featurizers is not None or fused is not None:
            raise ParameterError(f"{caller}: featurizers and fused codes need a model. Give a fitted hasher.")
        return NewStore(StoreDescription(bits, names, None, "", secrets.token_hex(8), fields), None, b"")
    if n_bits is not None or modalities is not None:
        raise ParameterError(f"{caller}: n_bits and modalities are those of the hasher. Leave them out.")
    model = model_of(hasher, caller=caller)
    model = with_own_featurizers(
        model, check_featurizers(featurizers, model.modalities, caller=caller), caller=caller
    )
    check_n_bits(model, caller=caller)
    names = model.modalities
    if fused is not None:
        check_can_fuse(model, fused, caller=caller)
        names = (*names, fused)
    data, model = copy_model(model)
    checksum = hashlib.sha256(data).hexdigest()
    identity = secrets.token_hex(8)
    return NewStore(StoreDescription(model.n_bits, names, fused, checksum, identity, fields), model, data)
