"""Filters in SQL: which of the stored objects match.

Field names and values are bound to statements, never written into them. A field that is indexed
is looked up; all others are found in one pass over the payloads. ``payload -> path`` gives a value as
the JSON text that we wrote, so that equality is equality of texts, and exact.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import BoolArray
from .database import Database
from .payloads import NUMBER, indexed_fields, kind_of, to_json
from .shelf import Shelf
from .where import Both, Either, Node, Not, OneOf, Range, fields_of, matches

__all__ = ["add_functions", "select_rows"]

_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Names that JSON writes as they are and that an SQLite path can quote.
_EASY = re.compile(r'[^"\\\x00-\x1f]+')
_HAS_ARROW = sqlite3.sqlite_version_info >= (3, 38, 0)


def add_functions(db: Database) -> None:
    """Make known to SQL what it cannot do by itself: names and strings with escapes."""
    db.add_function("diffhash_field", 2, _field)
    db.add_function("diffhash_text", 1, json.loads)


def _field(payload: str, name: str) -> str | None:
    content = json.loads(payload)
    return to_json(content[name]) if name in content else None


def select_rows(db: Database, node: Node, shelf: Shelf) -> BoolArray:
    """Mark the rows of a shelf's index whose objects match; within a transaction."""
    return _select(db, node, shelf, indexed_fields(db))


def _select(db: Database, node: Node, shelf: Shelf, fields: Mapping[str, int]) -> BoolArray:
    if not fields_of(node) & fields.keys():
        return _scan(db, node, shelf)
    if isinstance(node, Not):
        return ~_select(db, node.node, shelf, fields)
    if isinstance(node, OneOf | Range):
        return _look_up(db, node, shelf, fields[node.field])
    slow = tuple(part for part in node.nodes if not fields_of(part) & fields.keys())
    parts: list[Node] = [part for part in node.nodes if part not in slow]
    if slow:
        parts.append(type(node)(slow))
    masks = [_select(db, part, shelf, fields) for part in parts]
    joined: BoolArray = (np.logical_and if isinstance(node, Both) else np.logical_or).reduce(masks)
    return joined


def _look_up(db: Database, leaf: OneOf | Range, shelf: Shelf, field: int) -> BoolArray:
    """Rows that match, by the index of a field."""
    mask = shelf.no_rows()
    conditions: list[tuple[str, list[Any]]] = []
    if isinstance(leaf, Range):
        sql = "".join(f" AND value {_SIGNS[name]} ?" for name, _ in leaf.bounds)
        conditions.append((f" AND kind = ?{sql}", [leaf.kind, *(value for _, value in leaf.bounds)]))
    else:
        for kind in map(kind_of, leaf.values):
            if kind is None:
                # Null and missing fields have no entry: all that has none.
                present = shelf.no_rows()
                present[shelf.rows(_keys(db, "field_values WHERE field = ?", [field]))] = True
                mask |= ~present
            else:
                conditions.append((" AND kind = ? AND value = ?", list(kind)))
    for sql, values in conditions:
        mask[shelf.rows(_keys(db, f"field_values WHERE field = ?{sql}", [field, *values]))] = True
    return mask


def _scan(db: Database, node: Node, shelf: Shelf) -> BoolArray:
    """Rows that match, by a pass over all payloads."""
    # Objects without a payload have no row there: what differs from them is asked for.
    without = matches(node, {})
    names = sorted(fields_of(node))
    columns: list[str] = []
    values: list[Any] = []
    for number, name in enumerate(names):
        easy = _HAS_ARROW and _EASY.fullmatch(name) is not None
        columns.append(f"{'payload -> ?' if easy else 'diffhash_field(payload, ?)'} AS v{number}")
        values.append(f'$."{name}"' if easy else name)
    column = {name: f"v{number}" for number, name in enumerate(names)}
    condition = _condition(db, node, column, values)
    # The limit, which is none, keeps SQLite from working out a column once per use.
    source = f"(SELECT {', '.join(['key', *columns])} FROM payloads LIMIT -1)"
    keys = _keys(db, f"{source} WHERE {condition} <> ?", [*values, int(without)])
    mask = np.full(len(shelf), without)
    mask[shelf.rows(keys)] = not without
    return mask


def _condition(db: Database, node: Node, column: Mapping[str, str], values: list[Any]) -> str:
    """A condition that is 0 or 1, never NULL; its values are appended to ``values``."""
    if isinstance(node, Not):
        return f"(NOT {_condition(db, node.node, column, values)})"
    if isinstance(node, Both | Either):
        parts = [_condition(db, part, column, values) for part in node.nodes]
        return f"({(' AND ' if isinstance(node, Both) else ' OR ').join(parts)})" if parts else "1"
    name = column[node.field]
    if isinstance(node, OneOf):
        values.append(json.dumps([text for value in node.values for text in _texts(value)]))
        return f"(coalesce({name}, 'null') IN (SELECT value FROM json_each(?)))"
    if node.kind == NUMBER:
        # JSON texts of numbers, and of nothing else, begin with a digit or a minus.
        guard, value = f"{name} >= '-' AND {name} < ':'", f"CAST({name} AS NUMERIC)"
        # SQLite reads a number from text in its own way: let it read both sides in the same.
        values += [db.value("SELECT CAST(? AS NUMERIC)", (to_json(limit),)) for _, limit in node.bounds]
    else:
        guard = f"""{name} >= '"' AND {name} < '#'"""
        value = (
            f"CASE WHEN instr({name}, '\\') THEN diffhash_text({name}) "
            f"ELSE substr({name}, 2, length({name}) - 2) END"
        )
        values += [limit for _, limit in node.bounds]
    bounds = "".join(f" AND {value} {_SIGNS[sign]} ?" for sign, _ in node.bounds)
    return f"coalesce({guard}{bounds}, 0)"


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
