"""Filters on payloads: how they are written, and when a payload matches.

A filter is compared with ``payload.get(field)``, so a missing field is treated like null. An empty
filter matches everything. ``True`` and ``1`` are different, ``1`` and ``1.0`` are equal. ``lt``, ``le``,
``gt`` and ``ge`` are true only between two numbers or two strings. :func:`matches` defines the result;
the engines, which filter in their own ways, must give the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from ..errors import FilterError

__all__ = [
    "BOOL",
    "NUMBER",
    "OTHER",
    "TEXT",
    "And",
    "Node",
    "Not",
    "OneOf",
    "Or",
    "Range",
    "by_similarity",
    "fields_of",
    "kind_of",
    "matches",
    "parse",
]

#: Kinds of payload values. Only values of the same kind are compared.
BOOL, NUMBER, TEXT, OTHER = 1, 2, 3, 4
_COMPARISONS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
_MAX_DEPTH = 50


@dataclass(frozen=True)
class OneOf:
    """The field is equal to one of the values."""

    field: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """The field has the kind (NUMBER or TEXT) and is within the bounds, which are (comparison, value)."""

    field: str
    kind: int
    bounds: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Not:
    """The node does not match."""

    node: Node


@dataclass(frozen=True)
class And:
    """All nodes match."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    """At least one node matches."""

    nodes: tuple[Node, ...]


Node = OneOf | Range | Not | And | Or


def parse(where: Any, *, caller: str) -> Node:
    """Turn a filter into nodes.

    Examples
    --------
    >>> parse({"group": "arrow", "year": {"ge": 1990}}, caller="search")
    And(nodes=(OneOf(field='group', values=('arrow',)), Range(field='year', kind=2, bounds=(('ge', 1990),))))
    """
    return _parse(where, caller, 0)


def _parse(where: Any, caller: str, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise FilterError(f"{caller}: where is nested deeper than {_MAX_DEPTH} levels.")
    if not isinstance(where, Mapping):
        raise FilterError(
            f'{caller}: where must be a dict such as {{"group": "arrow"}} or {{"year": {{"ge": 1990}}}}, '
            f"got {where!r}."
        )
    nodes: list[Node] = []
    for name, content in where.items():
        if not isinstance(name, str) or not _is_text(name):
            raise FilterError(f"{caller}: the field names in where must be strings, got {name!r}.")
        # If its value is not a list of filters, "or" is the name of a field.
        if name in ("and", "or") and isinstance(content, list | tuple):
            if not content:
                raise FilterError(f'{caller}: where has an empty list under "{name}".')
            parts = tuple(_parse(part, caller, depth + 1) for part in content)
            nodes.append(And(parts) if name == "and" else Or(parts))
        elif name == "not" and isinstance(content, Mapping) and not _are_conditions(content):
            nodes.append(Not(_parse(content, caller, depth + 1)))
        else:
            nodes.append(_field(name, content, caller))
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def _are_conditions(content: Mapping[Any, Any]) -> bool:
    """Whether a dict holds conditions on a field, such as {"ge": 1990}, rather than a filter."""
    return bool(content) and all(name in (*_COMPARISONS, "eq", "ne", "in") for name in content)


def _field(name: str, content: Any, caller: str) -> Node:
    if not isinstance(content, Mapping):
        return OneOf(name, (_value(name, content, caller),))
    if not _are_conditions(content):
        raise FilterError(
            f"{caller}: where: the conditions on {name!r} can be eq, ne, lt, le, gt, ge and in, "
            f"got {', '.join(map(repr, content)) or 'none'}."
        )
    nodes: list[Node] = []
    bounds: dict[int, list[tuple[str, Any]]] = {}
    for condition, given in content.items():
        if condition == "in":
            if isinstance(given, np.ndarray):
                given = given.tolist()
            if not isinstance(given, list | tuple | set | frozenset):
                raise FilterError(f'{caller}: where: "in" takes a list for {name!r}, got {given!r}.')
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
    """Whether a string can be written as UTF-8; a single surrogate cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def fields_of(node: Node) -> set[str]:
    """Names of the fields that a filter compares."""
    if isinstance(node, OneOf | Range):
        return {node.field}
    if isinstance(node, Not):
        return fields_of(node.node)
    return set().union(*(fields_of(part) for part in node.nodes))


def by_similarity(name: str, others: Iterable[str]) -> list[str]:
    """Names of fields, the most similar to a name first.

    Examples
    --------
    >>> by_similarity("titel", ["year", "title"])
    ['title', 'year']
    """
    return sorted(others, key=lambda other: -SequenceMatcher(None, name.lower(), other.lower()).ratio())


def kind_of(value: Any) -> tuple[int, Any] | None:
    """The kind of a payload value and the value to compare; None for null."""
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
    """Whether a payload matches a filter.

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
        and all(_COMPARISONS[name](kind[1], value) for name, value in node.bounds)
    )
