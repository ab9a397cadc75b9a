"""Conversion between codes with ids and the indexes of usearch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError
from ..native.search import IndexedCodes
from ..types import CodeArray

__all__ = ["codes_from_usearch", "codes_to_usearch"]


def codes_to_usearch(stored: IndexedCodes, *, caller: str) -> Any:
    """Copy codes into an ``Index`` of bits with the Hamming metric; the keys are the ids."""
    index_module = _import_usearch(caller)
    ids = np.arange(len(stored.codes)) if stored.ids is None else stored.ids
    if len(ids) and int(ids.min()) < 0:
        raise InputError(f"{caller}: keys of usearch are not negative, but there is the id {ids.min()}.")
    index = index_module.Index(
        ndim=stored.n_bits, metric=index_module.MetricKind.Hamming, dtype=index_module.ScalarKind.B1
    )
    if len(ids):
        index.add(ids.astype(np.uint64), np.ascontiguousarray(stored.codes))
    return index


def codes_from_usearch(index: Any, *, caller: str) -> tuple[CodeArray, NDArray[np.int64], int]:
    """Codes in the order of their keys, the keys, and the number of bits."""
    index_module = _import_usearch(caller)
    if not isinstance(index, index_module.Index):
        raise InputError(f"{caller}: expected a usearch.index.Index, got {type(index).__name__}.")
    if index.dtype != index_module.ScalarKind.B1:
        raise InputError(f"{caller}: expected an index of bits (dtype='b1'), got {index.dtype}.")
    if index.multi:
        raise InputError(
            f"{caller}: an index with several vectors of one key (multi=True) cannot be converted."
        )
    keys = np.sort(index.keys[:]) if len(index) else np.zeros(0, np.uint64)
    if len(keys) and int(keys[-1]) > np.iinfo(np.int64).max:
        raise InputError(f"{caller}: keys must be below 2**63, got {keys[-1]}.")
    n_bits = int(index.ndim)
    codes: CodeArray = np.empty((len(keys), -(-n_bits // 8)), dtype=np.uint8)
    if len(keys):
        codes[:] = np.vstack(index.get(keys))
    return codes, keys.astype(np.int64), n_bits


def _import_usearch(caller: str) -> Any:
    try:
        import usearch.index
    except ImportError as error:
        raise MissingExtraError(f"{caller} needs usearch. Install it: pip install usearch") from error
    return usearch.index
