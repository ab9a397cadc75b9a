"""Conversion between codes with ids and the binary indexes of FAISS."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError
from ..native.search import IndexedCodes
from ..types import CodeArray

__all__ = ["codes_from_faiss", "codes_to_faiss", "import_faiss"]


def codes_to_faiss(stored: IndexedCodes, *, caller: str) -> Any:
    """Copy codes into an ``IndexBinaryFlat``, inside an ``IndexBinaryIDMap2`` if they have ids."""
    faiss = import_faiss(caller)
    flat = faiss.IndexBinaryFlat(8 * stored.codes.shape[1])
    if stored.ids is None:
        flat.add(np.asarray(stored.codes))
        return flat
    index = faiss.IndexBinaryIDMap2(flat)
    index.add_with_ids(np.asarray(stored.codes), stored.ids)
    return index


def codes_from_faiss(index: Any, *, caller: str) -> tuple[CodeArray, NDArray[np.int64] | None]:
    """Codes of a flat binary index, and the ids if an id map is around it."""
    faiss = import_faiss(caller)
    ids = None
    flat = index
    if isinstance(index, faiss.IndexBinaryIDMap):
        ids = faiss.vector_to_array(index.id_map)
        flat = faiss.downcast_IndexBinary(index.index)
    if not isinstance(flat, faiss.IndexBinaryFlat):
        raise InputError(
            f"{caller}: expected an IndexBinaryFlat, or an IndexBinaryIDMap around one, got "
            f"{type(index).__name__}{'' if flat is index else f' around {type(flat).__name__}'}."
        )
    return faiss.vector_to_array(flat.xb).reshape(flat.ntotal, flat.code_size), ids


def import_faiss(caller: str) -> ModuleType:
    """Import FAISS; if it is missing, the error has the install line."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError(f"{caller} needs FAISS. Install it: pip install faiss-cpu") from error
    return faiss
