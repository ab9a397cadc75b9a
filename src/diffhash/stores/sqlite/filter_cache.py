"""Indexes of what filters let through, kept until something changes."""

from __future__ import annotations

from collections import OrderedDict

from ...search import HammingIndex

__all__ = ["FilterCache"]

_MOST = 64
_BYTES = 1 << 28


class FilterCache:
    """The filters that were used last, within a limit of memory.

    A copy of the codes that a filter lets through is searched faster than all codes through a bitmap, and
    the copy is made in a fraction of the time of the search in the payloads.
    """

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[str, str], HammingIndex] = OrderedDict()

    def get(self, modality: str, where: str) -> HammingIndex | None:
        """What was kept, if it was."""
        index = self._indexes.get((modality, where))
        if index is not None:
            self._indexes.move_to_end((modality, where))
        return index

    def put(self, modality: str, where: str, index: HammingIndex) -> None:
        """Keep an index, in place of older ones if need be."""
        self._indexes[modality, where] = index
        while len(self._indexes) > 1 and (
            len(self._indexes) > _MOST or sum(kept.nbytes for kept in self._indexes.values()) > _BYTES
        ):
            self._indexes.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._indexes.clear()
