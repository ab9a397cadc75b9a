"""The featurizers of a hasher in its model file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ..errors import DiffhashError, ModelFileError, ParameterError
from ..featurizers.base import Featurizer, checked_state
from ..featurizers.registry import BUILT_IN, featurizer_from_state
from ..validation import known_modality
from .base import BaseHasher
from .raw_input import AbsentFeaturizer

__all__ = ["read_featurizers", "write_featurizers"]


def write_featurizers(hasher: BaseHasher, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Part of the header, empty if there is none; the featurizers' arrays are put among ``arrays``."""
    caller = f"{type(hasher).__name__}.save"
    described = {}
    for number, modality in enumerate(hasher.modalities_):
        if modality in hasher.featurizers_:
            featurizer = hasher.featurizers_[modality]
            kind = featurizer.kind
            parameters, state = checked_state(featurizer, modality, caller=caller)
        elif modality in hasher._absent_featurizers:
            kind, parameters, state = hasher._absent_featurizers[modality]
        else:
            continue
        described[modality] = {"kind": kind, "parameters": parameters}
        arrays |= {f"featurizer/{number}/{name}": array for name, array in state.items()}
    # A model without any has the same file as before there were featurizers.
    return {"featurizers": described} if described else {}


def read_featurizers(
    hasher: BaseHasher,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    given: Mapping[str, Any] | None,
) -> None:
    """Set the featurizers that a file holds, and those of the user's own that ``load`` was given."""
    found, absent = dict[str, Featurizer](), dict[str, AbsentFeaturizer]()
    for modality, described in header.get("featurizers", {}).items():
        number = hasher.modalities_.index(modality)
        prefix = f"featurizer/{number}/"
        state = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
        kept = AbsentFeaturizer(described["kind"], dict(described["parameters"]), state)
        if not isinstance(kept.kind, str):
            raise ModelFileError("load: the kind of a featurizer must be a word. Save the model again.")
        if kept.kind in BUILT_IN:
            found[modality] = _built_in(kept, modality, hasher.n_features_in_[modality])
        else:
            absent[modality] = kept
    for modality, own in _checked_given(given, hasher.modalities_).items():
        found[modality] = _own(own, absent.pop(modality, None), modality)
    hasher.set_featurizers(found)
    hasher._absent_featurizers = absent


def _built_in(kept: AbsentFeaturizer, modality: str, n_features: int) -> Featurizer:
    try:
        featurizer = featurizer_from_state(*kept)
    except (DiffhashError, TypeError) as error:
        raise ModelFileError(
            f"load: the featurizer of modality {modality!r} does not hold together ({error}). Save the model again."
        ) from error
    # Before anything of that size is made: a file may ask for a billion cells.
    if featurizer.n_features != n_features:
        raise ModelFileError(
            f"load: the featurizer of modality {modality!r} gives {featurizer.n_features} features, the model has "
            f"{n_features}. Save the model again."
        )
    return featurizer


def _checked_given(given: Any, modalities: tuple[str, ...]) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"load: featurizers must be a dict by modality, got {type(given).__name__}. "
            f"Write featurizers={{{modalities[0]!r}: ...}}."
        )
    return {known_modality(m, modalities, caller="load"): featurizer for m, featurizer in given.items()}


def _own(own: Any, kept: AbsentFeaturizer | None, modality: str) -> Any:
    """The featurizer that was given, or one made by the class that was given from what the file holds."""
    if kept is not None and getattr(own, "kind", kept.kind) != kept.kind:
        raise ParameterError(
            f"load: the model was saved with a featurizer of kind {kept.kind!r} for modality {modality!r}, "
            f"got one of kind {own.kind!r}."
        )
    if not isinstance(own, type):
        return own
    if kept is None or not hasattr(own, "from_state"):
        raise ParameterError(
            f"load: the file holds no state from which {own.__name__} could be made for modality {modality!r}. "
            "Pass an object in place of the class."
        )
    return own.from_state(kept.parameters, kept.arrays)
