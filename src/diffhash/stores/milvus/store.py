"""A store in Milvus: the primitives of :class:`..engine_store.EngineStore` over Milvus collections."""

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
from ...types import CodeArray
from ..address import Address
from ..engine_search import Neighbour, taken_error
from ..engine_store import EngineStore, NewRows
from ..filter_syntax import Node, matches
from ..ids import Ids
from ..payload_json import to_json
from ..protocol import Id, Item
from ..store_description import NewStore, StoreDescription
from .connection import Connection, read_settings
from .expressions import filter_expression, id_range
from .nearest import nearest_by_server, nearest_of_rows
from .rows import MAX_FOUND, Row, Rows, check_sizes
from .tables import State, Tables

__all__ = ["MilvusStore", "create_store", "open_store"]

T = TypeVar("T")
_STRONG = "Strong"
#: Milvus cannot return the number above this one.
_MAX_ID = 2**63 - 2
_PAGE = 10_000
#: A reader compares the identity of the store at most so often, in seconds.
_COMPARE_SECONDS = 1.0


class MilvusStore(EngineStore):
    """Objects in a Milvus server, behind the same protocol as a collection in a file.

    Make one with :func:`diffhash.create` and open it with :func:`diffhash.open`, at ``milvus://HOST:PORT/NAME``.

    Notes
    -----
    A search is exact, unless the store was made with ``index=ivf`` and is opened with ``nprobe=...``. Reads see
    everything that was written before them, unless it is opened with ``consistency=bounded``. Milvus has no
    transactions: see the how-to for what that means. Threads may share a store; one writes at a time.
    """

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
        for item in self._items(modalities, min(batch, _PAGE)):
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

    def _count(self, modality: str, where: Node | None) -> int:
        caller = self._caller("count")
        total = 0
        for n in self._existing([modality], caller):
            expression = self._expression(where)
            if where is None or expression.exact:
                total += self._count_in(n, expression.text, caller)
            else:
                total += sum(map(len, self._matching(n, where, caller)))
        return total

    def _nearest(
        self, codes: CodeArray, modality: str, k: int | None, radius: int | None, where: Node | None
    ) -> list[list[Neighbour]]:
        caller = self._caller("search")
        found: list[list[Neighbour] | None] = [[] for _ in codes]
        for n in self._existing([modality], caller):
            expression = self._expression(where)
            if expression.exact and (k is None or k <= MAX_FOUND):
                table = self._tables.code_table(n)
                found = nearest_by_server(
                    self._connection,
                    table,
                    codes,
                    k,
                    radius,
                    expression.text,
                    self._search_options(),
                    caller=caller,
                )
            else:
                found = [None] * len(codes)
            left = [row for row, hits in enumerate(found) if hits is None]
            if left:
                rest = nearest_of_rows(self._matching(n, where, caller), codes[left], k, radius, self.n_bits)
                for row, hits in zip(left, rest, strict=True):
                    found[row] = hits
        return [hits or [] for hits in found]

    def _search_options(self) -> dict[str, Any]:
        params: dict[str, Any] = {}
        if self._state.index == "BIN_IVF_FLAT":
            lists = self._state.n_lists
            params["nprobe"] = min(self._connection.settings.n_probes or lists, lists)
        return {"level": self._level, "params": params}

    def _expression(self, where: Node | None) -> Any:
        # Whether "not" is true for a missing field was tested with 2.3, and depends on the release.
        return filter_expression(where, negation=self._connection.version.startswith("2.3."))

    def _matching(self, n: int, where: Node | None, caller: str) -> Iterator[list[Row]]:
        """Rows that match a filter, in pages: what the server cannot express is evaluated here."""
        text = self._expression(where).text
        for page in self._rows.pages(
            self._tables.code_table(n), text, _PAGE, level=self._level, caller=caller
        ):
            yield page if where is None else [row for row in page if matches(where, row.payload)]

    def _existing(self, modalities: Sequence[str], caller: str) -> list[int]:
        return self._tables.existing([self.modalities.index(name) for name in modalities], caller=caller)

    def _by_id(self, n: int, ids: Sequence[Id], caller: str) -> dict[Id, Row]:
        return self._rows.by_id(self._tables.code_table(n), ids, level=self._level, caller=caller)

    def _count_in(self, n: int, expression: str, caller: str) -> int:
        return self._rows.count(self._tables.code_table(n), expression, level=self._level, caller=caller)

    # ---- Other --------------------------------------------------------------------------------------------

    def _size_and_details(self) -> tuple[int | None, dict[str, Any]]:
        there = self._existing(self.modalities, self._caller("stats"))
        return None, {
            "server": f"Milvus {self._connection.version}",
            "index": self._state.index,
            "consistency": self._connection.settings.level,
            "milvus_collections": [self._tables.model_table, *map(self._tables.code_table, there)],
        }

    def _problems(self) -> list[str]:
        caller = self._caller("verify")
        there = self._existing(self.modalities, caller)
        problems = [
            text
            for n in there
            for text in self._tables.check_codes(n, self.n_bits, self.id_kind, caller=caller)
        ]
        if len(there) > 1 and not problems:
            for id_, rows in self._merged(self.modalities, _PAGE):
                if sum(row.first for row in rows.values()) != 1:
                    problems.append(
                        f"object {id_!r} is counted {sum(row.first for row in rows.values())} times"
                    )
                if len({to_json(row.payload) for row in rows.values()}) > 1:
                    problems.append(f"object {id_!r} has several payloads")
        return problems

    def _close(self) -> None:
        self._connection.close()


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


def create_store(address: Address, new: NewStore, *, overwrite: bool, timeout: float | None) -> MilvusStore:
    """Make an empty store, for the registry."""
    caller = "diffhash.create"
    connection = Connection(
        read_settings(address, caller=caller), shown=address.shown, timeout=timeout, caller=caller
    )
    try:
        tables = Tables(connection)
        state = tables.create(new, overwrite=overwrite, caller=caller)
    except BaseException:
        connection.close()
        raise
    return MilvusStore(
        new.description, new.model, connection=connection, tables=tables, state=state, writable=True
    )


def open_store(
    address: Address,
    *,
    writable: bool,
    featurizers: Mapping[str, Any] | None,
    kernel: Any,
    timeout: float | None,
) -> MilvusStore:
    """Open a store, for the registry."""
    caller = "diffhash.open"
    connection = Connection(
        read_settings(address, caller=caller), shown=address.shown, timeout=timeout, caller=caller
    )
    try:
        tables = Tables(connection)
        description = tables.describe(caller=caller)
        model = None
        if description.has_model:
            data = tables.model_bytes(caller=caller)
            model = description.load(data, name=address.shown, kernel=kernel, featurizers=featurizers)
        state = tables.state(caller=caller)
    except BaseException:
        connection.close()
        raise
    return MilvusStore(
        description, model, connection=connection, tables=tables, state=state, writable=writable
    )
