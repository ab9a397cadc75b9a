"""The featurizers of a model as part of its file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from ..errors import DiffhashError, ModelFileError, ParameterError
from ..featurizers.base import Featurizer, checked_state
from ..featurizers.registry import BUILT_IN, featurizer_from_state
from ..validation import known_modality
from .hash_model import AbsentFeaturizer, HashModel

__all__ = ["add_featurizers", "read_featurizers", "write_featurizers"]


def write_featurizers(model: HashModel, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Part of the header; the arrays of the featurizers are added to ``arrays``."""
    described = {}
    for number, modality in enumerate(model.modalities):
        if modality in model.featurizers:
            featurizer = model.featurizers[modality]
            kind = featurizer.kind
            parameters, state = checked_state(featurizer, modality, caller=f"{model.method}.save")
        elif modality in model.absent_featurizers:
            kind, parameters, state = model.absent_featurizers[modality]
        else:
            continue
        described[modality] = {"kind": kind, "parameters": parameters}
        arrays |= {f"featurizer/{number}/{name}": array for name, array in state.items()}
    # Without featurizers the file is the same as before featurizers existed.
    return {"featurizers": described} if described else {}


def read_featurizers(
    model: HashModel,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    given: Mapping[str, Any] | None,
) -> HashModel:
    """The model with the featurizers of its file and the user's own that ``load`` was given."""
    found, absent = dict[str, Featurizer](), dict[str, AbsentFeaturizer]()
    for modality, described in header.get("featurizers", {}).items():
        prefix = f"featurizer/{model.modalities.index(modality)}/"
        state = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
        kept = AbsentFeaturizer(described["kind"], dict(described["parameters"]), state)
        if not isinstance(kept.kind, str):
            raise ModelFileError("load: the kind of a featurizer must be a string. Save the model again.")
        if kept.kind in BUILT_IN:
            found[modality] = _built_in(kept, modality, model.n_features[modality])
        else:
            absent[modality] = kept
    model = replace(model.with_featurizers(found, caller="load"), absent_featurizers=absent)
    return add_featurizers(model, given, caller="load")


def add_featurizers(model: HashModel, given: Mapping[str, Any] | None, *, caller: str) -> HashModel:
    """The model with the user's own featurizers in addition to those that it has.

    Parameters
    ----------
    model : HashModel
    given : dict by modality, or None
        Objects, or classes that are made from the state in ``model.absent_featurizers``.
    caller : str
        Prefix of error messages.
    """
    featurizers, absent = dict(model.featurizers), dict(model.absent_featurizers)
    for modality, own in _checked_given(given, model.modalities, caller).items():
        featurizers[modality] = _own(own, absent.pop(modality, None), modality, caller)
    return replace(model.with_featurizers(featurizers, caller=caller), absent_featurizers=absent)


def _built_in(kept: AbsentFeaturizer, modality: str, n_features: int) -> Featurizer:
    try:
        featurizer = featurizer_from_state(*kept)
    except (DiffhashError, TypeError) as error:
        raise ModelFileError(
            f"load: the state of the featurizer of modality {modality!r} is inconsistent ({error}). "
            "Save the model again."
        ) from error
    # Checked before anything of that size is allocated: a file may ask for a billion cells.
    if featurizer.n_features != n_features:
        raise ModelFileError(
            f"load: the featurizer of modality {modality!r} gives {featurizer.n_features} features, the model has "
            f"{n_features}. Save the model again."
        )
    return featurizer


def _checked_given(given: Any, modalities: tuple[str, ...], caller: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{caller}: featurizers must be a dict by modality, got {type(given).__name__}. "
            f"Write featurizers={{{modalities[0]!r}: ...}}."
        )
    return {known_modality(m, modalities, caller=caller): featurizer for m, featurizer in given.items()}


def _own(own: Any, kept: AbsentFeaturizer | None, modality: str, caller: str) -> Any:
    """The featurizer that was given; if a class was given, it is made from the state in the file."""
    if kept is not None and getattr(own, "kind", kept.kind) != kept.kind:
        raise ParameterError(
            f"{caller}: the model was saved with a featurizer of kind {kept.kind!r} for modality {modality!r}, "
            f"got one of kind {own.kind!r}."
        )
    if not isinstance(own, type):
        return own
    if kept is None or not hasattr(own, "from_state"):
        raise ParameterError(
            f"{caller}: the file holds no state from which {own.__name__} could be made for modality {modality!r}. "
            "Pass an object instead of the class."
        )
    return own.from_state(kept.parameters, kept.arrays)
