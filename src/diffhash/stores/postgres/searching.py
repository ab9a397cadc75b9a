"""Searching in PostgreSQL.

Answers are exact, unless the store was opened with ``ef``: the order is by ``(code <~> query) + 0``, an expression
that no index can have, so the planner cannot answer from an approximate one.
"""

from __future__ import annotations

from typing import Any

from psycopg import Cursor

from ...types import CodeArray
from ..engine_search import Neighbour
from ..filter_syntax import Node
from .connections import Bits
from .filter_sql import Parameters, condition
from .json_values import from_stored, from_stored_text
from .tables import quoted
from .transactions import Transactions

__all__ = ["Searching"]

#: Queries that are sent before the first answer is read.
_SENT_AHEAD = 50


class Searching(Transactions):
    """The part of a store that searches."""

    #: Number of candidates of an approximate index; None: exact.
    ef: int | None = None

    def _count(self, modality: str, where: Node | None) -> int:
        number = self.modalities.index(modality)
        if where is None:
            return self._counters.n_codes[number]
        values = Parameters()
        row = self._connection.execute(
            f"SELECT count(*) FROM {self._tables.codes(number)} c JOIN {self._tables.objects} o USING (position) "
            f"WHERE {condition(where, values, 'o.payload')}",
            values,
        ).fetchone()
        assert row is not None  # count always has a row
        return int(row[0])

    def _nearest(
        self, codes: CodeArray, modality: str, k: int | None, radius: int | None, where: Node | None
    ) -> list[list[Neighbour]]:
        number = self.modalities.index(modality)
        if not self._counters.n_codes[number]:
            return [[] for _ in codes]
        values = Parameters()
        statement = self._statement(number, k, radius, where, values)
        if self.ef is not None:
            self._connection.execute(
                "SELECT set_config('hnsw.ef_search', %s, true), "
                "set_config('hnsw.iterative_scan', 'strict_order', true)",
                (str(self.ef),),
            )
        found: list[list[Neighbour]] = []
        for begin in range(0, len(codes), _SENT_AHEAD):
            cursors: list[Cursor[Any]] = []
            with self._connection.pipeline():
                for code in codes[begin : begin + _SENT_AHEAD]:
                    cursor = self._connection.cursor(binary=True)
                    cursor.execute(statement, {**values, "query": Bits(code.tobytes())}, prepare=True)
                    cursors.append(cursor)
            found += [[self._neighbour(*row) for row in cursor.fetchall()] for cursor in cursors]
        return found

    def _neighbour(self, id_: Any, distance: float, payload: str | None) -> Neighbour:
        shown = from_stored_text(id_) if isinstance(id_, str) else id_
        return Neighbour(shown, int(distance), from_stored(payload), -float(distance))

    def _statement(
        self, number: int, k: int | None, radius: int | None, where: Node | None, values: Parameters
    ) -> str:
        """The statement for one query, whose code is bound to ``query``."""
        objects, codes = self._tables.objects, self._tables.codes(number)
        distance = f"(c.code OPERATOR({self._operator_schema}.<~>) %(query)s)"
        # One expression for the order and the result: it is then computed once for each code.
        value = distance if self.ef is not None and k is not None else f"{distance} + 0"
        conditions = []
        source = f"{codes} c"
        if where is not None:
            source += f" JOIN {objects} f ON f.position = c.position"
            conditions.append(condition(where, values, "f.payload"))
        if radius is not None:
            conditions.append(f"{distance} <= {values.bind(float(radius))}")
        limited = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if k is not None:
            # Equal distances are in the order of adding; an approximate index can only order by the distance.
            ties = "" if self.ef is not None else ", c.position"
            limited += f" ORDER BY {value}{ties} LIMIT {values.bind(k)}"
        return (
            f"SELECT o.id, n.distance, o.payload::text "
            f"FROM (SELECT c.position, {value} AS distance FROM {source}{limited}) n "
            f"JOIN {objects} o ON o.position = n.position ORDER BY n.distance, n.position"
        )

    @property
    def _operator_schema(self) -> str:
        return quoted(self._server.extension_schema)
