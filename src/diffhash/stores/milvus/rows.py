"""Reading and writing rows of Milvus collections: by id, page by page, in requests of a limited size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CollectionFileError, DiffhashError, InputError
from ...types import CodeArray
from ..payload_json import to_json
from ..protocol import Id
from .connection import Connection
from .expressions import id_expressions, id_range
from .tables import MAX_TEXT

__all__ = ["MAX_FOUND", "Row", "Rows"]

#: Most rows that a search or a query of Milvus can return.
MAX_FOUND = 16_384
#: Longest payload that Milvus can hold, in bytes.
_MAX_PAYLOAD = 65_536
#: Milvus 2.3 stores a row with this id, and its queries never return it.
_LARGEST = 2**63 - 1
_IDS_AT_ONCE = 4_096
_ROWS_AT_ONCE = 10_000
#: Milvus takes requests of 64 MB.
_BYTES_AT_ONCE = 24_000_000
_FIELDS = ["id", "code", "payload", "first"]


@dataclass(frozen=True)
class Row:
    """A row of a collection of codes.

    Attributes
    ----------
    id : int or str
    code : bytes
    payload : dict
    first : bool
        Whether this row is the one by which its object is counted.
    """

    id: Id
    code: bytes
    payload: dict[str, Any]
    first: bool

    def as_array(self) -> CodeArray:
        """The code as an array."""
        return np.frombuffer(self.code, dtype=np.uint8).copy()


class Rows:
    """Rows of the Milvus collections of a store.

    Parameters
    ----------
    connection : Connection
    n_bytes : int
        Length of a code.
    """

    def __init__(self, connection: Connection, n_bytes: int) -> None:
        self._connection = connection
        self._n_bytes = n_bytes

    def count(self, table: str, expression: str, *, level: str, caller: str) -> int:
        """Number of rows that match an expression."""
        rows = self._connection.call(
            "query",
            table,
            caller=caller,
            filter=expression,
            output_fields=["count(*)"],
            consistency_level=level,
        )
        return int(rows[0]["count(*)"])

    def by_id(self, table: str, ids: Sequence[Id], *, level: str, caller: str) -> dict[Id, Row]:
        """Rows of some ids; ids without a row are left out."""
        if not ids or not self.count(table, id_range(ids), level=level, caller=caller):
            return {}
        found: dict[Id, Row] = {}
        for expression in id_expressions(ids, _IDS_AT_ONCE):
            rows = self._connection.call(
                "query",
                table,
                caller=caller,
                filter=expression,
                output_fields=_FIELDS,
                consistency_level=level,
            )
            found.update({row.id: row for row in map(self._row, rows)})
        return found

    def pages(
        self, table: str, expression: str, size: int, *, level: str, caller: str
    ) -> Iterator[list[Row]]:
        """Rows that match an expression, in the order of their ids."""
        iterator = self._connection.iterator(
            table,
            caller=caller,
            batch_size=min(size, MAX_FOUND),
            filter=expression,
            output_fields=_FIELDS,
            consistency_level=level,
        )
        try:
            while page := self._connection.page(iterator, caller=caller):
                yield [self._row(row) for row in page]
        finally:
            iterator.close()

    def _row(self, row: Mapping[str, Any]) -> Row:
        try:
            (code,) = row["code"]
            payload = row["payload"]
            if not isinstance(code, bytes) or len(code) != self._n_bytes or not isinstance(payload, dict):
                raise ValueError(f"row {row['id']!r:.60} has a code or a payload of another kind")
            return Row(row["id"], code, payload, bool(row["first"]))
        except (KeyError, TypeError, ValueError) as error:
            raise CollectionFileError(
                f"{self._connection.shown} is damaged, or somebody has changed its schema: {error!s:.200}"
            ) from error

    def write(
        self,
        table: str,
        ids: Sequence[Id],
        codes: CodeArray,
        payloads: Sequence[str],
        first: Sequence[bool],
        *,
        caller: str,
    ) -> None:
        """Store rows, and replace those with the same ids.

        Raises
        ------
        StoreUnavailableError, StoreServerError
            The message says how many of the rows were stored.
        """
        flat = np.ascontiguousarray(codes).tobytes()
        size, begin = self._n_bytes, 0
        while begin < len(ids):
            end = _block_end(payloads, begin)
            rows = [
                {
                    "id": id_,
                    "code": flat[row * size : (row + 1) * size],
                    "payload": payload,
                    "first": is_first,
                }
                for row, id_, payload, is_first in zip(
                    range(begin, end), ids[begin:end], payloads[begin:end], first[begin:end], strict=True
                )
            ]
            try:
                self._connection.call("upsert", table, rows, caller=caller)
            except DiffhashError as error:
                if begin:
                    error.args = (
                        f"{error} {begin} of {len(ids)} objects were stored. Repeat the call with upsert.",
                    )
                raise
            begin = end

    def rewrite(self, table: str, rows: Sequence[Row], *, caller: str) -> None:
        """Store rows that were read and changed."""
        if not rows:
            return
        codes = np.frombuffer(b"".join(row.code for row in rows), dtype=np.uint8).reshape(len(rows), -1)
        texts = [to_json(row.payload) for row in rows]
        self.write(table, [row.id for row in rows], codes, texts, [row.first for row in rows], caller=caller)

    def delete(self, table: str, ids: Sequence[Id], *, caller: str) -> None:
        """Remove the rows of some ids."""
        for expression in id_expressions(ids, _IDS_AT_ONCE):
            self._connection.call("delete", table, caller=caller, filter=expression)


def check_sizes(ids: Sequence[Id], payloads: Sequence[str | None], *, caller: str) -> None:
    """Raise if Milvus cannot hold an id or a payload."""
    other = "Collections in files and PostgreSQL have no such limit."
    for id_ in ids:
        if id_ == _LARGEST:
            raise InputError(
                f"{caller}: Milvus cannot return the largest number, {_LARGEST}, as an id. {other}"
            )
        if isinstance(id_, str) and len(id_) > MAX_TEXT // 4 and len(id_.encode()) > MAX_TEXT:
            raise InputError(
                f"{caller}: an id of Milvus has at most {MAX_TEXT} bytes, got {len(id_.encode())}. {other}"
            )
    for row, text in enumerate(payloads):
        if text is not None and len(text) > _MAX_PAYLOAD // 4 and len(text.encode()) > _MAX_PAYLOAD:
            raise InputError(
                f"{caller}: a payload in Milvus has at most {_MAX_PAYLOAD} bytes as JSON, and payload {row} has "
                f"{len(text.encode())}. {other}"
            )


def _block_end(payloads: Sequence[str], begin: int) -> int:
    """End of the rows that go into one request."""
    end, size = begin, 0
    while end < len(payloads) and end - begin < _ROWS_AT_ONCE and size < _BYTES_AT_ONCE:
        size += 200 + 4 * len(payloads[end])
        end += 1
    return end
