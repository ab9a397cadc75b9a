"""Filters and ids in the language of Milvus: what is exact, and what the client evaluates."""

from __future__ import annotations

import pytest

from diffhash.stores.filter_syntax import parse
from diffhash.stores.milvus.expressions import ALL, Expression, filter_expression, id_expressions, id_range


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, ""),
        ({"n": 1}, 'payload["n"] in [1]'),
        ({"n": {"in": [1, "a", 0.5, True]}},
         '(payload["n"] in ["a"]) || (payload["n"] in [1]) || (payload["n"] in [0.5]) || (payload["n"] == true)'),
        ({"n": {"in": []}}, "id in []"),
        ({"n": {"ne": "a"}}, 'not (payload["n"] in ["a"])'),
        ({"n": {"ge": 1, "lt": 2.5}}, '(payload["n"] >= 1) && (payload["n"] < 2.5)'),
        ({"or": [{"a": 1}, {"b": 2}]}, '(payload["a"] in [1]) || (payload["b"] in [2])'),
        ({'quo"te': 'back\\slash"'}, r'payload["quo\"te"] in ["back\\slash\""]'),
        ({"not": {}}, "id in []"),
    ],
)  # fmt: skip
def test_what_milvus_can_express_is_exact(where, text):
    assert filter_expression(parse(where, caller="")) == Expression(text, exact=True)


@pytest.mark.parametrize(
    "where",
    [
        {"n": None},
        {"n": {"ne": None}},
        {"n": 2**53},
        {"n": {"gt": -1e300}},
        {"日": 1},
        {"": 1},
        {"not": {"n": None}},
    ],
)
def test_what_it_cannot_express_is_left_to_the_client(where):
    assert filter_expression(parse(where, caller="")) == Expression("", exact=False)


def test_the_exact_part_of_a_filter_limits_what_the_client_reads():
    both = filter_expression(parse({"group": "a", "n": None}, caller=""))
    either = filter_expression(parse({"or": [{"group": "a"}, {"n": None}]}, caller=""))
    anything = filter_expression(parse({"or": [{"group": "a"}, {}]}, caller=""))

    assert both == Expression('payload["group"] in ["a"]', exact=False)
    assert either == Expression("", exact=False)
    assert anything == ALL == filter_expression(None)


def test_a_negation_is_left_to_the_client_if_the_server_may_understand_it_otherwise():
    node = parse({"group": {"ne": "a"}}, caller="")

    assert filter_expression(node, negation=False) == Expression("", exact=False)


def test_ids_come_in_blocks_and_the_smallest_number_is_written_as_a_range():
    assert list(id_expressions([-(2**63), 5], 9)) == ["id < -9223372036854775807", "id in [5]"]
    assert list(id_expressions(["x" * 600_000] * 3, 9)) == [
        f'id in ["{"x" * 600_000}", "{"x" * 600_000}"]',
        f'id in ["{"x" * 600_000}"]',
    ]
    assert id_range([3, 1, 2]) == "id >= 1 && id <= 3"
    assert id_range(["b", "a"]) == 'id >= "a" && id <= "b"'
    assert id_range([5, -(2**63)]) == "id <= 5"
    assert id_range([-(2**63)]) == "id < -9223372036854775807"
