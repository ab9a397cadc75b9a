"""The base of stores whose engine has a few primitives: add rows, remove, fetch, count, find the nearest.

:class:`EngineStore` makes the whole protocol from them: checks of arguments, ids and payloads, the model, chances and
promises of a calibrated model, several modalities, known objects. A new engine is a subclass that implements the
methods under "What an engine implements"; :mod:`.memory` is the shortest example.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from ..codes import check_codes, check_padding
from ..errors import (
    CollectionError,
    DiffhashError,
    InputError,
    NoModelError,
    ReadOnlyCollectionError,
    UnknownIdError,
)
from ..model import HashModel
from ..search.known_codes import KnownCodes
from ..types import CodeArray
from ..validation import check_count, known_modality
from .capabilities import ENGINES, Capabilities
from .engine_search import EngineSearch
from .ids import Ids, check_kind, read_ids
from .payload_json import encode_payloads
from .protocol import AddedIds, Id, Item
from .reports import StoreStats, VerifyReport
from .store_description import StoreDescription

__all__ = ["EngineStore", "NewRows"]

T = TypeVar("T")
_MAX_PROBLEMS = 20


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


class EngineStore(EngineSearch):
    """A store over the primitives of an engine.

    Parameters
    ----------
    description : StoreDescription
    model : HashModel or None
        None without a model.
    address : str
        For people: never with a password.
    writable : bool
    """

    #: Name of the engine, as in :data:`.capabilities.ENGINES`.
    engine: str

    def __init__(
        self, description: StoreDescription, model: HashModel | None, *, address: str, writable: bool
    ) -> None:
        self.description = description
        self._model = model
        self._address = address
        self._writable = writable
        self._closed = False
        self._process = os.getpid()

    # ---- What an engine implements ----------------------------------------------------------------

    def _reading(self) -> AbstractContextManager[object]:
        """Context manager: the primitives that are called in it see one version of the content, if the engine can."""
        return nullcontext()

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

    @abstractmethod
    def _close(self) -> None:
        """Close connections."""

    def _size_and_details(self) -> tuple[int | None, dict[str, Any]]:
        """Bytes that the store takes, and what only this engine has to tell."""
        return None, {}

    def _problems(self) -> list[str]:
        """What is wrong with the store, apart from what every store checks; for :meth:`verify`."""
        return []

    # ---- The protocol ------------------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do, see :class:`~diffhash.stores.Capabilities`."""
        return ENGINES[self.engine]

    @property
    def address(self) -> str:
        """Where the store is, without passwords."""
        return self._address

    @property
    def writable(self) -> bool:
        """Whether the store was opened for writing."""
        return self._writable

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self.description.n_bits

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities of the model, and the one of fused codes if there is one."""
        return self.description.modalities

    @property
    def fused_modality(self) -> str | None:
        """The modality that holds fused codes; None if there is none."""
        return self.description.fused

    @property
    def has_model(self) -> bool:
        """Whether there is a model; without one only codes can be added and searched."""
        return self._model is not None

    @property
    def model(self) -> HashModel:
        """The model that made the codes: it encodes features and raw objects.

        Raises
        ------
        NoModelError
            If the store was made without a model; :attr:`has_model` tells.
        """
        self._check_open()
        if self._model is None:
            raise NoModelError(
                f"{type(self).__name__}: {self.address} has codes and no model, so it cannot encode features or raw "
                "objects. Make the codes where the others came from, and use add_codes, upsert_codes, search_codes and "
                "within_codes."
            )
        return self._model

    def _model_locked(self) -> AbstractContextManager[object]:
        # The model of an open store never changes: an engine compares the identity of the store before it writes.
        return nullcontext()

    def __len__(self) -> int:
        self._check_open()
        return self._count_objects()

    def __contains__(self, id: object) -> bool:  # noqa: A002 - it is called id everywhere else too
        if isinstance(id, bool) or not isinstance(id, int | np.integer | str):
            return False
        self._check_open()
        try:
            ids = read_ids([id], caller=type(self).__name__, unique=True)
        except InputError:  # more than 64 bits, or not valid Unicode
            return False
        with self._reading():
            return ids.kind == self.id_kind and self._fetch(ids, self.modalities)[0] is not None

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
        with self._reading():
            check_kind(wanted, self.id_kind, caller=caller)
            items = self._fetch(wanted, chosen) if self.id_kind else [None] * len(wanted)
        found = []
        for row, item in enumerate(items):
            if item is None:
                raise UnknownIdError(
                    f"{caller}: there is no object with id {wanted[row]!r}"
                    + ("." if modality is None else f" in modality {modality!r}.")
                )
            found.append(item)
        return found

    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects in blocks; with a modality only those that have it, and only its codes."""
        caller = self._caller("iterate")
        self._check_open()
        return self._blocks(self._chosen(modality, caller), check_count(batch, "batch", caller=caller))

    def stats(self) -> StoreStats:
        """Counts and sizes."""
        self._check_open()
        with self._reading():
            size, details = self._size_and_details()
            return StoreStats(
                address=self.address,
                engine=self.engine,
                model=None if self._model is None else self._model.method,
                n_bits=self.n_bits,
                n_objects=self._count_objects(),
                n_codes={name: self._count(name, None) for name in self.modalities},
                fused_modality=self.fused_modality,
                id_kind=self.id_kind,
                size=size,
                details=details,
            )

    def verify(self) -> VerifyReport:
        """Read all objects and check them, the counts, and the model.

        Returns
        -------
        VerifyReport
            ``.ok`` is True if nothing is wrong; ``.problems`` lists what is.
        """
        self._check_open()
        problems = list(self._problems())
        n_codes, n_objects, n_payloads = dict.fromkeys(self.modalities, 0), 0, 0
        try:
            for block in self.iterate():
                n_objects += len(block)
                n_payloads += sum(bool(item.payload) for item in block)
                for name in self.modalities:
                    rows = [item.codes[name] for item in block if name in item.codes]
                    n_codes[name] += len(rows)
                    if rows:
                        stacked = check_codes(np.stack(rows), n_bits=self.n_bits, caller="verify")
                        check_padding(stacked, self.n_bits, caller=f"modality {name!r}")
            expected = {name: self._count(name, None) for name in self.modalities}
            if not problems and (n_codes != expected or n_objects != len(self)):
                problems.append(
                    f"there should be {len(self)} objects with codes {expected}, "
                    f"and {n_objects} with {n_codes} were read"
                )
        except DiffhashError as error:
            problems.append(str(error))
        return VerifyReport(tuple(problems[:_MAX_PROBLEMS]), sum(n_codes.values()), n_objects, n_payloads)

    def close(self) -> None:
        """Close connections. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            if os.getpid() == self._process:
                self._close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return f"{type(self).__name__}({self.address!r}, closed)"
        return f"{type(self).__name__}({self.address!r}, {self.n_bits} bits, {', '.join(self.modalities)})"

    def _check_open(self) -> None:
        if self._closed:
            raise CollectionError(f"{type(self).__name__}: {self.address} was closed. Open it again.")
        if os.getpid() != self._process:
            raise CollectionError(
                f"{type(self).__name__}: {self.address} was opened before this process was forked. Open it again "
                "here: a connection cannot be shared between processes."
            )

    def _check_writable(self, caller: str) -> None:
        self._check_open()
        if not self._writable:
            raise ReadOnlyCollectionError(
                f"{caller}: {self.address} was opened for reading. Open it with writable=True."
            )


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
