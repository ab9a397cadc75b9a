"""Tables and tensors of other libraries as NumPy arrays: pandas, polars, pyarrow, Hugging Face datasets, torch.

None of these libraries is imported here. An object is recognised by the package of its type, and then its own
methods are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import FeatureNamesError, InputError

__all__ = [
    "check_names",
    "column_names",
    "frame_array",
    "is_frame",
    "names_by_modality",
    "plain_labels",
    "tensor_values",
]

_LIBRARIES = ("pandas", "polars", "pyarrow", "datasets")
#: Names that an error message lists.
_MOST_SHOWN = 5


def is_frame(X: Any) -> bool:
    """Whether X is a table of pandas, polars, pyarrow or Hugging Face datasets.

    Examples
    --------
    >>> is_frame(np.zeros((2, 2)))
    False
    """
    # Asked of the type: the columns of a lazy table of polars are computed when they are asked for.
    return _library(X) in _LIBRARIES and (hasattr(type(X), "column_names") or _has_columns(X))


def column_names(X: Any, who: str) -> tuple[str, ...] | None:
    """Names of the columns of a table; None if X has no names, or if its only column holds whole vectors.

    Parameters
    ----------
    X : array or table
    who : str
        The function and its parameter, with which an error message begins.

    Raises
    ------
    InputError
        If only some of the names are strings.
    """
    if not is_frame(X) or _is_lazy(X):
        return None
    names = _names(X)
    text = [name for name in names if isinstance(name, str)]
    if not text or (len(names) == 1 and _holds_vectors(X)):
        return None
    if len(text) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise InputError(
            f"{who}: names of columns must be all strings or none, got {text[0]!r} and {other!r}. Rename the columns."
        )
    return tuple(str(name) for name in text)


def names_by_modality(
    views: Mapping[str, Any], modalities: Iterable[str], *, caller: str
) -> dict[str, tuple[str, ...]]:
    """Names of the columns of those modalities that are tables with names."""
    found = {m: column_names(views[m], f"{caller}: modality {m!r}") for m in modalities}
    return {m: names for m, names in found.items() if names is not None}


def check_names(X: Any, expected: tuple[str, ...] | None, *, caller: str, modality: str) -> None:
    """Check that a table has the columns of ``fit`` in the same order; arrays without names pass.

    Raises
    ------
    FeatureNamesError
        If columns are missing, new, or in another order.
    """
    who = f"{caller}: modality {modality!r}"
    names = None if expected is None else column_names(X, who)
    if names is None or expected is None or names == expected:
        return
    known, given = set(expected), set(names)
    parts = [
        f"{what} {', '.join(map(repr, some[:_MOST_SHOWN]))}{' …' if len(some) > _MOST_SHOWN else ''}"
        for what, some in (
            ("without", [name for name in expected if name not in given]),
            ("with the new", [name for name in names if name not in known]),
        )
        if some
    ]
    if parts:
        raise FeatureNamesError(
            f"{who} was fitted on other columns: this table is {' and '.join(parts)}. Use the columns of fit."
        )
    place = next((k for k, (a, b) in enumerate(zip(expected, names, strict=False)) if a != b), len(expected))
    if place == len(expected):
        raise FeatureNamesError(f"{who}: this table has the column {names[place]!r} twice.")
    raise FeatureNamesError(
        f"{who}: the columns are in another order than in fit: column {place} is {names[place]!r}, expected "
        f"{expected[place]!r}. Reorder them: X[list(hasher.feature_names_in_[{modality!r}])]."
    )


def frame_array(X: Any, who: str) -> Any:
    """Numbers of a table as an array of shape (rows, features); SciPy sparse if all columns of pandas are.

    A table with one column of lists of equal length gives a column for each place of the lists.

    Raises
    ------
    InputError
        If a column holds no numbers, or lists differ in length.
    """
    library = _library(X)
    if library == "datasets":
        if not hasattr(X, "with_format") or not hasattr(X, "__len__"):
            raise InputError(f"{who}: {type(X).__name__} cannot be read at once. Give a datasets.Dataset.")
        X, library = X.with_format("arrow")[:], "pyarrow"
    if _is_lazy(X):
        raise InputError(f"{who} is a LazyFrame. Call collect() first.")
    if len(_names(X)) == 1 and _holds_vectors(X):
        return _vectors(X, library, who)
    return {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}[library](X, who)


def tensor_values(value: Any) -> Any:
    """A torch tensor without its graph, and as float32 if NumPy has no such type; other objects unchanged.

    The memory is shared unless the type changes.
    """
    if _library(value) != "torch" or not hasattr(value, "detach"):
        return value
    value = value.detach()
    if str(value.dtype).startswith(("torch.bfloat16", "torch.float8")):
        value = value.float()
    return value


def plain_labels(array: NDArray[Any], who: str) -> NDArray[Any]:
    """Labels or ids that came as Python objects, as numbers or strings of NumPy.

    Tables give categories, strings and nullable numbers as objects.

    Raises
    ------
    InputError
        If a value is missing, or if the values are not all strings or all whole numbers.

    Examples
    --------
    >>> plain_labels(np.array(["cat", "dog"], dtype=object), "labels")
    array(['cat', 'dog'], dtype='<U3')
    """
    if array.dtype != object or array.ndim != 1 or not array.size:
        return array
    kinds = {type(value) for value in array}
    if all(issubclass(kind, str) for kind in kinds):
        if any(value.endswith("\0") for value in array):
            raise InputError(f"{who}: a string ends in a NUL character, which NumPy does not keep.")
        return array.astype(np.str_)
    for kinds_of_numbers, dtype in ((bool | np.bool_, np.bool_), (int | np.integer, np.int64)):
        if all(issubclass(kind, kinds_of_numbers) for kind in kinds):
            try:
                return array.astype(dtype)
            except OverflowError:
                raise InputError(f"{who}: whole numbers must be below 2**63.") from None
    # None, NaN and the missing values of pandas differ from themselves, or are not comparable.
    missing = [row for row, value in enumerate(array) if value is None or _is_missing(value)]
    if missing:
        raise InputError(
            f"{who}: row {missing[0]} has no value ({len(missing):,} such rows). Remove or fill them."
        )
    return array


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _has_columns(X: Any) -> bool:
    # Series of pandas have no columns; the attribute of a frame is not one of its class.
    return hasattr(type(X), "columns") or (_library(X) == "pandas" and hasattr(X, "columns"))


def _is_lazy(X: Any) -> bool:
    return _library(X) == "polars" and hasattr(type(X), "collect")


def _names(X: Any) -> list[Any]:
    # Columns of a pyarrow table are the arrays themselves.
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _holds_vectors(X: Any) -> bool:
    """Whether the first column holds lists or arrays."""
    library = _library(X)
    if library == "pandas":
        column = X.iloc[:, 0]
        return bool(column.dtype == object and len(column) and hasattr(column.iloc[0], "__len__")
                    and not isinstance(column.iloc[0], str | bytes))  # fmt: skip
    if library == "polars":
        return str(X.dtypes[0]).startswith(("List", "Array"))
    if library == "datasets":
        kind = str(next(iter(X.features.values())))
        return kind.startswith(("Sequence", "List", "LargeList"))
    return str(X.schema.field(0).type).startswith(("list", "large_list", "fixed_size_list"))


def _vectors(X: Any, library: str, who: str) -> NDArray[Any]:
    """The matrix of a column of lists; memory is shared where all numbers are one array already."""
    n = X.shape[0]
    if library == "pandas":
        values = [np.asarray(row) for row in X.iloc[:, 0]]
        lengths = np.array([row.size for row in values])
        flat: Any = np.concatenate(values) if len(set(lengths)) == 1 else None
    elif library == "polars":
        column = X.to_series(0)
        if column.null_count():
            raise InputError(f"{who}: a row has no vector.")
        if str(column.dtype).startswith("Array"):
            return np.asarray(column.to_numpy()).reshape(n, -1)
        lengths = column.list.len().to_numpy()
        flat = column.explode().to_numpy() if len(set(lengths)) == 1 else None
    else:
        column = X.column(0)
        chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
        if column.null_count or any(chunk.flatten().null_count for chunk in chunks):
            raise InputError(f"{who}: a row has no vector, or a vector has an empty place.")
        lengths = np.concatenate([np.asarray(chunk.value_lengths()) for chunk in chunks])
        parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in chunks]
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if len(set(lengths.tolist())) != 1:
        raise InputError(f"{who}: vectors must have one length, got {lengths.min()} and {lengths.max()}.")
    return np.asarray(flat).reshape(n, -1)


def _pandas(X: Any, who: str) -> Any:
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise _not_numbers(who, name, dtype)
    if all(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes):
        return X.sparse.to_coo().tocsr()
    if all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
        return X.to_numpy()
    single = all(getattr(dtype, "itemsize", 8) <= 4 and dtype.kind == "f" for dtype in X.dtypes)
    return X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)


def _polars(X: Any, who: str) -> NDArray[Any]:
    for name, dtype in X.schema.items():
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            raise _not_numbers(who, name, dtype)
    return np.asarray(X.to_numpy())


def _arrow(X: Any, who: str) -> NDArray[Any]:
    for field in X.schema:
        kind = str(field.type)
        if not kind.startswith(("int", "uint", "float", "halffloat", "double", "bool")):
            raise _not_numbers(who, field.name, kind)
    return np.column_stack([np.asarray(X.column(place)) for place in range(X.num_columns)])


def _not_numbers(who: str, name: Any, dtype: Any) -> InputError:
    return InputError(
        f"{who}: the column {name!r} holds {dtype}, not numbers. Select the columns with features, or convert it."
    )
