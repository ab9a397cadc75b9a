"""The featurizers of a model as part of its file, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiffhashError, FeaturizerMismatchError, ModelFileError, ParameterError
from ..featurizers.base import Featurizer, checked_state, state_hash
from ..featurizers.named import make_featurizer, named_featurizer
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
        Objects, classes that are made from the state in ``model.absent_featurizers``, or names, see
        :func:`~diffhash.featurizers.load_featurizer`.
    caller : str
        Prefix of error messages.
    """
    featurizers, absent = dict(model.featurizers), dict(model.absent_featurizers)
    expected = dict[str, AbsentFeaturizer]()
    for modality, own in _checked_given(given, model.modalities, caller).items():
        kept = absent.pop(modality, None)
        if kept is None and modality in featurizers:
            known = featurizers[modality]
            kept = AbsentFeaturizer(known.kind, *checked_state(known, modality, caller=caller))
        featurizers[modality] = _own(own, kept, modality, caller)
        if kept is not None:
            expected[modality] = kept
    changed = model.with_featurizers(featurizers, caller=caller)
    for modality, kept in expected.items():
        check_same_state(featurizers[modality], kept, modality, caller=caller)
    return replace(changed, absent_featurizers=absent)


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
    """The featurizer that was given. A class is made from the state in the file, a name is looked up."""
    settings: dict[str, Any] | None = None
    named = isinstance(own, str | os.PathLike)
    if named:
        own, settings = named_featurizer(own)
    if kept is not None and getattr(own, "kind", kept.kind) != kept.kind:
        raise FeaturizerMismatchError(
            f"{caller}: the model was saved with a featurizer of kind {kept.kind!r} for modality {modality!r}, "
            f"got one of kind {own.kind!r}."
        )
    if isinstance(own, type):
        if kept is not None and settings is None and hasattr(own, "from_state"):
            own = own.from_state(kept.parameters, kept.arrays)
        elif named:
            own = make_featurizer(own, settings or {})
        else:
            raise ParameterError(
                f"{caller}: the file holds no state from which {own.__name__} could be made for modality "
                f"{modality!r}. Pass an object instead of the class."
            )
    return own


def check_same_state(featurizer: Any, kept: AbsentFeaturizer, modality: str, *, caller: str) -> None:
    """Raise unless a featurizer has the state that the model was saved with: other features give useless codes."""
    parameters, arrays = checked_state(featurizer, modality, caller=caller)
    given, expected = state_hash(featurizer.kind, parameters, arrays), state_hash(*kept)
    if given == expected:
        return
    changed = _differences(parameters, kept.parameters)
    changed += [
        name for name in sorted({*arrays, *kept.arrays}) if not _same(arrays.get(name), kept.arrays.get(name))
    ]
    raise FeaturizerMismatchError(
        f"{caller}: the model was learned with another featurizer of kind {kept.kind!r} for modality {modality!r} "
        f"(hash {expected[:12]}, got {given[:12]}). What differs: {', '.join(changed)}. Give the one that made the "
        "features, or learn the model again."
    )


def _differences(given: Mapping[str, Any], kept: Mapping[str, Any]) -> list[str]:
    """Parameters that differ, for people."""
    found = []
    for name in sorted({*given, *kept}):
        if given.get(name) != kept.get(name):
            found.append(f"{name} (the model has {_shown(kept.get(name))}, got {_shown(given.get(name))})")
    return found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 24 else f"{text[:14]}…"


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b)
