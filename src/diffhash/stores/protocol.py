"""The one face of all stores of codes: a file, a server, or a cluster of them.

A store keeps codes of objects by modality, under ids, with a payload that an object's modalities
share. What turns features into codes stands before it (:mod:`.encoded`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..types import CodeArray

__all__ = ["Hit", "Id", "Item", "Store"]

Id = int | str


@dataclass(frozen=True)
class Hit:
    """An object that was found.

    Attributes
    ----------
    id : int or str
    distance : int
        Bits in which its code differs from the query.
    payload : dict
        Empty if it has none.
    modality : str
        Of the code that was found.
    """

    id: Id
    distance: int
    payload: dict[str, Any]
    modality: str


@dataclass(frozen=True, eq=False)
class Item:
    """A stored object.

    Attributes
    ----------
    id : int or str
    codes : dict by modality
        Packed codes, uint8 of shape (bytes,).
    payload : dict
        Empty if it has none.
    """

    id: Id
    codes: dict[str, CodeArray]
    payload: dict[str, Any] = field(default_factory=dict)

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities in which the object has a code."""
        return tuple(self.codes)


@runtime_checkable
class Store(Protocol):
    """What every store can do; ``tests/contracts`` says it in detail.

    Ids are whole numbers of 64 bits or strings, one kind in a store; an id has at most one code in
    each modality. A call changes all that it was asked to change, or nothing.
    """

    @property
    def n_bits(self) -> int:
        """Bits of a code."""

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities that objects can have codes of."""

    def __len__(self) -> int:
        """Objects: one that has several modalities counts once."""

    def add_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store codes of objects that have none in this modality, and give their ids."""

    def upsert_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store codes, in place of those that the objects have in this modality."""

    def delete(self, ids: Any, *, modality: str | None = None) -> int:
        """Remove codes (of one modality, or all) and say how many of the ids had any."""

    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects by their ids, in the order of the ids."""

    def search_codes(
        self,
        codes: CodeArray,
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """The k nearest of each query, nearest first."""

    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects, in blocks."""

    def close(self) -> None:
        """Let go of what the store holds open."""
