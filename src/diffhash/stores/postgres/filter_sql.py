"""Filters as conditions on a ``jsonb`` column. Field names and values are bound, never written into the statement."""

from __future__ import annotations

from typing import Any

from ..filter_syntax import NUMBER, And, Node, Not, OneOf, Or
from .json_values import to_stored_text, value_to_stored

__all__ = ["Parameters", "condition"]

_OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Parameters(dict[str, Any]):
    """Values that are bound to a statement, by name."""

    def bind(self, value: Any) -> str:
        """Add a value; returns its placeholder."""
        name = f"p{len(self)}"
        self[name] = value
        return f"%({name})s"


def condition(node: Node, parameters: Parameters, column: str) -> str:
    """The SQL of a filter; its value is true or false, never null.

    Parameters
    ----------
    node : Node
    parameters : Parameters
        Values are added to it.
    column : str
        SQL of the column of payloads. Null is a payload without fields.

    Examples
    --------
    >>> from diffhash.stores.filter_syntax import parse
    >>> values = Parameters()
    >>> condition(parse({"group": "arrow"}, caller=""), values, "payload")
    "(coalesce(payload -> %(p0)s::text, 'null'::jsonb) = ANY(%(p1)s::jsonb[]))"
    >>> values
    {'p0': 'group', 'p1': ['"arrow"']}
    """
    if isinstance(node, Not):
        return f"(NOT {condition(node.node, parameters, column)})"
    if isinstance(node, And | Or):
        word = " AND " if isinstance(node, And) else " OR "
        return "(" + (word.join(condition(part, parameters, column) for part in node.nodes) or "true") + ")"
    name = parameters.bind(to_stored_text(node.field))
    field = f"{column} -> {name}::text"
    if isinstance(node, OneOf):
        values = parameters.bind([value_to_stored(value) for value in node.values])
        return f"(coalesce({field}, 'null'::jsonb) = ANY({values}::jsonb[]))"
    if node.kind == NUMBER:
        # As jsonb: a cast to a number would fail for other values, and SQL does not promise which part is first.
        bounds = [
            f"{field} {_OPERATORS[sign]} {parameters.bind(value_to_stored(limit))}::jsonb"
            for sign, limit in node.bounds
        ]
    else:
        text = f'({column} ->> {name}::text) COLLATE "C"'
        bounds = [
            f"{text} {_OPERATORS[sign]} {parameters.bind(to_stored_text(limit))}::text"
            for sign, limit in node.bounds
        ]
    kind = "number" if node.kind == NUMBER else "string"
    return f"(CASE jsonb_typeof({field}) WHEN '{kind}' THEN {' AND '.join(bounds)} ELSE false END)"
