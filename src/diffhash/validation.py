"""Checks of user input. Each returns the value in the form that the package works with."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import FeatureCountError, InputError, NonFiniteError, ParameterError, UnknownModalityError
from .frames import check_names, frame_array, is_frame, tensor_values
from .sparse_arrays import as_csr, is_sparse

__all__ = [
    "as_array",
    "by_modality",
    "check_choice",
    "check_count",
    "check_features",
    "check_flag",
    "check_learnable",
    "check_learnable_range",
    "check_number",
    "check_seed",
    "check_view",
    "known_modality",
    "values_are_usual",
]

T = TypeVar("T")

#: Squares of values in this range, and sums of a billion of them, stay in the range of float32.
_SMALLEST_FLOAT32, _LARGEST_FLOAT32 = 1e-12, 1e12
#: The same for float64. Products of four values occur too.
_LARGEST = 1e70
#: Seeds drawn from a generator are below this; scikit-learn takes no larger ones.
_LARGEST_SEED = 2**31 - 1


def as_array(value: Any, who: str) -> NDArray[Any]:
    """Convert a value to a NumPy array; the memory is shared where NumPy can share it.

    Tensors of torch may require grad, and bfloat16 becomes float32.

    Parameters
    ----------
    value : array-like
    who : str
        The function and its parameter, with which the error message begins.

    Raises
    ------
    InputError
        If NumPy cannot convert the value: rows of different lengths, or a torch tensor that is on a GPU.
    """
    try:
        return np.asarray(tensor_values(value))
    except ValueError as error:
        raise InputError(f"{who} is not an array: its rows differ in length. ({error})") from error
    except (TypeError, RuntimeError) as error:
        if hasattr(value, "detach") and hasattr(value, "cpu"):
            raise InputError(
                f"{who} is a tensor that NumPy cannot read. Pass x.detach().cpu() instead, of a sparse tensor "
                f"x.to_dense(). ({error})"
            ) from error
        raise InputError(f"{who} cannot be converted to an array. ({error})") from error


def check_view(X: Any, *, caller: str, modality: str, values: bool = True) -> Any:
    """Check the features of one modality; returns float32 or float64, dense or CSR, finite, not empty.

    Tables of pandas, polars, pyarrow and Hugging Face datasets become arrays. Whole numbers, booleans and half
    precision become float32 if that is exact, otherwise float64.
    float32 becomes float64 if squares of its values could leave the range of float32. The caller's array
    is never changed. Without ``values``, the values of dense rows are not looked at: the caller calls
    :func:`values_are_usual` for all of them and, if it is not True, this function again.
    """
    who = f"{caller}: modality {modality!r}"
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise InputError(f"{who} has masked values. Fill or remove them first.")
    if is_frame(X):
        X = frame_array(X, who)
    X = as_csr(X, who) if is_sparse(X) else as_array(X, who)
    if X.dtype.name == "bfloat16":  # a type of another package, which NumPy does not count as float
        X = X.astype(np.float32)
    if X.ndim != 2:
        raise InputError(
            f"{who} must have two dimensions, (objects, features), got shape {X.shape}. "
            "For one object pass X.reshape(1, -1)."
        )
    if X.dtype.kind not in "fiub":
        raise InputError(
            f"{who} must hold real numbers, got dtype {X.dtype}. Convert it to float32 or float64."
        )
    if 0 in X.shape:
        raise InputError(f"{who} is empty: shape {X.shape}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
    if values or is_sparse(X):
        X = _check_values(X, who)
    return X if is_sparse(X) or X.flags.forc else np.ascontiguousarray(X)


def _check_values(X: Any, who: str) -> Any:
    """Check that all values are finite and not too large; returns float64 if float32 is too narrow for them."""
    values, narrow = X.data if is_sparse(X) else X, X.dtype == np.float32
    if values_are_usual(values):
        return X
    bad = ~np.isfinite(values)
    if bad.any():
        row, column, value = _first(X, bad)
        n_bad = int(bad.sum())
        count = "the only such value" if n_bad == 1 else f"{n_bad:,} such values in all"
        raise NonFiniteError(
            f"{who} has {'NaN' if value != value else value} in row {row}, feature {column} ({count}). "
            "Remove or fill such values first."
        )
    largest = _largest(values)
    if largest > _LARGEST:
        row, column, value = _first(X, np.abs(values) > _LARGEST)
        raise InputError(
            f"{who} has {value:.3g} in row {row}, feature {column}; features must not be larger than "
            f"{_LARGEST:.0e}, because their squares are summed. Divide this feature by a constant."
        )
    fits = not narrow or largest == 0 or _SMALLEST_FLOAT32 <= largest <= _LARGEST_FLOAT32
    return X if fits else X.astype(np.float64)


def values_are_usual(values: NDArray[Any]) -> bool:
    """Whether a sum of squares, which needs a single pass, tells that values are finite and of usual size.

    If it is False, the values must be looked at one by one.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if values.flags.forc:
            # By BLAS, because the memory is contiguous.
            flat = values.ravel(order="K")
            total = float(np.dot(flat, flat))
        else:
            total = float(np.einsum("...i,...i->...", values, values).sum())
    if values.dtype != np.float32:
        return total <= _LARGEST**2
    return values.size * _SMALLEST_FLOAT32**2 <= total <= _LARGEST_FLOAT32**2


def check_learnable(X: Any, *, caller: str, modality: str) -> None:
    """Check that the values of a view are not all so small that their squares are 0."""
    largest = _largest(X.data if is_sparse(X) else X)
    if 0 < largest < 1 / _LARGEST:
        row, column, value = _first(X, np.abs(X.data if is_sparse(X) else X) == largest)
        raise InputError(
            f"{caller}: modality {modality!r} has no value larger than {value:.3g} (row {row}, feature {column}), "
            "and squares of such values are 0. Multiply the features by a constant."
        )


def check_learnable_range(low: NDArray[Any], high: NDArray[Any], *, caller: str, modality: str) -> None:
    """The same from the smallest and largest value of each feature."""
    largest = max(float(np.abs(low).max()), float(np.abs(high).max()))
    if 0 < largest < 1 / _LARGEST:
        raise InputError(
            f"{caller}: modality {modality!r} has no value larger than {largest:.3g}, and squares of such values "
            "are 0. Multiply the features by a constant."
        )


def _largest(values: NDArray[Any]) -> float:
    """The largest magnitude; 0 if there are no values."""
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def _first(X: Any, where: NDArray[np.bool_]) -> tuple[int, int, Any]:
    """Row, feature and value of the first entry that is marked; of a sparse array the stored entries are marked."""
    if not is_sparse(X):
        row, column = (int(place) for place in np.argwhere(where)[0])
        return row, column, X[row, column]
    entry = int(np.flatnonzero(where)[0])
    row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
    return row, int(X.indices[entry]), X.data[entry]


def check_features(
    X: Any,
    n_features: int,
    *,
    caller: str,
    modality: str,
    names: tuple[str, ...] | None = None,
    values: bool = True,
) -> Any:
    """Like :func:`check_view`, but the number of features is given, and zero rows are allowed.

    If the names of the features are given, too, a table must have them in the same order.
    """
    check_names(X, names, caller=caller, modality=modality)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0 and shape[1] == n_features:
        return np.zeros((0, n_features), dtype=np.float32)
    X = check_view(X, caller=caller, modality=modality, values=values)
    if X.shape[1] != n_features:
        raise FeatureCountError(
            f"{caller}: modality {modality!r} has {n_features} features, got an array of shape {X.shape}. "
            "Use the features the model was fitted on, or refit."
        )
    return X


def known_modality(modality: Any, known: Sequence[str], *, caller: str) -> str:
    """Check that ``modality`` is one of ``known``. None means the only one, if there is only one."""
    if modality is None and len(known) == 1:
        return known[0]
    # An array is never a name, and comparing it with one is an error of NumPy.
    if not isinstance(modality, str) or modality not in known:
        raise UnknownModalityError(
            f"{caller}: unknown modality {modality!r:.60}. Known: {', '.join(map(repr, known))}."
        )
    return str(modality)


def check_count(value: Any, name: str, *, caller: str, minimum: int = 1, maximum: int | None = None) -> int:
    """Check a whole number that must be at least ``minimum`` and, if given, at most ``maximum``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ParameterError(f"{caller}: {name} must be a whole number >= {minimum}, got {value!r:.60}.")
    if maximum is not None and int(value) > maximum:
        raise ParameterError(f"{caller}: {name} must be at most {maximum:,}, got {value!r:.60}.")
    return int(value)


def check_number(
    value: Any, name: str, *, caller: str, low: float = 0.0, high: float = math.inf, open_low: bool = False
) -> float:
    """Check a real number that must lie in ``[low, high]``, or in ``(low, high]`` if ``open_low``."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not ok or not (low < value <= high if open_low else low <= value <= high):
        bracket = "(" if open_low else "["
        raise ParameterError(f"{caller}: {name} must be a number in {bracket}{low}, {high}], got {value!r}.")
    return float(value)


def check_seed(value: Any, *, caller: str) -> int | None:
    """Check a seed for random numbers: None, a whole number >= 0, or a generator, from which a seed is drawn."""
    if isinstance(value, np.random.Generator):
        return int(value.integers(_LARGEST_SEED))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(_LARGEST_SEED))
    return None if value is None else check_count(value, "random_state", caller=caller, minimum=0)


def check_flag(value: Any, name: str, *, caller: str) -> bool:
    """Check a value that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{caller}: {name} must be True or False, got {value!r}.")
    return bool(value)


def check_choice(value: Any, name: str, choices: Sequence[str], *, caller: str) -> str:
    """Check a value that must be one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(
            f"{caller}: {name} must be one of {', '.join(map(repr, choices))}, got {value!r}."
        )
    return value


def by_modality(
    value: T | Mapping[str, T], modalities: Sequence[str], name: str, *, caller: str
) -> dict[str, T]:
    """Give each modality its parameter: ``value`` is one value for all, or a dict by modality.

    Examples
    --------
    >>> by_modality(1000, ["image", "text"], "n_landmarks", caller="KernelDiffHash")
    {'image': 1000, 'text': 1000}
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(modalities, value)
    if set(value) != set(modalities):
        raise ParameterError(
            f"{caller}: {name} given by modality must name {', '.join(map(repr, modalities))}, "
            f"got {', '.join(map(repr, value)) or 'nothing'}."
        )
    return {modality: value[modality] for modality in modalities}
