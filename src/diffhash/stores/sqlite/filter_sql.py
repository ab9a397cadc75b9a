"""Filters in SQL: which of the stored objects match.

Field names and values are bound to statements, never written into them. A field that is indexed
is looked up; all others are found in one pass over the payloads. ``payload -> path`` gives a value as
the JSON text that we wrote, so that equality is equality of texts, and exact.
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

__all__ = ["add_functions", "select_rows"]

_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Field names that JSON writes as they are and that an SQLite path can quote.
_EASY = re.compile(r'[^"\\\x00-\x1f]+')
#: Values that are bound one by one, and those whose text is looked for first.
_LISTED, _LOOKED_FOR = 100, 4
#: Levels of a filter and values in it, at most, that become one condition.
_HIGHEST, _LARGEST = 6, 10_000
_HAS_ARROW = sqlite3.sqlite_version_info >= (3, 38, 0)


def add_functions(db: Database) -> None:
    """Make known to SQL what it cannot do by itself: names and strings that JSON writes with escapes."""
    db.add_function("diffhash_field", 2, _field)
    db.add_function("diffhash_value", 3, _value)


def _field(payload: str, name: str) -> str:
    """A field as JSON."""
    return to_json(json.loads(payload).get(name))


def _value(payload: str, name: str, kind: int) -> Any:
    """A field, if it is of a kind."""
    found = kind_of(json.loads(payload).get(name))
    return found[1] if found is not None and found[0] == kind else None


def select_rows(db: Database, node: Node, stored: ModalityCodes) -> BoolArray:
    """Mark the rows of an index whose objects match; within a transaction."""
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
    """Parts of a node; those that one pass over the payloads can answer together are one."""
    together: list[Node] = []
    size = 0
    for part in node.nodes:
        height, more = _extent(part)
        if fields_of(part) & fields.keys() or height >= _HIGHEST or more > _LARGEST:
            yield part
            continue
        if size + more > _LARGEST:
            yield type(node)(tuple(together))
            together, size = [], 0
        together.append(part)
        size += more
    if together:
        yield type(node)(tuple(together))


def _fits(node: Node) -> bool:
    """Whether SQLite takes a filter as one condition: its parser has a stack of a hundred."""
    height, size = _extent(node)
    return height <= _HIGHEST and (size <= _LARGEST or isinstance(node, OneOf | Range))


def _extent(node: Node) -> tuple[int, int]:
    """Levels of a filter, and about how many values it binds."""
    if isinstance(node, Not):
        height, size = _extent(node.node)
        return height + 1, size
    if isinstance(node, And | Or):
        extents = [_extent(part) for part in node.nodes]
        return 1 + max((height for height, _ in extents), default=0), sum(size for _, size in extents)
    return 0, _LISTED if isinstance(node, OneOf) and len(node.values) > _LOOKED_FOR else 20


def _look_up(db: Database, leaf: OneOf | Range, stored: ModalityCodes, field: int) -> BoolArray:
    """Rows that match, by the index of a field."""
    mask = stored.no_rows()
    conditions: list[tuple[str, list[Any]]] = []
    if isinstance(leaf, Range):
        sql = "".join(f" AND value {_SIGNS[name]} ?" for name, _ in leaf.bounds)
        conditions.append((f" AND kind = ?{sql}", [leaf.kind, *(value for _, value in leaf.bounds)]))
    else:
        for kind in map(kind_of, leaf.values):
            if kind is None:
                # Null and missing fields have no entry: all that has none.
                present = stored.no_rows()
                present[stored.rows(_keys(db, "field_values WHERE field = ?", [field]))] = True
                mask |= ~present
            else:
                conditions.append((" AND kind = ? AND value = ?", list(kind)))
    for sql, values in conditions:
        mask[stored.rows(_keys(db, f"field_values WHERE field = ?{sql}", [field, *values]))] = True
    return mask


def _scan(db: Database, node: Node, stored: ModalityCodes) -> BoolArray:
    """Rows that match, by a pass over all payloads."""
    # Objects without a payload have no row there: what differs from them is asked for.
    without = matches(node, {})
    statement = _Statement(db)
    condition = statement.condition(node)
    keys = _keys(db, f"payloads WHERE {condition} <> {statement.bind(int(without))}", statement.values)
    mask = np.full(len(stored), without)
    mask[stored.rows(keys)] = not without
    return mask


class _Statement:
    """A condition on ``payload`` in SQL, and the values that are bound to it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.values: list[Any] = []

    def bind(self, value: Any) -> str:
        """A place in the statement for a value."""
        self.values.append(value)
        return f"?{len(self.values)}"

    def condition(self, node: Node) -> str:
        """0 or 1, never NULL."""
        if isinstance(node, Not):
            return f"(NOT {self.condition(node.node)})"
        if isinstance(node, And | Or):
            return self._join(node)
        easy = _HAS_ARROW and _EASY.fullmatch(node.field) is not None
        if isinstance(node, OneOf):
            return self._one_of(node, easy)
        return self._range(node, easy and (node.kind == NUMBER or not self._any_zeros()))

    def _join(self, node: And | Or) -> str:
        """All or one of the parts; unlike AND and OR, CASE stops at the part that decides."""
        if not node.nodes:
            return "1"
        quick = sorted(node.nodes, key=lambda part: not isinstance(part, OneOf))
        sign, found, end = ("NOT ", 0, 1) if isinstance(node, And) else ("", 1, 0)
        cases = " ".join(f"WHEN {sign}({self.condition(part)}) THEN {found}" for part in quick)
        return f"(CASE {cases} ELSE {end} END)"

    def _one_of(self, node: OneOf, easy: bool) -> str:
        texts = sorted({text for value in node.values for text in _texts(value)})
        if len(texts) <= _LISTED:
            listed = ", ".join(map(self.bind, texts))
        else:
            listed = f"SELECT value FROM json_each({self.bind(json.dumps(texts))})"
        if not easy:
            return f"(diffhash_field(payload, {self.bind(node.field)}) IN ({listed}))"
        found = f"(payload -> {self.bind(_path(node.field))})"
        if "null" in texts:
            return f"(coalesce({found}, 'null') IN ({listed}))"
        if len(texts) > _LOOKED_FOR:
            return f"coalesce({found} IN ({listed}), 0)"
        # Compact JSON has the field and its value side by side: a look at the text passes over most payloads.
        places = (self.bind(f"{to_json(node.field)}:{text}") for text in texts)
        near = " OR ".join(f"instr(payload, {place})" for place in places) or "0"
        return f"CASE WHEN {near} THEN coalesce({found} IN ({listed}), 0) ELSE 0 END"

    def _range(self, node: Range, easy: bool) -> str:
        if not easy:
            found = f"diffhash_value(payload, {self.bind(node.field)}, {self.bind(node.kind)})"
            bounds = [f"{found} {_SIGNS[sign]} {self.bind(limit)}" for sign, limit in node.bounds]
            return f"coalesce({' AND '.join(bounds)}, 0)"
        path = self.bind(_path(node.field))
        # SQLite reads a number from JSON in its own way: let it read both sides in the same.
        limits = [
            self._db.value("SELECT json_extract(?, '$')", (to_json(limit),)) for _, limit in node.bounds
        ]
        if node.kind == TEXT:
            limits = [limit for _, limit in node.bounds]
        bounds = [
            f"json_extract(payload, {path}) {_SIGNS[sign]} {self.bind(limit)}"
            for (sign, _), limit in zip(node.bounds, limits, strict=True)
        ]
        # The type comes last, as few get there: true is 1 to SQLite, and every text is above every number.
        kinds = "('integer', 'real')" if node.kind == NUMBER else "('text')"
        return f"CASE WHEN {' AND '.join(bounds)} THEN json_type(payload, {path}) IN {kinds} ELSE 0 END"

    def _any_zeros(self) -> bool:
        """Whether a payload has a NUL in it, at which SQLite would cut a string off."""
        found = "SELECT EXISTS (SELECT 1 FROM payloads WHERE instr(payload, ?))"
        return bool(self._db.value(found, ("\\u0000",)))


def _path(name: str) -> str:
    return f'$."{name}"'


def _texts(value: Any) -> set[str]:
    """All JSON texts of payload values that are equal to a value."""
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
    # One long text is several times faster than as many rows.
    text = db.value(f"SELECT group_concat(key) FROM {source}", values)
    return np.empty(0, dtype=np.int64) if text is None else np.fromstring(text, dtype=np.int64, sep=",")
