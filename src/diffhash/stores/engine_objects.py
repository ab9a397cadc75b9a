"""The part of :class:`.engine_store.EngineStore` that adds, removes and reads objects."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..codes import check_codes, check_padding
from ..errors import InputError, UnknownIdError
from ..search.known_codes import KnownCodes
from ..types import CodeArray
from ..validation import check_count, known_modality
from .engine_search import EngineSearch
from .ids import Ids, check_kind, read_ids
from .payload_json import encode_payloads
from .protocol import AddedIds, Id, Item

__all__ = ["EngineObjects", "NewRows"]

T = TypeVar("T")


@dataclass(frozen=True)
class NewRows:
    """Checked rows that an engine stores.

    Attributes
    ----------
    modality : str
    codes : uint8 array of shape (n, bytes)
    ids : Ids or None
        None: the next whole numbers.
    payloads : list of JSON texts
        None leaves the payload of an object as it is.
    """

    modality: str
    codes: CodeArray
    ids: Ids | None
    payloads: list[str | None]

    def take(self, rows: Any) -> NewRows:
        """Some of the rows."""
        return replace(
            self,
            codes=self.codes[rows],
            ids=None if self.ids is None else self.ids.take(rows),
            payloads=[self.payloads[row] for row in rows],
        )


class EngineObjects(EngineSearch):
    """Objects of a store over the primitives of an engine."""

    # ---- What an engine implements ----------------------------------------------------------------

    def _reading(self) -> AbstractContextManager[object]:
        """Context manager: the primitives that are called in it see one version of the content, if the engine can."""
        return nullcontext()

    def _read(self, work: Callable[[], T], *, caller: str) -> T:  # noqa: ARG002 - engines use it
        """Call ``work``, which calls primitives that read. An engine may repeat it if the connection was lost."""
        with self._reading():
            return work()

    def _write(self, work: Callable[[], T], *, caller: str) -> T:  # noqa: ARG002 - engines use it
        """Call ``work``, which calls primitives, as one transaction; repeat it if the connection was lost."""
        return work()

    @property
    @abstractmethod
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" before the first object is added."""

    @abstractmethod
    def _insert(self, rows: NewRows, *, replace: bool, caller: str) -> list[Any]:
        """Store rows, and return their ids.

        If an id has a code in the modality already, it is replaced, or unless ``replace`` it is an InputError, see
        :func:`taken_error`. Numbers that the store chooses are larger than all numbers that it ever had as ids.
        """

    @abstractmethod
    def _remove(self, ids: Ids, modalities: Sequence[str]) -> int:
        """Remove codes; returns how many of the ids, each counted once, had one.

        When the last code of an object is removed, so is its payload.
        """

    @abstractmethod
    def _fetch(self, ids: Ids, modalities: Sequence[str]) -> list[Item | None]:
        """Objects in the order of the ids, with their codes in these modalities; None if there are none."""

    @abstractmethod
    def _blocks(self, modalities: Sequence[str], batch: int) -> Iterator[list[Item]]:
        """All objects that have a code in one of the modalities, in blocks."""

    @abstractmethod
    def _count_objects(self) -> int:
        """Number of objects."""

    # ---- The rest is for all engines ---------------------------------------------------------------

    @abstractmethod
    def _check_writable(self, caller: str) -> None:
        """Raise unless the store is open for writing."""

    def __len__(self) -> int:
        self._check_open()
        return self._read(self._count_objects, caller=self._caller("len"))

    def __contains__(self, id: object) -> bool:  # noqa: A002 - it is called id everywhere else too
        if isinstance(id, bool) or not isinstance(id, int | np.integer | str):
            return False
        self._check_open()
        try:
            ids = read_ids([id], caller=type(self).__name__, unique=True)
        except InputError:  # more than 64 bits, or not valid Unicode
            return False

        def work() -> bool:
            return ids.kind == self.id_kind and self._fetch(ids, self.modalities)[0] is not None

        return self._read(work, caller=type(self).__name__)

    def add_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
        unless_within: int | None = None,
    ) -> list[Any]:
        """Store objects by their packed codes, uint8 of shape (n, bytes); see :meth:`add`."""
        caller = self._caller("add")
        if unless_within is not None:
            unless_within = check_count(unless_within, "unless_within", caller=caller, minimum=0)
        return self._put(codes, modality, ids, payloads, replace=False, radius=unless_within, caller=caller)

    def upsert_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their packed codes and replace the codes that their ids have in this modality."""
        caller = self._caller("upsert")
        if ids is None:
            raise InputError(
                f"{caller}: ids are needed to know which objects to replace. Use add for new objects."
            )
        return self._put(codes, modality, ids, payloads, replace=True, caller=caller)

    def _put(
        self,
        codes: Any,
        modality: str,
        ids: Any,
        payloads: Any,
        *,
        replace: bool,
        caller: str,
        radius: int | None = None,
    ) -> list[Any]:
        self._check_writable(caller)
        modality = known_modality(modality, self.modalities, caller=caller)
        codes = check_codes(codes, n_bits=self.n_bits, caller=caller)
        check_padding(codes, self.n_bits, caller=caller)
        given = None if ids is None else read_ids(ids, caller=caller, unique=True)
        if given is not None and len(given) != len(codes):
            raise InputError(f"{caller}: {len(codes)} objects need {len(codes)} ids, got {len(given)}.")
        rows = NewRows(modality, codes, given, encode_payloads(payloads, len(codes), caller=caller))

        def work() -> list[Any]:
            kind = self.id_kind
            if given is None and kind == "str" and len(codes):
                raise InputError(f"{caller}: the ids of this collection are strings. Give ids.")
            if given is not None:
                check_kind(given, kind, caller=caller)
            if radius is None:
                return self._insert(rows, replace=replace, caller=caller) if len(codes) else []
            known, known_ids = self._find_known(rows, radius)
            new = rows.take(np.flatnonzero(known.new))
            new_ids = self._insert(new, replace=False, caller=caller) if len(new.codes) else []
            return _with_known_ids(known, known_ids, new_ids)

        if not len(codes) and radius is None:
            return []
        return self._write(work, caller=caller)

    def delete(self, ids: Any, *, modality: str | None = None) -> int:
        """Remove objects, or their codes in one modality; see :meth:`Collection.delete`."""
        caller = self._caller("delete")
        self._check_writable(caller)
        wanted = read_ids(ids, caller=caller, unique=False)
        chosen = self._chosen(modality, caller)

        def work() -> int:
            check_kind(wanted, self.id_kind, caller=caller)
            return self._remove(wanted, chosen) if len(wanted) and self.id_kind else 0

        return self._write(work, caller=caller)

    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects by their ids, in the order of the ids; see :meth:`Collection.get`."""
        caller = self._caller("get")
        self._check_open()
        wanted = read_ids(ids, caller=caller, unique=False)
        chosen = self._chosen(modality, caller)
        if not len(wanted):
            return []

        def work() -> list[Item | None]:
            check_kind(wanted, self.id_kind, caller=caller)
            return self._fetch(wanted, chosen) if self.id_kind else [None] * len(wanted)

        found = []
        for row, item in enumerate(self._read(work, caller=caller)):
            if item is None:
                raise UnknownIdError(
                    f"{caller}: there is no object with id {wanted[row]!r}"
                    + ("." if modality is None else f" in modality {modality!r}.")
                )
            found.append(item)
        return found

    def find(self, ids: Any) -> list[Item | None]:
        """Objects by their ids, in the order of the ids; None for an id that is not there."""
        caller = self._caller("find")
        self._check_open()
        wanted = read_ids(ids, caller=caller, unique=False)
        if not len(wanted):
            return []

        def work() -> list[Item | None]:
            same = wanted.kind == self.id_kind
            return self._fetch(wanted, self.modalities) if same else [None] * len(wanted)

        return self._read(work, caller=caller)

    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects in blocks; with a modality only those that have it, and only its codes."""
        caller = self._caller("iterate")
        self._check_open()
        return self._blocks(self._chosen(modality, caller), check_count(batch, "batch", caller=caller))


def _with_known_ids(known: KnownCodes, known_ids: list[Any], new_ids: list[Any]) -> AddedIds:
    """The id of each row: its own if it was added, otherwise that of the known object."""
    ids = np.empty(len(known.new), dtype=object)
    ids[known.new] = new_ids
    by_index = np.flatnonzero(known.stored >= 0)
    for row in by_index:
        ids[row] = known_ids[known.stored[row]]
    by_row = known.earlier >= 0
    ids[by_row] = ids[known.earlier[by_row]]
    return AddedIds(ids.tolist(), known.new)
