"""One code per object from the rows of several modalities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..codes import pack
from ..errors import InputError, NotFittedError, PairsError
from ..pairs.labels import group_views
from ..types import CodeArray, FloatArray, IntArray
from ..validation import as_array, known_modality

if TYPE_CHECKING:
    from .hash_model import HashModel

__all__ = ["FusedCodes", "fuse", "number_objects"]


class FusedCodes(NamedTuple):
    """Result of ``encode_fused``.

    Attributes
    ----------
    codes : uint8 array of shape (n_objects, ceil(n_bits / 8))
        One packed code for each object.
    ids : array of shape (n_objects,)
        Ids of the objects, in the order in which they first occur; row numbers if no ids were given.
    """

    codes: CodeArray
    ids: NDArray[Any]


def fuse(model: HashModel, views: Any, ids: Any, *, caller: str) -> FusedCodes:
    """One code per object; :meth:`HashModel.encode_fused` explains the parameters."""
    slopes = model.fusion_slopes
    if slopes is None:
        raise NotFittedError(
            f"{caller}: this model does not know how reliable each modality is. Call calibrate(views, pairs) of the "
            "hasher with the training data (codes do not change), or fit(views, pairs, calibrate=True)."
        )
    if not isinstance(views, Mapping) or not views:
        raise InputError(
            f'{caller}: views must be a dict of arrays by modality, such as {{"image": X, "text": Y}}, '
            f"got {'an empty dict' if isinstance(views, Mapping) else type(views).__name__}."
        )
    arrays = {}
    for name, X in views.items():
        m = known_modality(name, model.modalities, caller=caller)
        arrays[m] = model.check_features(X, m, caller=caller)
    n_rows = {m: X.shape[0] for m, X in arrays.items()}
    objects, found_ids = number_objects(n_rows, ids, caller=caller)
    ratios = np.zeros((len(found_ids), model.n_bits))
    for m, X in arrays.items():
        values = model.maps[m].project(X, model.projections[m], model.thresholds[m])
        ratios += slopes[m] * _object_means(values, objects[m], len(found_ids))
    return FusedCodes(pack(ratios >= 0), found_ids)


def _object_means(values: FloatArray, objects: IntArray, n_objects: int) -> FloatArray:
    """Mean of the rows of each object, 0 without rows: several rows of one modality are not independent."""
    counts = np.bincount(objects, minlength=n_objects)
    shares = 1.0 / np.maximum(counts, 1)[objects]
    matrix = scipy.sparse.csr_array((shares, (objects, np.arange(len(objects)))), (n_objects, len(objects)))
    return np.asarray(matrix @ values)


def number_objects(
    n_rows: Mapping[str, int], ids: Any, *, caller: str
) -> tuple[dict[str, IntArray], NDArray[Any]]:
    """For each modality the object number of each row, and the id of each object.

    Objects are numbered in the order in which their ids first occur; without ids, row r of every view is object r.
    """
    if ids is None:
        if len(set(n_rows.values())) > 1:
            counts = ", ".join(f"{n} rows of {m!r}" for m, n in n_rows.items())
            raise InputError(
                f"{caller}: without ids, row r of every view is one object, but there are {counts}. "
                "Give ids={modality: ids of its rows}."
            )
        n = next(iter(n_rows.values()))
        return dict.fromkeys(n_rows, np.arange(n)), np.arange(n)
    if not isinstance(ids, Mapping) or set(ids) != set(n_rows):
        given = ", ".join(map(repr, ids)) if isinstance(ids, Mapping) else type(ids).__name__
        raise InputError(
            f"{caller}: ids must be a dict with the ids of the rows of {', '.join(map(repr, n_rows))}, got {given}."
        )
    arrays = {m: as_array(ids[m], f"{caller}: the ids of {m!r}") for m in n_rows}
    for m, array in arrays.items():
        if array.ndim != 1 or len(array) != n_rows[m]:
            raise InputError(
                f"{caller}: modality {m!r} has {n_rows[m]} rows, got ids of shape {array.shape}. "
                "Give one id for each row."
            )
    present = {m: array for m, array in arrays.items() if len(array)}
    if not present:
        return {m: np.zeros(0, np.int64) for m in n_rows}, next(iter(arrays.values()))
    try:
        groups = group_views({f"the ids of {m!r}": array for m, array in present.items()}, caller=caller)
    except PairsError as error:
        raise InputError(str(error)) from None
    numbers = np.concatenate(groups.rows)
    _, first = np.unique(numbers, return_index=True)
    rank = np.empty(groups.n_groups, np.int64)
    rank[np.argsort(first)] = np.arange(groups.n_groups)
    objects: dict[str, IntArray] = {m: np.zeros(0, np.int64) for m in n_rows}
    objects |= {m: rank[rows] for m, rows in zip(present, groups.rows, strict=True)}
    return objects, np.concatenate(list(present.values()))[np.sort(first)]
