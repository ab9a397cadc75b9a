"""Filters and lists of ids as expressions of Milvus.

Milvus compares fields of JSON as :mod:`..filter_syntax` does, with exceptions: it cannot ask for null, numbers of more
than 53 bits may be rounded, and keys that are not ASCII are never found. A filter that it cannot express exactly
is evaluated by the client, on the rows that match the rest of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..filter_syntax import BOOL, NUMBER, TEXT, And, Node, Not, OneOf, Or, kind_of
from ..protocol import Id

__all__ = ["ALL", "Expression", "filter_expression", "id_expressions", "id_range"]

# Milvus' parser does not know the smallest whole number.
_SMALLEST = -(2**63)
#: Numbers below this are the same as a double and as a whole number, so it does not matter how Milvus compares them.
_EXACT = 2**53
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Characters of ids in one expression, as a limit for long strings.
_MAX_LENGTH = 1_000_000
_NOTHING = "id in []"


@dataclass(frozen=True)
class Expression:
    """An expression that all matching rows fulfil.

    Attributes
    ----------
    text : str
        Empty: all rows.
    exact : bool
        Whether no other row fulfils it. If not, the rows must be compared with the filter.
    """

    text: str
    exact: bool = True


ALL = Expression("")


def filter_expression(node: Node | None, *, negation: bool = True) -> Expression:
    """Translate a filter.

    Parameters
    ----------
    node : Node or None
        None: no filter.
    negation : bool
        Whether ``not`` of this server is true for a field that is missing, as in Milvus 2.3. If it is not known, a
        negated filter is not exact.

    Examples
    --------
    >>> from diffhash.stores.filter_syntax import parse
    >>> filter_expression(parse({"group": "arrow", "year": {"ge": 1990}}, caller=""))
    Expression(text='(payload["group"] in ["arrow"]) && (payload["year"] >= 1990)', exact=True)
    >>> filter_expression(parse({"group": "arrow", "year": None}, caller=""))
    Expression(text='payload["group"] in ["arrow"]', exact=False)
    """
    if node is None:
        return ALL
    if isinstance(node, Not):
        inner = filter_expression(node.node, negation=negation)
        if not inner.exact or not negation:
            return Expression("", exact=False)
        return Expression(f"not ({inner.text})" if inner.text else _NOTHING)
    if isinstance(node, And | Or):
        parts = [filter_expression(part, negation=negation) for part in node.nodes]
        exact = all(part.exact for part in parts)
        if isinstance(node, And):
            return Expression(_joined([part.text for part in parts if part.text], " && "), exact)
        if not all(part.text for part in parts):
            return Expression("", exact or any(part == ALL for part in parts))
        return Expression(_joined([part.text for part in parts], " || "), exact)
    if not node.field or not node.field.isascii():
        return Expression("", exact=False)
    field = f"payload[{_text(node.field)}]"
    if isinstance(node, OneOf):
        return _one_of(field, node.values)
    if node.kind == NUMBER and any(abs(value) >= _EXACT for _, value in node.bounds):
        return Expression("", exact=False)
    limits = [f"{field} {_SIGNS[name]} {_value(value)}" for name, value in node.bounds]
    return Expression(_joined(limits, " && "))


def _one_of(field: str, values: Sequence[Any]) -> Expression:
    if not values:
        return Expression(_NOTHING)
    if any(value is None or (kind_of(value) == (NUMBER, value) and abs(value) >= _EXACT) for value in values):
        return Expression("", exact=False)
    # A list must have values of one type.
    texts = [value for value in values if isinstance(value, str)]
    wholes = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    others = [value for value in values if isinstance(value, float)]
    parts = [f"{field} in [{', '.join(map(_value, listed))}]" for listed in (texts, wholes, others) if listed]
    parts += [f"{field} == {_value(value)}" for value in values if isinstance(value, bool)]
    return Expression(_joined(parts, " || "))


def _joined(parts: Sequence[str], operator: str) -> str:
    return parts[0] if len(parts) == 1 else operator.join(f"({part})" for part in parts)


def _value(value: Any) -> str:
    kind = kind_of(value)
    assert kind is not None
    if kind[0] == BOOL:
        return "true" if value else "false"
    return _text(value) if kind[0] == TEXT else repr(value)


def _text(value: str) -> str:
    """A string literal. Characters outside ASCII stay as they are: the parser does not know surrogate pairs."""
    return json.dumps(value, ensure_ascii=False)


def id_expressions(ids: Sequence[Id], size: int) -> Iterator[str]:
    r"""Expressions that together select the rows with these ids, at most ``size`` with each.

    Examples
    --------
    >>> list(id_expressions([3, 1, 2], 2))
    ['id in [3, 1]', 'id in [2]']
    >>> list(id_expressions(["a", 'b"c'], 9))
    ['id in ["a", "b\\"c"]']
    """
    block: list[str] = []
    length = 0
    for id_ in ids:
        if id_ == _SMALLEST:
            yield f"id < {_SMALLEST + 1}"
            continue
        block.append(_id(id_))
        length += len(block[-1])
        if len(block) == size or length > _MAX_LENGTH:
            yield f"id in [{', '.join(block)}]"
            block, length = [], 0
    if block:
        yield f"id in [{', '.join(block)}]"


def id_range(ids: Sequence[Any]) -> str:
    """Expression that selects the rows from the smallest to the largest of the ids."""
    low, high = min(ids), max(ids)
    upper = f"id <= {_id(high)}" if high != _SMALLEST else f"id < {_SMALLEST + 1}"
    return upper if low == _SMALLEST else f"id >= {_id(low)} && {upper}"


def _id(id_: Id) -> str:
    return _text(id_) if isinstance(id_, str) else str(id_)
