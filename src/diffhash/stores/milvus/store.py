"""MilvusStore: a collection in Milvus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...types import CodeArray
from ..address import Address
from ..engine_search import Neighbour
from ..filter_syntax import Node, matches
from ..payload_json import to_json
from ..store_description import NewStore
from .connection import Connection, read_settings
from .expressions import filter_expression
from .nearest import nearest_by_server, nearest_of_rows
from .objects import PAGE, Objects
from .rows import MAX_FOUND, Row
from .tables import Tables

__all__ = ["MilvusStore", "create_store", "open_store"]


class MilvusStore(Objects):
    """Objects in a Milvus server, behind the same protocol as a collection in a file.

    Make one with :func:`diffhash.create` and open it with :func:`diffhash.open`, at ``milvus://HOST:PORT/NAME``.

    Notes
    -----
    A search is exact, unless the store was made with ``index=ivf`` and is opened with ``nprobe=...``. Reads see
    everything that was written before them, unless it is opened with ``consistency=bounded``. Milvus has no
    transactions: see the how-to for what that means. Threads may share a store; one writes at a time.
    """

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
            self._tables.code_table(n), text, PAGE, level=self._level, caller=caller
        ):
            yield page if where is None else [row for row in page if matches(where, row.payload)]

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
            for id_, rows in self._merged(self.modalities, PAGE):
                if sum(row.first for row in rows.values()) != 1:
                    problems.append(
                        f"object {id_!r} is counted {sum(row.first for row in rows.values())} times"
                    )
                if len({to_json(row.payload) for row in rows.values()}) > 1:
                    problems.append(f"object {id_!r} has several payloads")
        return problems

    def _close(self) -> None:
        self._connection.close()


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
