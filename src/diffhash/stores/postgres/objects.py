"""Adding, removing and reading objects in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import code_bytes
from ...errors import CollectionFileError, InputError
from ...types import CodeArray
from ..engine_search import taken_error
from ..engine_store import NewRows
from ..ids import Ids
from ..protocol import Id, Item
from .binary_copy import END, START, code_rows, object_rows
from .json_values import from_stored_text, payloads_from_stored, to_stored, to_stored_text
from .transactions import Transactions

__all__ = ["Objects"]

_MAX_NUMBER = np.iinfo(np.int64).max
#: Longest id that an index of PostgreSQL can hold, in bytes.
_LONGEST_ID = 2000
#: Rows that are written to the server at a time.
_COPY_ROWS = 20_000


class Objects(Transactions):
    """The part of a store that adds, removes and reads objects."""

    def _insert(self, rows: NewRows, *, replace: bool, caller: str) -> list[Any]:
        now, n = self._counters, len(rows.codes)
        number = self.modalities.index(rows.modality)
        ids = self._ids_to_store(rows, caller)
        positions = self._find_positions(ids, rows.ids)
        known = np.flatnonzero(positions >= 0)
        if len(known):
            self._make_room(rows, positions[known], known, replace, caller)
        new = np.flatnonzero(positions < 0)
        positions[new] = now.next_position + np.arange(len(new))
        payloads = [None if text is None else to_stored(text) for text in rows.payloads]
        if len(known):
            self._update_payloads(positions[known], [payloads[row] for row in known])
        self._copy_objects(positions, ids, payloads, new)
        with self._connection.cursor() as cursor:
            target = f"COPY {self._tables.codes(number)} (position, code) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(target) as copy:
                copy.write(START)
                for begin in range(0, n, _COPY_ROWS):
                    part = slice(begin, begin + _COPY_ROWS)
                    copy.write(code_rows(positions[part], rows.codes[part]))
                copy.write(END)
        now.next_position += len(new)
        now.n_objects += len(new)
        now.n_codes[number] += n
        if now.id_kind == "int":
            now.next_id = max(now.next_id, min(max(ids), _MAX_NUMBER - 1) + 1)
        return ids if rows.ids is None or rows.ids.kind == "int" else list(rows.ids.strings)

    def _ids_to_store(self, rows: NewRows, caller: str) -> list[Any]:
        """Ids as they are stored. With the first ids of a collection their kind is settled."""
        now, n = self._counters, len(rows.codes)
        kind = "int" if rows.ids is None else rows.ids.kind
        if not now.id_kind:
            now.id_kind = kind
            if kind == "str":
                self._connection.execute(
                    f'ALTER TABLE {self._tables.objects} ALTER COLUMN id TYPE text COLLATE "C"'
                )
        if rows.ids is None:
            if now.next_id > _MAX_NUMBER - n:
                raise InputError(f"{caller}: no whole numbers are left above {now.next_id - 1}. Give ids.")
            return list(range(now.next_id, now.next_id + n))
        if kind == "int":
            return list(rows.ids.numbers.tolist())
        stored = [to_stored_text(text) for text in rows.ids.strings]
        longest = max(stored, key=len)
        if len(longest) > _LONGEST_ID // 4 and any(len(text.encode()) > _LONGEST_ID for text in stored):
            raise InputError(
                f"{caller}: PostgreSQL holds ids of at most {_LONGEST_ID:,} bytes, {longest[:40]!r}... is longer."
            )
        return stored

    def _find_positions(self, ids: list[Any], given: Ids | None) -> NDArray[np.int64]:
        """Positions of objects; -1 for those that do not exist."""
        positions = np.full(len(ids), -1, dtype=np.int64)
        now = self._counters
        if given is None or not now.n_objects:
            return positions
        # All numbers that were ever ids are below the next one, unless none is left.
        if given.kind == "int" and min(ids) >= now.next_id and now.next_id < _MAX_NUMBER:
            return positions
        found = self._connection.cursor(binary=True).execute(
            f"SELECT u.row, o.position FROM unnest({self._array(given.kind)}) WITH ORDINALITY u (id, row) "
            f"JOIN {self._tables.objects} o ON o.id = u.id",
            (_array_value(ids),),
        )
        for row, position in found.fetchall():
            positions[row - 1] = position
        return positions

    def _make_room(
        self,
        rows: NewRows,
        positions: NDArray[np.int64],
        known: NDArray[np.int64],
        replace: bool,
        caller: str,
    ) -> None:
        """Remove codes that are going to be replaced; or raise, if they must not be."""
        number = self.modalities.index(rows.modality)
        table, listed = self._tables.codes(number), _array_value(positions.tolist())
        if replace:
            removed = self._connection.execute(
                f"DELETE FROM {table} WHERE position = ANY(%s::bigint[])", (listed,)
            )
            self._counters.n_codes[number] -= removed.rowcount
            return
        found = self._connection.execute(
            f"SELECT position FROM {table} WHERE position = ANY(%s::bigint[])", (listed,)
        ).fetchall()
        if found:
            taken = {position for (position,) in found}
            row = next(r for r, p in zip(known.tolist(), positions.tolist(), strict=True) if p in taken)
            assert rows.ids is not None  # numbers that the store chooses are new
            raise taken_error(caller, rows.ids[row], rows.modality)

    def _update_payloads(self, positions: NDArray[np.int64], payloads: list[str | None]) -> None:
        pairs = [(p, text) for p, text in zip(positions.tolist(), payloads, strict=True) if text is not None]
        if pairs:
            self._connection.execute(
                f"UPDATE {self._tables.objects} o SET payload = u.payload::jsonb "
                "FROM unnest(%s::bigint[], %s::text[]) u (position, payload) WHERE o.position = u.position",
                (_array_value([p for p, _ in pairs]), [text for _, text in pairs]),
            )

    def _copy_objects(
        self,
        positions: NDArray[np.int64],
        ids: list[Any],
        payloads: list[str | None],
        new: NDArray[np.int64],
    ) -> None:
        if not len(new):
            return
        if len(new) < len(ids):
            ids, payloads = [ids[row] for row in new], [payloads[row] for row in new]
        listed = positions[new].tolist()
        target = f"COPY {self._tables.objects} (position, id, payload) FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(target) as copy:
            copy.write(START)
            for begin in range(0, len(ids), _COPY_ROWS):
                part = slice(begin, begin + _COPY_ROWS)
                copy.write(object_rows(listed[part], ids[part], payloads[part]))
            copy.write(END)

    def _remove(self, ids: Ids, modalities: Sequence[str]) -> int:
        now = self._counters
        distinct = _distinct(ids)
        positions = self._find_positions(distinct, ids)
        listed = _array_value(positions[positions >= 0].tolist())
        removed: set[int] = set()
        for name in modalities:
            number = self.modalities.index(name)
            found = self._connection.execute(
                f"DELETE FROM {self._tables.codes(number)} WHERE position = ANY(%s::bigint[]) RETURNING position",
                (listed,),
            ).fetchall()
            now.n_codes[number] -= len(found)
            removed.update(position for (position,) in found)
        left = " AND ".join(
            f"NOT EXISTS (SELECT 1 FROM {self._tables.codes(n)} c WHERE c.position = o.position)"
            for n in range(len(self.modalities))
        )
        gone = self._connection.execute(
            f"DELETE FROM {self._tables.objects} o WHERE o.position = ANY(%s::bigint[]) AND {left}",
            (_array_value(list(removed)),),
        )
        now.n_objects -= gone.rowcount
        return len(removed)

    def _fetch(self, ids: Ids, modalities: Sequence[str]) -> list[Item | None]:
        distinct = _distinct(ids)
        source = f"unnest({self._array(ids.kind)}) u (id) JOIN {self._tables.objects} o ON o.id = u.id"
        found = {item.id: item for item in self._items(source, "", modalities, (_array_value(distinct),))}
        return [found.get(ids[row]) for row in range(len(ids))]

    def _blocks(self, modalities: Sequence[str], batch: int) -> Iterator[list[Item]]:
        last = -1
        while True:
            begin = last

            def work(begin: int = begin) -> tuple[int | None, list[Item]]:
                row = self._connection.execute(
                    f"SELECT max(position) FROM (SELECT position FROM {self._tables.objects} WHERE position > %s "
                    "ORDER BY position LIMIT %s) o",
                    (begin, batch),
                ).fetchone()
                end = None if row is None else row[0]
                if end is None:
                    return None, []
                return end, self._items_between(begin, end, modalities)

            end, items = self._read(work, caller=self._caller("iterate"))
            if end is None:
                return
            last = end
            if items:
                yield items

    def _items_between(self, begin: int, end: int, modalities: Sequence[str]) -> list[Item]:
        # The same bounds for each table: the planner then reads only these parts of them, whatever it knows.
        bounds = "{0}.position > %(begin)s AND {0}.position <= %(end)s"
        where = f"WHERE {bounds.format('o')} ORDER BY o.position"
        source = f"{self._tables.objects} o"
        values = {"begin": begin, "end": end}
        return list(self._items(source, where, modalities, values, bounds=bounds))

    def _items(
        self, source: str, where: str, modalities: Sequence[str], values: Any, *, bounds: str = "true"
    ) -> Iterator[Item]:
        """Objects with a code in one of the modalities; ``bounds`` is a condition on each table of codes."""
        numbers = [self.modalities.index(name) for name in modalities]
        columns = "".join(f", c{n}.code" for n in numbers)
        joins = "".join(
            f" LEFT JOIN {self._tables.codes(n)} c{n} ON c{n}.position = o.position AND {bounds.format(f'c{n}')}"
            for n in numbers
        )
        cursor = self._connection.cursor(binary=True)
        cursor.execute(f"SELECT o.id, o.payload::text{columns} FROM {source}{joins} {where}", values)
        rows = cursor.fetchall()
        width = code_bytes(self.n_bits)
        codes: list[CodeArray] = []
        for place in range(2, 2 + len(numbers)):
            data = b"".join(row[place] or bytes(width) for row in rows)
            if len(data) != len(rows) * width:
                raise CollectionFileError(
                    f"{type(self).__name__}: codes of {self.address} should have {width} bytes. Somebody else has "
                    "changed the tables. Restore them from a backup."
                )
            codes.append(np.frombuffer(data, dtype=np.uint8).reshape(len(rows), width))
        named = list(zip(range(2, 2 + len(numbers)), modalities, codes, strict=True))
        payloads = payloads_from_stored([row[1] for row in rows])
        for number, row in enumerate(rows):
            found = {name: stacked[number] for place, name, stacked in named if row[place] is not None}
            if found:
                id_: Id = from_stored_text(row[0]) if isinstance(row[0], str) else row[0]
                yield Item(id_, found, payloads[number])

    def _array(self, kind: str) -> str:
        return "%s::text[]" if kind == "str" else "%s::bigint[]"

    def _count_objects(self) -> int:
        return self._counters.n_objects


def _distinct(ids: Ids) -> list[Any]:
    """Each id once, as it is stored."""
    if ids.kind == "str":
        return [to_stored_text(text) for text in dict.fromkeys(ids.strings)]
    return list(dict.fromkeys(ids.numbers.tolist()))


def _array_value(values: list[Any]) -> Any:
    """A list as a value of an array type. Numbers as text, which is several times faster to bind than a list."""
    if values and isinstance(values[0], str):
        return values
    return "{" + ",".join(map(str, values)) + "}"
