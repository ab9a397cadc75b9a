"""Filters as plain data, and what they mean.

A filter is compared with ``payload.get(field)``: a field that is missing is like one that is null.
An empty filter matches everything, ``True`` and ``1`` are different, ``1`` and ``1.0`` are equal, and
``lt`` to ``ge`` hold only between two numbers or two strings. :func:`matches` is the meaning; SQL has to agree with it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import FilterError

__all__ = ["And", "Node", "Not", "OneOf", "Or", "Range", "fields_of", "matches", "parse"]

#: Kinds of payload values. Only values of the same kind are compared.
BOOL, NUMBER, TEXT, OTHER = 1, 2, 3, 4
_RANGES = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
_DEEPEST = 50


@dataclass(frozen=True)
class OneOf:
    """The field is equal to one of some values."""

    field: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """The field is of a kind (NUMBER or TEXT) and within bounds, given as (name, value)."""

    field: str
    kind: int
    bounds: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Not:
    """What does not match the node."""

    node: Node


@dataclass(frozen=True)
class And:
    """What matches all of the nodes."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    """What matches one of the nodes."""

    nodes: tuple[Node, ...]


Node = OneOf | Range | Not | And | Or


def parse(where: Any, *, caller: str) -> Node:
    """Read a filter.

    Examples
    --------
    >>> parse({"group": "arrow", "year": {"ge": 1990}}, caller="search")
    And(nodes=(OneOf(field='group', values=('arrow',)), Range(field='year', kind=2, bounds=(('ge', 1990),))))
    """
    return _parse(where, caller, 0)


def _parse(where: Any, caller: str, depth: int) -> Node:
    if depth > _DEEPEST:
        raise FilterError(f"{caller}: where is nested deeper than {_DEEPEST} levels.")
    if not isinstance(where, Mapping):
        raise FilterError(
            f'{caller}: where must be a dict such as {{"group": "arrow"}} or {{"year": {{"ge": 1990}}}}, '
            f"got {where!r}."
        )
    nodes: list[Node] = []
    for name, content in where.items():
        if not isinstance(name, str) or not _is_text(name):
            raise FilterError(f"{caller}: where names fields by strings, got {name!r}.")
        # A field that happens to be called "or" is meant when its value is no list of filters.
        if name in ("and", "or") and isinstance(content, list | tuple):
            if not content:
                raise FilterError(f'{caller}: where has an empty list under "{name}".')
            parts = tuple(_parse(part, caller, depth + 1) for part in content)
            nodes.append(And(parts) if name == "and" else Or(parts))
        elif name == "not" and isinstance(content, Mapping) and not _conditions(content):
            nodes.append(Not(_parse(content, caller, depth + 1)))
        else:
            nodes.append(_field(name, content, caller))
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def _conditions(content: Mapping[Any, Any]) -> bool:
    """Whether a dict holds conditions on a field, such as {"ge": 1990}, and no filter."""
    return bool(content) and all(name in (*_RANGES, "eq", "ne", "in") for name in content)


def _field(name: str, content: Any, caller: str) -> Node:
    if not isinstance(content, Mapping):
        return OneOf(name, (_value(name, content, caller),))
    if not _conditions(content):
        raise FilterError(
            f"{caller}: where: the conditions on {name!r} are named eq, ne, lt, le, gt, ge and in, "
            f"got {', '.join(map(repr, content)) or 'none'}."
        )
    nodes: list[Node] = []
    bounds: dict[int, list[tuple[str, Any]]] = {}
    for condition, given in content.items():
        if condition == "in":
            if isinstance(given, np.ndarray):
                given = given.tolist()
            if not isinstance(given, list | tuple | set | frozenset):
                raise FilterError(f"{caller}: where: in takes a list for {name!r}, got {given!r}.")
            nodes.append(OneOf(name, tuple(_value(name, value, caller) for value in given)))
            continue
        value = _value(name, given, caller)
        if condition == "eq":
            nodes.append(OneOf(name, (value,)))
        elif condition == "ne":
            nodes.append(Not(OneOf(name, (value,))))
        else:
            kind = kind_of(value)
            if kind is None or kind[0] not in (NUMBER, TEXT):
                raise FilterError(
                    f"{caller}: where: {condition} compares {name!r} with a number or a string, got {value!r}."
                )
            bounds.setdefault(kind[0], []).append((condition, value))
    nodes += [Range(name, kind, tuple(limits)) for kind, limits in bounds.items()]
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def _value(field: str, value: Any, caller: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is not None and not isinstance(value, bool | int | float | str):
        raise FilterError(
            f"{caller}: where compares {field!r} with a string, a number, True, False or None, got {value!r}."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise FilterError(f"{caller}: where: {field!r} is compared with {value}, which no payload can hold.")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise FilterError(f"{caller}: where: {field!r} is compared with {value}, which does not fit 64 bits.")
    if isinstance(value, str) and not _is_text(value):
        raise FilterError(
            f"{caller}: where: {field!r} is compared with {value!r}, which is not valid Unicode."
        )
    return value


def _is_text(value: str) -> bool:
    """Whether a string can be written as UTF-8; half a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def fields_of(node: Node) -> set[str]:
    """Fields that a filter looks at."""
    if isinstance(node, OneOf | Range):
        return {node.field}
    if isinstance(node, Not):
        return fields_of(node.node)
    return set().union(*(fields_of(part) for part in node.nodes))


def kind_of(value: Any) -> tuple[int, Any] | None:
    """How a value is compared: its kind, and the value that SQLite compares; None for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return BOOL, int(value)
    if isinstance(value, int | float):
        return NUMBER, value
    if isinstance(value, str):
        return TEXT, value
    return OTHER, 0


def matches(node: Node, payload: Mapping[str, Any]) -> bool:
    """Whether a payload matches: what all filters mean.

    Examples
    --------
    >>> matches(parse({"year": {"ge": 1990}}, caller=""), {"year": 1991.5})
    True
    """
    if isinstance(node, Not):
        return not matches(node.node, payload)
    if isinstance(node, And):
        return all(matches(part, payload) for part in node.nodes)
    if isinstance(node, Or):
        return any(matches(part, payload) for part in node.nodes)
    kind = kind_of(payload.get(node.field))
    if isinstance(node, OneOf):
        return any(kind == kind_of(value) for value in node.values)
    return (
        kind is not None
        and kind[0] == node.kind
        and all(_RANGES[name](kind[1], value) for name, value in node.bounds)
    )
