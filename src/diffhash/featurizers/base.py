"""The protocol of featurizers: they turn raw objects of one modality into features, and a model file can store them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from inspect import getattr_static
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError, ParameterError
from ..types import BoolArray

__all__ = [
    "Featurizer",
    "State",
    "check_featurizer",
    "checked_state",
    "missing_names",
    "recognized",
    "state_hash",
    "takes_pictures",
    "takes_texts",
]

#: What a class needs to be a featurizer.
_NAMES = ("kind", "n_features", "transform", "state", "from_state")

#: A featurizer as it is stored: a dict of plain JSON, and numeric arrays by name.
State = tuple[dict[str, Any], dict[str, NDArray[Any]]]


@runtime_checkable
class Featurizer(Protocol):
    """Turns raw objects into a feature array. Any class with these attributes and methods is a featurizer.

    Attributes
    ----------
    kind : str
        Name of the class in model files. diffhash uses ``"tfidf"``, ``"hog"``, ``"picture"`` and
        ``"drawing"``; choose another name for your own class.
    n_features : int
        Number of columns that :meth:`transform` returns.
    takes : {"text", "pictures"}, optional
        What :meth:`transform` takes: a list of strings; or a list in which each picture is a path, the bytes of a
        file, a Pillow image or a uint8 array, as :func:`read_pictures` reads them. Searches, folders and the
        service give texts only to featurizers that say "text", and pictures to the others.
    recognizes : method, optional
        ``recognizes(texts)`` tells which texts the featurizer knows something of. The codes of the others are
        not used. Without it all texts count as known.

    Notes
    -----
    The state decides whether a featurizer is the one that a model was learned with: its hash is compared when a model
    is opened (:func:`state_hash`). It must contain everything that changes the features, such as the hash of a file
    with weights, and nothing else: no paths, no batch sizes. ``from_state(*state())`` must have the same state again.

    Examples
    --------
    >>> class Lengths:
    ...     kind, n_features, takes = "lengths", 1, "text"
    ...
    ...     def transform(self, raw):
    ...         return np.array([[len(text)] for text in raw], dtype=np.float32)
    ...
    ...     def state(self):
    ...         return {}, {}
    ...
    ...     @classmethod
    ...     def from_state(cls, parameters, arrays):
    ...         return cls()
    >>> isinstance(Lengths(), Featurizer)
    True
    """

    @property
    def kind(self) -> str:
        """Name of the class in model files."""

    @property
    def n_features(self) -> int:
        """Number of columns that :meth:`transform` returns."""

    def transform(self, raw: Any) -> Any:
        """Return features of shape (n, n_features) for ``n`` raw objects, dense or scipy sparse."""

    def state(self) -> State:
        """Return everything that :meth:`from_state` needs: a dict of plain JSON, and arrays by name."""

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Create a featurizer from its state. Check the state: it may come from a file that was tampered with."""


def check_featurizer(featurizer: Any, modality: str, *, caller: str) -> Featurizer:
    """Return ``featurizer`` if it follows the protocol; raise :class:`ParameterError` otherwise."""
    missing = missing_names(featurizer)
    if missing or isinstance(featurizer, type):
        if isinstance(featurizer, type):
            got = f"the class {featurizer.__name__}. Pass an object, such as {featurizer.__name__}()."
        else:
            got = f"{type(featurizer).__name__} without {', '.join(missing)}."
        raise ParameterError(
            f"{caller}: the featurizer of modality {modality!r} must follow featurizers.Featurizer, got {got}"
        )
    if not isinstance(featurizer.kind, str) or not featurizer.kind:
        raise ParameterError(
            f"{caller}: the kind of a featurizer must be a non-empty str, got {featurizer.kind!r} "
            f"for modality {modality!r}."
        )
    checked: Featurizer = featurizer
    return checked


def missing_names(featurizer: Any) -> list[str]:
    """What an object lacks to be a featurizer. A class may get its ``n_features`` when an object is made."""
    # Do not call properties here: before fit they may raise, with a better message than ours.
    missing = [name for name in _NAMES if getattr_static(featurizer, name, None) is None]
    return [name for name in missing if not (isinstance(featurizer, type) and name == "n_features")]


def takes_texts(featurizer: Any) -> bool:
    """Whether a featurizer takes texts. For the others a string may be the name of a file."""
    default = "text" if hasattr(featurizer, "recognizes") else None
    return getattr(featurizer, "takes", default) == "text"


def takes_pictures(featurizer: Any) -> bool:
    """Whether a featurizer says that it takes pictures."""
    return getattr(featurizer, "takes", None) == "pictures"


def recognized(featurizer: Any, texts: Sequence[str]) -> BoolArray:
    """Which texts a featurizer knows something of; all of them if it cannot tell."""
    recognizes = getattr(featurizer, "recognizes", None)
    if recognizes is None:
        return np.ones(len(texts), dtype=np.bool_)
    return np.asarray(recognizes(texts), dtype=np.bool_)


def state_hash(kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash of a checked state: equal if two featurizers compute the same features.

    Examples
    --------
    >>> state_hash("lengths", {"scale": 2}, {})[:8]
    '2decf71d'
    """
    digest = sha256(json.dumps([kind, dict(parameters)], sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.newbyteorder('<').str} {array.shape}".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()


def checked_state(featurizer: Featurizer, modality: str, *, caller: str) -> State:
    """Return the state of a featurizer after checking that a file can store it."""
    parameters, arrays = featurizer.state()
    who = f"{caller}: the state of the {featurizer.kind!r} featurizer of modality {modality!r}"
    try:
        plain = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{who} has parameters that are not plain JSON ({error}). Store numeric data as arrays."
        ) from error
    if not isinstance(plain, dict):
        raise ParameterError(f"{who} must have its parameters in a dict, got {type(parameters).__name__}.")
    kept = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in kept.items():
        if not isinstance(name, str) or array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise ParameterError(f"{who} must have numeric arrays by name, got {array.dtype} for {name!r}.")
    return plain, kept


def check_state_names(
    kind: str,
    parameters: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    names: tuple[str, ...],
    array_names: tuple[str, ...] = (),
) -> None:
    """Raise an error unless the state has exactly these parameters and arrays."""
    if set(parameters) != set(names) or set(arrays) != set(array_names):
        raise ModelFileError(
            f"load: the {kind!r} featurizer has parameters {', '.join(names)} and arrays "
            f"{', '.join(array_names) or 'none'}; the file has {', '.join(map(str, parameters)) or 'none'} and "
            f"{', '.join(map(str, arrays)) or 'none'}. Save the model again."
        )
