"""What is stored for an item, and how far it is from a query: floats, signs, and the quantisers of FAISS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..codes import pack
from ..native import pack_signs
from ..search.asymmetric import asymmetric_scores
from ..types import CodeArray, FloatArray
from .linear_algebra import unit_rows
from .spaces import Space

__all__ = ["FaissItems", "Floats", "HasherCodes", "Method", "Signs", "hamming_distances"]


class Method(ABC):
    """A method that was learned: codes of items of one view, and their distances from queries of the other.

    Attributes
    ----------
    item_bytes : int
        All bytes that are stored for an item.
    model_bytes : int
        Bytes of what was learned, once for all items.
    """

    item_bytes: int
    model_bytes: int

    @abstractmethod
    def distances(self, queries: Any, query_side: int, items: Any) -> FloatArray:
        """Of shape (q, n), from features of queries of one side (0 or 1) and of items of the other."""


class Floats(Method):
    """Rows of a space as float32, compared by their cosine."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.item_bytes, self.model_bytes = 4 * space.n_dimensions, space.n_bytes

    def distances(self, queries: Any, query_side: int, items: Any) -> FloatArray:
        """One minus the cosine."""
        asked = unit_rows(self._space.side(query_side)(queries)).astype(np.float32)
        stored = unit_rows(self._space.side(1 - query_side)(items)).astype(np.float32)
        return np.asarray(1 - asked @ stored.T)


class Signs(Method):
    """Signs of the rows of a space, compared by their Hamming distance, or with the real values of the query."""

    def __init__(self, space: Space, *, real_queries: bool = False) -> None:
        self._space, self._real = space, real_queries
        self.item_bytes, self.model_bytes = -(-space.n_dimensions // 8), space.n_bytes

    def distances(self, queries: Any, query_side: int, items: Any) -> FloatArray:
        """Number of bits that differ, or minus the sum of the values with the signs of the item."""
        values = self._space.side(query_side)(queries)
        codes = pack(self._space.side(1 - query_side)(items) >= 0)
        return asymmetric_scores(codes, values) if self._real else hamming_distances(pack(values >= 0), codes)


class HasherCodes(Method):
    """Codes of a hasher of ours; queries are codes too, or their real values."""

    def __init__(self, model: Any, modalities: tuple[str, str], *, real_queries: bool) -> None:
        self._model, self._modalities, self._real = model, modalities, real_queries
        self.item_bytes, self.model_bytes = -(-model.n_bits // 8), len(model.to_bytes())

    def distances(self, queries: Any, query_side: int, items: Any) -> FloatArray:
        """Hamming distances, or the scores of asymmetric ranking."""
        asked, stored = self._modalities[query_side], self._modalities[1 - query_side]
        codes = self._model.encode(items, modality=stored)
        values = self._model.project(queries, modality=asked)
        if self._real:
            return asymmetric_scores(codes, values)
        return hamming_distances(pack_signs(values), codes)


class FaissItems(Method):
    """Codes of a FAISS index over unit rows of a space; queries are floats, as FAISS uses them.

    Parameters
    ----------
    space : Space
    index : a trained index of FAISS without items
    model_bytes : int
        Bytes of what the index has learned.
    """

    def __init__(self, space: Space, index: Any, model_bytes: int) -> None:
        self._space, self._index = space, index
        self.item_bytes = int(index.sa_code_size())
        self.model_bytes = space.n_bytes + model_bytes

    def distances(self, queries: Any, query_side: int, items: Any) -> FloatArray:
        """Squared distances as FAISS estimates them."""
        asked = unit_rows(self._space.side(query_side)(queries)).astype(np.float32)
        stored = unit_rows(self._space.side(1 - query_side)(items)).astype(np.float32)
        self._index.reset()
        self._index.add(np.ascontiguousarray(stored))
        values, rows = self._index.search(np.ascontiguousarray(asked), len(stored))
        found = np.empty_like(values)
        np.put_along_axis(found, rows, values, axis=1)
        return np.asarray(found)


def hamming_distances(queries: CodeArray, items: CodeArray) -> FloatArray:
    """Number of bits that differ, of shape (q, n).

    Examples
    --------
    >>> hamming_distances(np.array([[3]], np.uint8), np.array([[0], [1]], np.uint8))
    array([[2., 1.]], dtype=float32)
    """
    a, b = (2 * np.unpackbits(codes, axis=1).astype(np.float32) - 1 for codes in (queries, items))
    return np.asarray((a.shape[1] - a @ b.T) / 2)
