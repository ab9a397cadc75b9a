"""Adding, removing and reading objects in Milvus."""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from ...errors import CollectionFileError, InputError
from ...model import HashModel
from ..engine_search import taken_error
from ..engine_store import EngineStore, NewRows
from ..ids import Ids
from ..payload_json import to_json
from ..protocol import Id, Item
from ..store_description import StoreDescription
from .connection import Connection
from .expressions import id_range
from .rows import Row, Rows, check_sizes
from .tables import State, Tables

__all__ = ["Objects"]

T = TypeVar("T")
_STRONG = "Strong"
#: Milvus cannot return the number above this one.
_MAX_ID = 2**63 - 2
#: Rows that are read at a time.
PAGE = 10_000
#: A reader compares the identity of the store at most so often, in seconds.
_COMPARE_SECONDS = 1.0


class Objects(EngineStore):
    """The part of a store that adds, removes and reads objects."""

    engine = "milvus"

    def __init__(
        self,
        description: StoreDescription,
        model: HashModel | None,
        *,
        connection: Connection,
        tables: Tables,
        state: State,
        writable: bool,
    ) -> None:
        super().__init__(description, model, address=connection.shown, writable=writable)
        self._connection = connection
        self._tables = tables
        self._state = state
        self._rows = Rows(connection, (description.n_bits + 7) // 8)
        self._lock = threading.RLock()
        self._writing = threading.local()
        #: When the identity of the store was last compared.
        self._compared = time.monotonic()

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" before the first object is added."""
        if not self._state.kind:
            self._state = self._tables.state(caller=type(self).__name__)
        return self._state.kind

    @property
    def _level(self) -> str:
        """Consistency of reads; what a writer decides by must be up to date."""
        return _STRONG if getattr(self._writing, "now", False) else self._connection.settings.level

    def _read(self, work: Callable[[], T], *, caller: str) -> T:
        # Asking takes about as long as a search, so it is not done with each call.
        if time.monotonic() - self._compared > _COMPARE_SECONDS:
            self._compare_identity(caller)
        return super()._read(work, caller=caller)

    def _compare_identity(self, caller: str) -> None:
        """Raise if somebody has made the store again: its codes may be of another model."""
        if not self._tables.is_still(self.description.identity, caller=caller):
            raise CollectionFileError(
                f"{caller}: {self.address} was made again by somebody else since it was opened here. Open it again."
            )
        self._compared = time.monotonic()

    def _write(self, work: Callable[[], T], *, caller: str) -> T:
        with self._lock:
            self._compare_identity(caller)
            self._writing.now = True
            try:
                return work()
            finally:
                self._writing.now = False

    # ---- Writing ----------------------------------------------------------------------------------------

    def _insert(self, rows: NewRows, *, replace: bool, caller: str) -> list[Any]:
        number = self.modalities.index(rows.modality)
        there = self._existing(self.modalities, caller)
        ids = self._next_ids(len(rows.codes), there, caller) if rows.ids is None else _listed(rows.ids)
        check_sizes(ids, rows.payloads, caller=caller)
        known = {n: {} if rows.ids is None else self._by_id(n, ids, caller) for n in there}
        same = known.pop(number, {})
        if same and not replace:
            raise taken_error(caller, next(id_ for id_ in ids if id_ in same), rows.modality)
        # The state first: if the server is lost, numbers are left out, and none is used twice.
        self._advance(ids, "int" if rows.ids is None else rows.ids.kind, caller)
        if number not in there:
            self._tables.create_codes(number, self.n_bits, self._state, caller=caller)
        payloads, first, changed = _combined(ids, rows.payloads, same, known)
        self._rows.write(self._tables.code_table(number), ids, rows.codes, payloads, first, caller=caller)
        for n, others in changed.items():
            self._rows.rewrite(self._tables.code_table(n), others, caller=caller)
        return ids

    def _next_ids(self, count: int, there: Sequence[int], caller: str) -> list[Any]:
        """The next whole numbers."""
        self._state = self._tables.state(caller=caller)
        begin = self._state.next_id
        # Another writer may have added larger numbers and not yet, or never, have written the state.
        while any(self._count_in(n, id_range([begin, _MAX_ID]), caller) for n in there):
            begin = self._above_all(begin, there, caller)
        if begin > _MAX_ID - count:
            raise InputError(f"{caller}: no whole numbers are left above {begin - 1}. Give ids.")
        return list(range(begin, begin + count))

    def _above_all(self, low: int, there: Sequence[int], caller: str) -> int:
        """The smallest number above all ids, by bisection."""
        high = _MAX_ID
        while low < high:
            middle = (low + high) // 2
            if any(self._count_in(n, id_range([middle, _MAX_ID]), caller) for n in there):
                low = middle + 1
            else:
                high = middle
        return low

    def _advance(self, ids: Sequence[Any], kind: str, caller: str) -> None:
        """Keep the kind of the ids, and the number above all of them."""
        state = replace(self._state, kind=kind)
        if kind == "int":
            state = replace(state, next_id=max(state.next_id, max(ids) + 1))
        if state != self._state:
            self._tables.write_state(state, caller=caller)
            self._state = state

    def _remove(self, ids: Ids, modalities: Sequence[str]) -> int:
        caller = self._caller("delete")
        wanted = list(dict.fromkeys(_listed(ids)))
        chosen = [self.modalities.index(name) for name in modalities]
        known = {n: self._by_id(n, wanted, caller) for n in self._existing(self.modalities, caller)}
        gone: dict[Id, None] = {}
        heirless: dict[Id, None] = {}
        for n in [n for n in known if n in chosen]:
            gone.update(dict.fromkeys(known[n]))
            heirless.update({id_: None for id_, row in known[n].items() if row.first})
        # Objects that keep codes in other modalities are counted by another row from now on.
        for n in [n for n in known if n not in chosen]:
            heirs = [replace(row, first=True) for id_, row in known[n].items() if id_ in heirless]
            for row in heirs:
                del heirless[row.id]
            self._rows.rewrite(self._tables.code_table(n), heirs, caller=caller)
        for n in [n for n in known if n in chosen]:
            self._rows.delete(self._tables.code_table(n), list(known[n]), caller=caller)
        return len(gone)

    # ---- Reading ----------------------------------------------------------------------------------------

    def _fetch(self, ids: Ids, modalities: Sequence[str]) -> list[Item | None]:
        caller = self._caller("get")
        listed = _listed(ids)
        unique = list(dict.fromkeys(listed))
        known = {
            self.modalities[n]: self._by_id(n, unique, caller) for n in self._existing(modalities, caller)
        }
        items: list[Item | None] = []
        for id_ in listed:
            rows = {name: known[name][id_] for name in modalities if id_ in known.get(name, {})}
            items.append(_item(id_, rows) if rows else None)
        return items

    def _blocks(self, modalities: Sequence[str], batch: int) -> Iterator[list[Item]]:
        block: list[Item] = []
        for item in self._items(modalities, min(batch, PAGE)):
            block.append(item)
            if len(block) == batch:
                self._check_open()
                yield block
                block = []
        if block:
            yield block

    def _items(self, modalities: Sequence[str], size: int) -> Iterator[Item]:
        """All objects in the order of their ids; the rows of the modalities are merged by id."""
        for id_, rows in self._merged(modalities, size):
            yield _item(id_, {self.modalities[n]: row for n, row in rows.items()})

    def _merged(self, modalities: Sequence[str], size: int) -> Iterator[tuple[Id, dict[int, Row]]]:
        caller = self._caller("iterate")

        def rows_of(n: int) -> Iterator[tuple[Any, int, Row]]:
            for page in self._rows.pages(
                self._tables.code_table(n), "", size, level=self._level, caller=caller
            ):
                yield from ((row.id, n, row) for row in page)

        streams = [rows_of(n) for n in self._existing(modalities, caller)]
        merged = heapq.merge(*streams, key=lambda entry: (entry[0], entry[1]))
        for id_, entries in groupby(merged, key=lambda entry: entry[0]):
            yield id_, {n: row for _, n, row in entries}

    def _count_objects(self) -> int:
        caller = self._caller("len")
        return sum(
            self._count_in(n, "first == true", caller) for n in self._existing(self.modalities, caller)
        )

    def _existing(self, modalities: Sequence[str], caller: str) -> list[int]:
        return self._tables.existing([self.modalities.index(name) for name in modalities], caller=caller)

    def _by_id(self, n: int, ids: Sequence[Id], caller: str) -> dict[Id, Row]:
        return self._rows.by_id(self._tables.code_table(n), ids, level=self._level, caller=caller)

    def _count_in(self, n: int, expression: str, caller: str) -> int:
        return self._rows.count(self._tables.code_table(n), expression, level=self._level, caller=caller)


def _listed(ids: Ids) -> list[Any]:
    return list(ids.strings) if ids.kind == "str" else ids.numbers.tolist()


def _item(id_: Id, rows: Mapping[str, Row]) -> Item:
    payload = next(iter(rows.values())).payload
    return Item(id_, {name: row.as_array() for name, row in rows.items()}, payload)


def _combined(
    ids: Sequence[Id],
    payloads: Sequence[str | None],
    same: Mapping[Id, Row],
    known: Mapping[int, Mapping[Id, Row]],
) -> tuple[list[str], list[bool], dict[int, list[Row]]]:
    """What is written for objects that may have rows already.

    Parameters
    ----------
    ids, payloads : the new rows
    same : rows of these ids in the same modality
    known : rows of these ids in the other modalities, by number

    Returns
    -------
    payloads, first : of the rows to write
    changed : rows of other modalities that get the new payload, by number
    """
    texts: list[str] = []
    first: list[bool] = []
    changed: dict[int, list[Row]] = {}
    some = any(known.values())
    for id_, text in zip(ids, payloads, strict=True):
        own = same.get(id_)
        others = {n: rows[id_] for n, rows in known.items() if id_ in rows} if some else {}
        old = own or next(iter(others.values()), None)
        first.append(own.first if own is not None else not others)
        if text is None:
            texts.append("{}" if old is None else to_json(old.payload))
            continue
        texts.append(text)
        for n, row in others.items():
            changed.setdefault(n, []).append(replace(row, payload=json.loads(text)))
    return texts, first, changed
