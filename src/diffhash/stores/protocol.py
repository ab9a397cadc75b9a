"""The protocol of all stores of codes, whatever they use: a file, a server or a cluster.

A store keeps the codes of objects by id and modality. The modalities of an object share one
payload. :mod:`.hashed` adds a model that turns features into codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..types import BoolArray, CodeArray
from .capabilities import Capabilities
from .reports import VerifyReport

__all__ = ["AddedIds", "Hit", "Id", "Item", "Store"]

Id = int | str
"""Id of an object: a whole number of 64 bits, or a string."""


@dataclass(frozen=True, init=False)
class Hit:
    """An object that a search found.

    Attributes
    ----------
    id : int or str
    distance : int or None
        Number of bits in which its code differs from the query. None if the query has no code, or one that says
        nothing: the object was found by its words alone.
    payload : dict
        Empty if the object has none.
    modality : str
        Modality of the code that was found.
    chance : float or None
        Chance that the object belongs to the query, from the calibration of the model; None without one.
    score : float or None
        What the order of the hits is by, largest first. With ranking by distance it is the negative distance.
    found_by : {"codes", "words", "both"}
        Whether its code is near, its caption has words of the query, or both.
    """

    id: Id
    distance: int | None
    payload: dict[str, Any]
    modality: str
    # Two hits are equal if they are the same object at the same distance.
    chance: float | None = field(default=None, compare=False)
    score: float | None = field(default=None, compare=False)
    found_by: str = "codes"

    def __init__(
        self,
        id: Id,  # noqa: A002 - it is called id everywhere else too
        distance: int | None,
        payload: dict[str, Any],
        modality: str,
        chance: float | None = None,
        score: float | None = None,
        found_by: str = "codes",
    ) -> None:
        # The usual way for frozen classes takes three times as long, and a search makes many hits.
        values = self.__dict__
        values["id"] = id
        values["distance"] = distance
        values["payload"] = payload
        values["modality"] = modality
        values["chance"] = chance
        values["score"] = score
        values["found_by"] = found_by


@dataclass(frozen=True, eq=False)
class Item:
    """A stored object.

    Attributes
    ----------
    id : int or str
    codes : dict by modality
        Packed codes, uint8 of shape (bytes,).
    payload : dict
        Empty if the object has none.
    """

    id: Id
    codes: dict[str, CodeArray]
    payload: dict[str, Any] = field(default_factory=dict)

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities in which the object has a code."""
        return tuple(self.codes)


class AddedIds(list[Any]):
    """Ids of the objects of a call with ``unless_within``: a list with one id for each row.

    Attributes
    ----------
    added : bool array of shape (n,)
        True: the object was added under this id. False: it was not added, because the object with this id is
        within the radius.

    Examples
    --------
    >>> ids = AddedIds([7, 3, 8], added=[True, False, True])
    >>> ids.new, ids.known
    ([7, 8], [3])
    """

    def __init__(self, ids: Iterable[Any], added: Any) -> None:
        super().__init__(ids)
        self.added: BoolArray = np.asarray(added, dtype=np.bool_)

    @property
    def new(self) -> list[Any]:
        """Ids of the objects that were added."""
        return [id_ for id_, added in zip(self, self.added.tolist(), strict=True) if added]

    @property
    def known(self) -> list[Any]:
        """For each object that was not added, the id of the known one; an id may occur several times."""
        return [id_ for id_, added in zip(self, self.added.tolist(), strict=True) if not added]


@runtime_checkable
class Store(Protocol):
    """What every store can do; the tests in ``tests/stores/contract`` describe it in detail.

    Ids are whole numbers of 64 bits or strings; a store has only one of the two kinds. An id has at
    most one code in each modality. A call makes all of its changes, or none.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do that not every store can. Other calls raise UnsupportedCallError."""

    @property
    def address(self) -> str:
        """Where the store is, without passwords."""

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities in which objects can have codes."""

    def __len__(self) -> int:
        """Number of objects; one with codes in several modalities counts once."""

    def add_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
        unless_within: int | None = None,
    ) -> list[Any]:
        """Store codes of objects that have none in this modality; returns their ids.

        With ``unless_within``, codes within this distance of a stored one are left out; returns an AddedIds.
        """

    def upsert_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store codes, and replace those that the objects have in this modality."""

    def delete(self, ids: Any, *, modality: str | None = None) -> int:
        """Remove codes, in one modality or in all; returns how many of the ids had a code to remove.

        Ids that are not in the store are ignored; an id that is given twice counts once.
        """

    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects in the order of the ids; an unknown id raises :class:`~diffhash.errors.UnknownIdError`."""

    def search_codes(
        self,
        codes: CodeArray,
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        radius: int | None = None,
    ) -> list[list[Hit]]:
        """The k objects nearest to each query, nearest first; only those within the radius, if there is one."""

    def within_codes(
        self,
        codes: CodeArray,
        *,
        radius: int,
        into: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """All objects within the radius of each query, nearest first."""

    def search_item(
        self,
        id: Id,  # noqa: A002 - it is called id everywhere else too
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        radius: int | None = None,
    ) -> list[Hit]:
        """The objects nearest to a stored one, which is itself left out."""

    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects, in blocks."""

    def verify(self) -> VerifyReport:
        """Read everything and check it."""

    def close(self) -> None:
        """Close files and connections."""
