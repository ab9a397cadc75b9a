"""Filters in SQL: find the stored objects that match.

Field names and values are bound to statements, never written into them. Indexed fields are looked up
in the index; all others are compared in one pass over the payloads. ``payload -> path`` returns a value
as the JSON text that was stored, so values are equal exactly if their texts are.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import BoolArray
from ..filter_syntax import NUMBER, TEXT, And, Node, Not, OneOf, Or, Range, fields_of, kind_of, matches
from ..payload_json import to_json
from .database import Database
from .modality_codes import ModalityCodes
from .payloads import indexed_fields
from .sqlite_errors import damage_is_reported

__all__ = ["add_functions", "field_has_value", "sample_fields", "select_rows"]

_OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Field names without characters that JSON escapes; SQLite can then read the field.
_UNESCAPED = re.compile(r'[^"\\\x00-\x1f]+')
#: Up to this many values are bound one by one.
_MAX_LISTED = 100
#: For up to this many values the text of the payload is searched first.
_MAX_TEXT_SEARCHES = 4
#: Maximum depth of a filter, and number of values in it, that become one SQL condition.
_MAX_DEPTH, _MAX_VALUES = 6, 10_000
#: Payloads whose fields are suggested.
_SAMPLE = 1000
_HAS_ARROW = sqlite3.sqlite_version_info >= (3, 38, 0)


def add_functions(db: Database) -> None:
    """Add the SQL functions that read fields whose names or values JSON writes with escapes."""
    db.add_function("diffhash_field", 2, _field)
    db.add_function("diffhash_value", 3, _value)


def _field(payload: str, name: str) -> str:
    """A field as JSON."""
    return to_json(json.loads(payload).get(name))


def _value(payload: str, name: str, kind: int) -> Any:
    """A field if it has the kind, otherwise null."""
    found = kind_of(json.loads(payload).get(name))
    return found[1] if found is not None and found[0] == kind else None


def select_rows(db: Database, node: Node, stored: ModalityCodes) -> BoolArray:
    """Mask of the rows of an index whose objects match; within a transaction."""
    with damage_is_reported(db.path):
        return _select(db, node, stored, indexed_fields(db))


def _select(db: Database, node: Node, stored: ModalityCodes, fields: Mapping[str, int]) -> BoolArray:
    if not fields_of(node) & fields.keys() and _fits(node):
        return _scan(db, node, stored)
    if isinstance(node, Not):
        return ~_select(db, node.node, stored, fields)
    if isinstance(node, OneOf | Range):
        return _look_up(db, node, stored, fields[node.field])
    joined = np.logical_and if isinstance(node, And) else np.logical_or
    mask: BoolArray | None = None
    for part in _parts(node, fields):
        found = _select(db, part, stored, fields)
        mask = found if mask is None else joined(mask, found)
    assert mask is not None  # a node without parts fits
    return mask


def _parts(node: And | Or, fields: Mapping[str, int]) -> Iterator[Node]:
    """Parts of a node. Parts that one pass over the payloads can answer together are joined."""
    together: list[Node] = []
    size = 0
    for part in node.nodes:
        depth, n_values = _extent(part)
        if fields_of(part) & fields.keys() or depth >= _MAX_DEPTH or n_values > _MAX_VALUES:
            yield part
            continue
        if size + n_values > _MAX_VALUES:
            yield type(node)(tuple(together))
            together, size = [], 0
        together.append(part)
        size += n_values
    if together:
        yield type(node)(tuple(together))


def _fits(node: Node) -> bool:
    """Whether a filter can be one SQL condition: the stack of SQLite's parser has a hundred entries."""
    depth, size = _extent(node)
    return depth <= _MAX_DEPTH and (size <= _MAX_VALUES or isinstance(node, OneOf | Range))


def _extent(node: Node) -> tuple[int, int]:
    """Depth of a filter, and approximate number of values that it binds."""
    if isinstance(node, Not):
        depth, size = _extent(node.node)
        return depth + 1, size
    if isinstance(node, And | Or):
        extents = [_extent(part) for part in node.nodes]
        return 1 + max((depth for depth, _ in extents), default=0), sum(size for _, size in extents)
    return 0, _MAX_LISTED if isinstance(node, OneOf) and len(node.values) > _MAX_TEXT_SEARCHES else 20


def _look_up(db: Database, leaf: OneOf | Range, stored: ModalityCodes, field: int) -> BoolArray:
    """Rows that match, found with the index of a field."""
    mask = stored.no_rows()
    conditions: list[tuple[str, list[Any]]] = []
    if isinstance(leaf, Range):
        sql = "".join(f" AND value {_OPERATORS[name]} ?" for name, _ in leaf.bounds)
        conditions.append((f" AND kind = ?{sql}", [leaf.kind, *(value for _, value in leaf.bounds)]))
    else:
        for kind in map(kind_of, leaf.values):
            if kind is None:
                # Null and missing fields have no entry in the index.
                present = stored.no_rows()
                present[stored.rows(_keys(db, "field_values WHERE field = ?", [field]))] = True
                mask |= ~present
            else:
                conditions.append((" AND kind = ? AND value = ?", list(kind)))
    for sql, values in conditions:
        mask[stored.rows(_keys(db, f"field_values WHERE field = ?{sql}", [field, *values]))] = True
    return mask


def _scan(db: Database, node: Node, stored: ModalityCodes) -> BoolArray:
    """Rows that match, found in one pass over all payloads."""
    # Objects without a payload have no row in the table, so SQL selects those that give another result.
    without = matches(node, {})
    statement = _Statement(db)
    condition = statement.condition(node)
    keys = _keys(db, f"payloads WHERE {condition} <> {statement.bind(int(without))}", statement.values)
    mask = np.full(len(stored), without)
    mask[stored.rows(keys)] = not without
    return mask


class _Statement:
    """An SQL condition on ``payload`` and the values that are bound to it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.values: list[Any] = []

    def bind(self, value: Any) -> str:
        """Bind a value; returns its placeholder."""
        self.values.append(value)
        return f"?{len(self.values)}"

    def condition(self, node: Node) -> str:
        """The SQL of a node; its value is 0 or 1, never NULL."""
        if isinstance(node, Not):
            return f"(NOT {self.condition(node.node)})"
        if isinstance(node, And | Or):
            return self._join(node)
        readable = _HAS_ARROW and _UNESCAPED.fullmatch(node.field) is not None
        if isinstance(node, OneOf):
            return self._one_of(node, readable)
        return self._range(node, readable and (node.kind == NUMBER or not self._any_nul()))

    def _join(self, node: And | Or) -> str:
        """All or one of the parts. CASE stops at the part that decides; AND and OR do not always."""
        if not node.nodes:
            return "1"
        cheap_first = sorted(node.nodes, key=lambda part: not isinstance(part, OneOf))
        sign, found, end = ("NOT ", 0, 1) if isinstance(node, And) else ("", 1, 0)
        cases = " ".join(f"WHEN {sign}({self.condition(part)}) THEN {found}" for part in cheap_first)
        return f"(CASE {cases} ELSE {end} END)"

    def _one_of(self, node: OneOf, readable: bool) -> str:
        texts = sorted({text for value in node.values for text in _texts(value)})
        if len(texts) <= _MAX_LISTED:
            listed = ", ".join(map(self.bind, texts))
        else:
            listed = f"SELECT value FROM json_each({self.bind(json.dumps(texts))})"
        if not readable:
            return f"(diffhash_field(payload, {self.bind(node.field)}) IN ({listed}))"
        found = f"(payload -> {self.bind(_path(node.field))})"
        if "null" in texts:
            return f"(coalesce({found}, 'null') IN ({listed}))"
        if len(texts) > _MAX_TEXT_SEARCHES:
            return f"coalesce({found} IN ({listed}), 0)"
        # In compact JSON a field and its value are adjacent: a text search excludes most payloads quickly.
        places = (self.bind(f"{to_json(node.field)}:{text}") for text in texts)
        near = " OR ".join(f"instr(payload, {place})" for place in places) or "0"
        return f"CASE WHEN {near} THEN coalesce({found} IN ({listed}), 0) ELSE 0 END"

    def _range(self, node: Range, readable: bool) -> str:
        if not readable:
            found = f"diffhash_value(payload, {self.bind(node.field)}, {self.bind(node.kind)})"
            bounds = [f"{found} {_OPERATORS[sign]} {self.bind(limit)}" for sign, limit in node.bounds]
            return f"coalesce({' AND '.join(bounds)}, 0)"
        path = self.bind(_path(node.field))
        # SQLite parses JSON numbers in its own way: let it parse both sides.
        limits = [
            self._db.value("SELECT json_extract(?, '$')", (to_json(limit),)) for _, limit in node.bounds
        ]
        if node.kind == TEXT:
            limits = [limit for _, limit in node.bounds]
        bounds = [
            f"json_extract(payload, {path}) {_OPERATORS[sign]} {self.bind(limit)}"
            for (sign, _), limit in zip(node.bounds, limits, strict=True)
        ]
        # SQLite takes true for 1 and sorts texts after numbers, so the type is checked too; last, for few payloads.
        kinds = "('integer', 'real')" if node.kind == NUMBER else "('text')"
        return f"CASE WHEN {' AND '.join(bounds)} THEN json_type(payload, {path}) IN {kinds} ELSE 0 END"

    def _any_nul(self) -> bool:
        """Whether a payload contains a NUL character; SQLite would cut a string off there."""
        found = "SELECT EXISTS (SELECT 1 FROM payloads WHERE instr(payload, ?))"
        return bool(self._db.value(found, ("\\u0000",)))


def field_has_value(db: Database, name: str) -> bool:
    """Whether a payload has a field with a value that is not null; within a transaction."""
    condition = "instr(payload, ?) AND diffhash_field(payload, ?) <> 'null'"
    statement = f"SELECT EXISTS (SELECT 1 FROM payloads WHERE {condition})"
    return bool(db.value(statement, (f"{to_json(name)}:", name)))


def sample_fields(db: Database) -> list[str]:
    """Names of the fields of the first payloads; within a transaction."""
    with damage_is_reported(db.path):
        rows = db.execute("SELECT payload FROM payloads ORDER BY key LIMIT ?", (_SAMPLE,))
        return list(dict.fromkeys(name for (text,) in rows for name in json.loads(text)))


def _path(name: str) -> str:
    return f'$."{name}"'


def _texts(value: Any) -> set[str]:
    """The JSON texts of all payload values that are equal to a value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return {to_json(value)}
    texts = {to_json(value)}
    if value == 0:
        return {"0", "0.0", "-0.0"}
    if isinstance(value, int) and float(value) == value:
        texts.add(to_json(float(value)))
    elif isinstance(value, float) and value.is_integer():
        texts.add(to_json(int(value)))
    return texts


def _keys(db: Database, source: str, values: list[Any]) -> NDArray[np.int64]:
    # One long text is read several times faster than many rows.
    statement = f"SELECT group_concat(key), total(typeof(key) <> 'integer') FROM {source}"
    text, n_wrong = db.execute(statement, values).fetchone()
    if n_wrong:
        raise ValueError("a key in the index of payload fields is not a number")
    return np.empty(0, dtype=np.int64) if text is None else np.fromstring(text, dtype=np.int64, sep=",")
