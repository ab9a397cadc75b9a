"""The model of a store: read from its bytes, with the user's own kernels and featurizers; and checks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import (
    CollectionFileError,
    FeatureCountError,
    ModelFileError,
    NewerCollectionError,
    NewerFormatError,
    ParameterError,
)
from ..featurizers.registry import is_built_in
from ..maps.kernel import KernelMap
from ..model import HashModel
from ..model.featurizer_state import add_featurizers
from ..native.argument_checks import MAX_BITS
from ..validation import check_count, known_modality
from .fused_objects import check_can_fuse

__all__ = [
    "FOREIGN_ERRORS",
    "check_description",
    "check_extends",
    "check_featurizers",
    "check_n_bits",
    "copy_model",
    "damaged",
    "load_model",
    "own_kernels",
    "with_own_featurizers",
]

_OPEN = "Collection.open"
#: What reading content that was changed can raise, depending on the change.
FOREIGN_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class AbsentKernel:
    """Takes the place of a kernel or distance function that the user did not give; an error when it is called."""

    path: Path | str

    def __call__(self, *_: object) -> Any:
        raise ParameterError(
            f"{_OPEN}: the model in {self.path} was fitted with a kernel or distance function of your own, which the "
            f"file cannot hold. Without it, features cannot be encoded. Pass it again: {_OPEN}(path, kernel=...)."
        )


def load_model(
    data: bytes,
    *,
    path: Path | str,
    modalities: tuple[str, ...],
    kernel: Any,
    featurizers: Mapping[str, Any],
    strict: bool,
) -> HashModel:
    """The model that a collection holds.

    If the model needs a kernel function that is not given, only encoding features is an error.

    Parameters
    ----------
    data : bytes
        Content of the model file.
    path, modalities
        File or address of the collection, and the modalities that its model encodes.
    kernel, featurizers : the user's own
    strict : bool
        Raise an error if a kernel or a featurizer does not fit the model. If False it is not used:
        the model was replaced after the collection was opened with them.
    """
    model = _read(data, path, modalities, kernel, strict)
    for modality, own in featurizers.items():
        try:
            model = add_featurizers(model, {modality: own}, caller=_OPEN)
        except (ParameterError, FeatureCountError):
            if strict:
                raise
    return model


def _read(data: bytes, path: Path | str, modalities: tuple[str, ...], kernel: Any, strict: bool) -> HashModel:
    read = partial(HashModel.from_bytes, data, name=f"the model in {path}", opened_by=_OPEN)
    try:
        return read(kernel=kernel)
    except ParameterError as error:
        if not strict:
            return read(kernel=None)
        raise ParameterError(
            f"{_OPEN}: the model in {path} was fitted without a kernel function of your own. Leave kernel out."
        ) from error
    except NewerFormatError as error:
        raise NewerCollectionError(str(error)) from error
    except ModelFileError as error:
        # Either the model is damaged, or only the user's kernel is missing: then it can be read with another one.
        given = kernel if isinstance(kernel, Mapping) else dict.fromkeys(modalities, kernel)
        try:
            return read(kernel={m: given.get(m) or AbsentKernel(path) for m in modalities})
        except FOREIGN_ERRORS:
            raise damaged(path, error) from error
    except FOREIGN_ERRORS as error:
        raise damaged(path, repr(error)) from error


def damaged(path: Path | str, problem: object) -> CollectionFileError:
    """The error about a model that cannot be read."""
    return CollectionFileError(f"Collection: the model in {path} is damaged: {problem}")


def copy_model(model: HashModel) -> tuple[bytes, HashModel]:
    """Content of the file of a model, and the model that is read from it.

    A collection uses the copy. If the caller changes the arrays or featurizers of the first model,
    the model in memory still equals the one in the file. Only kernels and featurizers of the user's
    own are shared: a file cannot hold them.
    """
    data = model.to_bytes()
    own = {m: featurizer for m, featurizer in model.featurizers.items() if not is_built_in(featurizer)}
    copy = HashModel.from_bytes(data, name="the model", kernel=own_kernels(model), opened_by=_OPEN)
    return data, with_own_featurizers(copy, own, caller=_OPEN)


def own_kernels(model: HashModel) -> dict[str, Callable[..., Any]] | None:
    """The user's own kernel and distance functions by modality; None if the model has none."""
    kernels = {
        m: fitted.own_function
        for m, fitted in model.maps.items()
        if isinstance(fitted, KernelMap) and fitted.own_function is not None
    }
    return kernels or None


def check_n_bits(model: HashModel, *, caller: str) -> None:
    """Refuse a model whose codes could be stored but not searched."""
    if model.n_bits > MAX_BITS:
        raise ParameterError(
            f"{caller}: a collection holds codes of at most {MAX_BITS} bits, the model makes {model.n_bits}. "
            "Fit one with fewer bits. Nothing was written."
        )


def check_extends(old: HashModel, new: HashModel, fused: str | None, *, caller: str) -> None:
    """Raise unless the new model makes the same codes in all modalities of the old one, and has more modalities."""
    lost = [m for m in old.modalities if m not in new.modalities]
    changed = [m for m in old.modalities if m not in lost and not _same_function(old, new, m)]
    if lost or changed or new.n_bits != old.n_bits:
        what = f"lacks {', '.join(map(repr, lost))}" if lost else "makes other codes than the stored ones"
        raise ParameterError(
            f"{caller}: the new model {what}. Give what extend of the collection's own hasher returned; "
            "refit takes any model and encodes everything again. Nothing was changed."
        )
    if set(new.modalities) == set(old.modalities):
        raise ParameterError(
            f"{caller}: the model has no other modalities than the collection has. Nothing was changed."
        )
    if fused is not None:
        check_can_fuse(new, fused, caller=caller)


def _same_function(old: HashModel, new: HashModel, modality: str) -> bool:
    """Whether two models have the same hash function for a modality."""
    (a, arrays_a), (b, arrays_b) = old.maps[modality].state(), new.maps[modality].state()
    arrays_a = {**arrays_a, "P": old.projections[modality], "T": old.thresholds[modality]}
    arrays_b = {**arrays_b, "P": new.projections[modality], "T": new.thresholds[modality]}
    return (
        type(old.maps[modality]) is type(new.maps[modality])
        and a == b
        and arrays_a.keys() == arrays_b.keys()
        and all(np.array_equal(array, arrays_b[name]) for name, array in arrays_a.items())
    )


def check_description(n_bits: Any, modalities: Any, *, caller: str) -> tuple[int, tuple[str, ...]]:
    """Number of bits and modalities of a collection without a model."""
    if n_bits is None or modalities is None:
        raise ParameterError(
            f"{caller}: give a fitted hasher or a model; or for codes from elsewhere n_bits and modalities, "
            'such as n_bits=256, modalities=("image",). Nothing was written.'
        )
    bits = check_count(n_bits, "n_bits", caller=caller, maximum=MAX_BITS)
    names = tuple(modalities) if isinstance(modalities, list | tuple) else ()
    named = all(isinstance(name, str) and name and name.isprintable() for name in names)
    if not names or not named or len(set(names)) != len(names):
        raise ParameterError(
            f"{caller}: modalities must be different names, such as ('image',), got {modalities!r:.60}."
        )
    return bits, names


def check_featurizers(featurizers: Any, modalities: tuple[str, ...], *, caller: str) -> dict[str, Any]:
    """The user's own featurizers by modality; the modalities must be known."""
    if featurizers is None:
        return {}
    if not isinstance(featurizers, Mapping):
        raise ParameterError(
            f"{caller}: featurizers must be a dict by modality, got {type(featurizers).__name__}. "
            f"Write featurizers={{{modalities[0]!r}: ...}}."
        )
    return {known_modality(m, modalities, caller=caller): given for m, given in featurizers.items()}


def with_own_featurizers(model: HashModel, featurizers: Mapping[str, Any], *, caller: str) -> HashModel:
    """The model with the user's own featurizers, as objects or names, in addition to those that it has."""
    return add_featurizers(model, featurizers, caller=caller) if featurizers else model
