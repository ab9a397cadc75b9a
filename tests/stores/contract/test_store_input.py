"""Ids, payloads and filters that every store accepts or refuses."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.errors import CodeError, FilterError, InputError, ParameterError, UnknownModalityError
from diffhash.stores import Hit

from .sample_codes import codes_of, random_codes

# Names with a special meaning in SQL, JSON paths, HTML, C or a shell.
SPECIAL_NAMES = [
    "'; DROP TABLE payloads; --",
    'a"b',
    "a'b",
    "$.a",
    "a.b[0]",
    '"].x',
    "back\\slash",
    "nul\0inside",
    "nul at the end\0",
    "",
    " ",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%s %d ?1 :a @b",
    "line\nbreak\ttab",
    "\u200f\U0001f600é",
    "#",
    "NULL",
    "1",
]


def test_names_with_special_characters_are_not_interpreted(store):
    """Ids, payload keys and payload values are stored and compared unchanged, whatever they contain."""
    payloads = [{name: name, "all": name, "deep": {name: [name]}} for name in SPECIAL_NAMES]
    store.add_codes(random_codes(len(SPECIAL_NAMES)), modality="x", ids=SPECIAL_NAMES, payloads=payloads)

    assert [item.id for item in store.get(SPECIAL_NAMES)] == SPECIAL_NAMES
    assert [item.payload for item in store.get(SPECIAL_NAMES)] == payloads
    for name in SPECIAL_NAMES:
        for where in (
            {name: name},
            {"all": name},
            {"all": {"in": [name]}},
            {"all": {"ge": name, "le": name}},
        ):
            assert [hit.id for hit in store.search_codes(random_codes(1), into="x", where=where)[0]] == [name]
    assert store.delete(SPECIAL_NAMES[:5]) == 5
    assert len(store) == len(SPECIAL_NAMES) - 5


def test_ids_are_of_one_kind(store):
    store.add_codes(codes_of([0]), modality="x", ids=["1"])
    for act in (
        lambda: store.add_codes(codes_of([0]), modality="x", ids=[1]),
        lambda: store.add_codes(codes_of([0]), modality="x"),
        lambda: store.get([1]),
        lambda: store.delete([1]),
    ):
        with pytest.raises(InputError, match="ids of this collection are strings"):
            act()
    assert len(store) == 1


@pytest.mark.parametrize("ids", [[-(2**63)], [2**63 - 2], [0, -1], np.array([7], dtype=np.uint8)])
def test_whole_numbers_of_64_bits_are_ids(store, ids):
    codes = random_codes(len(ids))
    assert store.add_codes(codes, modality="x", ids=ids) == list(ids)
    assert [item.id for item in store.get(ids)] == list(ids)
    assert store.search_codes(codes[:1], into="x", k=1)[0][0].id == ids[0]


def test_the_largest_number_is_an_id_or_is_refused(store):
    """Milvus keeps it and never returns it."""
    codes = random_codes(1)
    if store.capabilities.ordered:
        assert store.add_codes(codes, modality="x", ids=[2**63 - 1]) == [2**63 - 1]
        assert store.get([2**63 - 1])[0].id == 2**63 - 1
        with pytest.raises(InputError, match="exists already"):
            store.add_codes(codes, modality="x", ids=[2**63 - 1])
        assert store.upsert_codes(codes, modality="x", ids=[2**63 - 1]) == [2**63 - 1]
        assert store.delete([2**63 - 1]) == 1
        assert len(store) == 0
    else:
        with pytest.raises(InputError, match="largest number"):
            store.add_codes(codes, modality="x", ids=[2**63 - 1])
        assert len(store) == 0


def test_bad_input_is_refused_and_changes_nothing(store):
    store.add_codes(codes_of([0]), modality="x", ids=[1], payloads=[{"n": 1}])
    one, two = random_codes(1), random_codes(2)
    circular: list[object] = []
    circular.append(circular)
    cases = [
        (lambda: store.add_codes(one, modality="z"), UnknownModalityError, "unknown modality 'z'"),
        (lambda: store.add_codes(one.astype(int), modality="x"), CodeError, "uint8"),
        (
            lambda: store.add_codes(np.zeros((1, 3), np.uint8), modality="x"),
            CodeError,
            "packed codes of 12 bits",
        ),
        (lambda: store.add_codes(np.full((1, 2), 255, np.uint8), modality="x"), CodeError, "padding"),
        (lambda: store.add_codes(two, modality="x", ids=[5]), InputError, "2 objects need 2 ids, got 1"),
        (lambda: store.add_codes(two, modality="x", ids=[5, 5]), InputError, "unique, 5 is"),
        (lambda: store.add_codes(two, modality="x", ids=[5, "a"]), InputError, "whole numbers or strings"),
        (lambda: store.add_codes(two, modality="x", ids=[5, True]), InputError, "whole numbers or strings"),
        (lambda: store.add_codes(two, modality="x", ids=[5.0, 6.0]), InputError, "whole numbers or strings"),
        (lambda: store.add_codes(one, modality="x", ids=[2**63]), InputError, "fit 64 bits"),
        (
            lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{}, {}]),
            InputError,
            "need 1 payload",
        ),
        (lambda: store.add_codes(one, modality="x", ids=[2], payloads={"n": 1}), InputError, "list of dicts"),
        (lambda: store.add_codes(one, modality="x", ids=[2], payloads=["n"]), InputError, "payload 0"),
        (lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{1: 2}]), InputError, "not a string"),
        (
            lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{"a": {1: 2}}]),
            InputError,
            "not a string",
        ),
        (
            lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{"a": circular}]),
            InputError,
            "deeper",
        ),
        (
            lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{"a": float("nan")}]),
            InputError,
            "JSON",
        ),
        (lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{"a": 2**64}]), InputError, "64 bits"),
        (lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{"a": object()}]), InputError, "JSON"),
        (
            lambda: store.add_codes(one, modality="x", ids=[2], payloads=[{"a": "\ud800"}]),
            InputError,
            "payload",
        ),
        (lambda: store.upsert_codes(one, modality="x", ids=None), InputError, "ids are needed"),
        (lambda: store.delete([1], modality="z"), UnknownModalityError, "unknown modality"),
        (lambda: store.search_codes(one, into="z"), UnknownModalityError, "unknown modality"),
        (lambda: store.search_codes(one, into="x", k=0), ParameterError, "k must be a whole number >= 1"),
        (lambda: store.search_codes(np.zeros((1, 3), np.uint8), into="x"), CodeError, r"shape \(n, 2\)"),
        (lambda: store.search_codes(one, into="x", where=3), FilterError, "where must be a dict"),
        (lambda: store.search_codes(one, into="x", where={"n": {"near": 3}}), FilterError, "eq, ne"),
        (lambda: store.search_codes(one, into="x", where={"n": [1]}), FilterError, "compares 'n'"),
        (lambda: store.search_codes(one, into="x", where={"n": {"in": 3}}), FilterError, "takes a list"),
        (
            lambda: store.search_codes(one, into="x", where={"n": {"lt": True}}),
            FilterError,
            "number or a string",
        ),
        (lambda: store.search_codes(one, into="x", where={"or": []}), FilterError, "empty list"),
        (lambda: store.search_codes(one, into="x", where={"n": float("inf")}), FilterError, "no payload"),
        (lambda: store.search_codes(one, into="x", where={"n": 2**64}), FilterError, "64 bits"),
        (lambda: store.search_codes(one, into="x", where={"n": "\ud800"}), FilterError, "Unicode"),
    ]
    for act, error, message in cases:
        with pytest.raises(error, match=message):
            act()

    assert len(store) == 1
    assert store.get(1)[0].payload == {"n": 1}
    assert store.search_codes(codes_of([0]), into="x", k=5)[0] == [Hit(1, 0, {"n": 1}, "x")]


def test_empty_input_is_allowed_everywhere(store):
    none = np.empty((0, 2), dtype=np.uint8)

    assert store.add_codes(none, modality="x") == []
    assert store.upsert_codes(none, modality="x", ids=[]) == []
    assert store.delete([]) == 0
    assert store.get([]) == []
    assert store.search_codes(none, into="x") == []
    assert store.search_codes(random_codes(2), into="x") == [[], []]
    assert list(store.iterate()) == []


def test_numpy_numbers_in_payloads_and_filters_are_numbers(store):
    store.add_codes(
        random_codes(2),
        modality="x",
        payloads=[{"n": np.int64(3), "f": np.float32(0.5)}, {"n": np.bool_(True), "f": np.float64(2)}],
    )

    assert [item.payload for item in store.get([0, 1])] == [{"n": 3, "f": 0.5}, {"n": True, "f": 2.0}]
    assert [h.id for h in store.search_codes(random_codes(1), into="x", where={"n": np.int8(3)})[0]] == [0]
