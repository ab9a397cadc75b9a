"""What a featurizer is: it turns raw objects of one modality into features, and can be kept in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import getattr_static
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError, ParameterError

__all__ = ["Featurizer", "State", "check_featurizer", "checked_state"]

#: What a featurizer is kept as: plain JSON and named arrays of numbers.
State = tuple[dict[str, Any], dict[str, NDArray[Any]]]


@runtime_checkable
class Featurizer(Protocol):
    """Turns raw objects into a feature array; any class with these names is one.

    Attributes
    ----------
    kind : str
        What a model file calls it. The kinds of diffhash are ``"tfidf"``, ``"hog"`` and ``"picture"``;
        choose another one for your own.
    n_features : int
        Columns of what :meth:`transform` gives.

    Examples
    --------
    >>> class Lengths:
    ...     kind, n_features = "lengths", 1
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
        """What a model file calls it."""

    @property
    def n_features(self) -> int:
        """Columns of what :meth:`transform` gives."""

    def transform(self, raw: Any) -> Any:
        """Features of shape (n, n_features) of ``n`` raw objects, dense or scipy sparse."""

    def state(self) -> State:
        """Everything that it takes to make it again: plain JSON, and arrays by name."""

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make one from its state, or raise: the state may come from a file that was tampered with."""


def check_featurizer(featurizer: Any, modality: str, *, caller: str) -> Featurizer:
    """``featurizer`` if it has what the protocol asks for."""
    wanted = ("kind", "n_features", "transform", "state", "from_state")
    # Statically, as a property of a featurizer that is not fitted yet may raise, and should say so itself.
    missing = [name for name in wanted if getattr_static(featurizer, name, None) is None]
    if missing or isinstance(featurizer, type):
        what = f"without {', '.join(missing)}" if missing else "which is a class: make an object of it"
        raise ParameterError(
            f"{caller}: the featurizer of modality {modality!r} must follow featurizers.Featurizer, "
            f"got {type(featurizer).__name__} {what}."
        )
    if not isinstance(featurizer.kind, str) or not featurizer.kind:
        raise ParameterError(
            f"{caller}: the kind of a featurizer must be a word, got {featurizer.kind!r} "
            f"for modality {modality!r}."
        )
    checked: Featurizer = featurizer
    return checked


def checked_state(featurizer: Featurizer, modality: str, *, caller: str) -> State:
    """The state of a featurizer, once it is known that a file can hold it."""
    parameters, arrays = featurizer.state()
    who = f"{caller}: the state of the {featurizer.kind!r} featurizer of modality {modality!r}"
    try:
        plain = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{who} must have parameters of plain JSON ({error}). Put numbers into arrays."
        ) from error
    if not isinstance(plain, dict):
        raise ParameterError(f"{who} must have a dict of parameters, got {type(parameters).__name__}.")
    kept = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in kept.items():
        if not isinstance(name, str) or array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise ParameterError(f"{who} must be arrays of numbers by name, got {array.dtype} for {name!r}.")
    return plain, kept


def expect_state(
    kind: str,
    parameters: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    names: tuple[str, ...],
    array_names: tuple[str, ...] = (),
) -> None:
    """Refuse a state that has not exactly these parameters and arrays."""
    if set(parameters) != set(names) or set(arrays) != set(array_names):
        raise ModelFileError(
            f"load: the {kind!r} featurizer has parameters {', '.join(names)} and arrays "
            f"{', '.join(array_names) or 'none'}; the file has {', '.join(map(str, parameters)) or 'none'} and "
            f"{', '.join(map(str, arrays)) or 'none'}. Save the model again."
        )
