"""Fused codes of the objects in feature files, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..files import FeatureFile
from ..model import HashModel
from ..types import CodeArray, IntArray

__all__ = ["fused_blocks"]

#: Objects that are fused at a time.
_BLOCK = 10_000


def fused_blocks(
    model: HashModel,
    files: Mapping[str, FeatureFile],
    objects: Mapping[str, IntArray] | None,
    *,
    block: int = _BLOCK,
) -> Iterator[CodeArray]:
    """Yield the fused codes of all objects, in the order of their numbers.

    Parameters
    ----------
    model : HashModel
        Calibrated.
    files : dict of feature files by modality
    objects : dict of int arrays by modality, or None
        Object number of each row; every number up to the largest occurs. None if row r of every view is object r.
    block : int
        Objects that are fused at a time. Of files that can be mapped into memory, only their rows are read.
    """
    arrays = {name: file.array() for name, file in files.items()}
    if objects is None:
        objects = {name: np.arange(len(array)) for name, array in arrays.items()}
    orders = {name: np.argsort(numbers, kind="stable") for name, numbers in objects.items()}
    ordered = {name: objects[name][order] for name, order in orders.items()}
    n_objects = 1 + max((int(numbers[-1]) for numbers in ordered.values() if len(numbers)), default=-1)
    for start in range(0, n_objects, block):
        views, ids = {}, {}
        for name, numbers in ordered.items():
            first, last = np.searchsorted(numbers, [start, start + block])
            if first < last:
                rows = np.sort(orders[name][first:last])
                views[name], ids[name] = arrays[name][rows], objects[name][rows]
        fused = model.encode_fused(views, ids)
        yield fused.codes[np.argsort(fused.ids)]
