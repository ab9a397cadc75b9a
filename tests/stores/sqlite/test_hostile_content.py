"""Content that no diffhash wrote, with right checksums: errors of diffhash, and no memory for what is not there."""

from __future__ import annotations

import contextlib
import sqlite3
import tracemalloc

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionError, CollectionFileError, InputError
from diffhash.stores.sqlite.packed_numbers import pack_numbers

from .helpers import codes, forge, to_format_1

PAYLOADS = {
    "a list": "[]",
    "a number": "3",
    "a string": '"n"',
    "null": "null",
    "cut off": '{"n": 1',
    "not JSON": "{n: 1}",
    "NaN": '{"n":NaN}',
    "infinity": '{"n":-Infinity}',
    "more than 64 bits": '{"n":' + "9" * 30 + "}",
    "many digits": '{"n":' + "9" * 5000 + "}",
    "a huge exponent": '{"n":1e999}',
    "deep": '{"n":' + "[" * 100_000 + "]" * 100_000 + "}",
    "a surrogate": '{"n":"\\ud800"}',
    "spaces": '{ "n": 3}',
    "twice": '{"n":1,"n":2}',
}


def everything(collection):
    """Each way to read or write, one after the other."""
    yield lambda: collection.get([3])
    yield lambda: [item for block in collection.iterate() for item in block]
    yield lambda: collection.search_codes(codes(2), k=60)
    for where in ({"n": 3}, {"n": {"lt": 9}}, {"n": {"ge": "a"}}, {'"': 3}, {"even": {"in": [True, None]}}):
        yield lambda where=where: collection.search_codes(codes(2), k=60, where=where)
        yield lambda where=where: collection.search_arrays(codes(2), into="x", k=60, where=where)
    yield lambda: collection.search_item(collection.get([4])[0].id, modality="x", into="x")
    yield lambda: collection.stats()
    yield lambda: collection.index_payload("n")
    yield lambda: collection.index_payload("even")
    yield lambda: collection.search_codes(codes(2), k=60, where={"n": {"lt": 9}})
    yield lambda: collection.upsert_codes(codes(1), modality="x", ids=[3], payloads=[{"n": 1}])
    yield lambda: collection.delete([3])
    yield lambda: collection.compact()
    yield lambda: collection.verify()


def is_refused_or_reported(path):
    """Only errors of diffhash, and ``open`` or ``verify`` says that something is wrong."""
    try:
        with dh.Collection.open(path) as collection:
            reported = bool(collection.verify().problems)
    except CollectionError:
        return True
    with dh.Collection.open(path, writable=True) as collection:
        for act in everything(collection):
            # The kind of the ids may be another one, and an object may be missing.
            with contextlib.suppress(CollectionError, InputError):
                act()
    return reported


@pytest.mark.parametrize("text", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_payload_that_diffhash_never_writes_is_reported(path, filled, text, version, indexed):
    if indexed:
        filled.index_payload("n")
    filled.close()
    if version == 1:
        to_format_1(path)
    forge(path, ("UPDATE payloads SET payload = ? WHERE key = 3", (text,)))
    assert is_refused_or_reported(path)


STRANGE = {
    "a field name that is text": "UPDATE fields SET name = 'n'",
    "a field name that is a number": "UPDATE fields SET name = 3",
    "a field name that is not UTF-8": "UPDATE fields SET name = x'ff'",
    "a key in the index that is text": "UPDATE field_values SET key = 'three' WHERE key = 3",
    "a key in the index that is a fraction": "UPDATE field_values SET key = 3.5 WHERE key = 3",
    "a value in the index that is a BLOB": "UPDATE field_values SET value = x'00' WHERE key = 3",
    "a payload that is a BLOB": "UPDATE payloads SET payload = x'7b7d' WHERE key = 3",
    "a count that is text": "UPDATE segments SET count = 'sixty' WHERE stream = 1",
    "a count that is a fraction": "UPDATE segments SET count = 59.5 WHERE stream = 1",
    "a start that is text": "UPDATE segments SET start = 'first' WHERE stream = 1",
    "a stream that is text": "UPDATE segments SET stream = 'one' WHERE stream = 1",
    "a stream of no modality": "UPDATE segments SET stream = 17 WHERE stream = 3",
    "a negative stream": "UPDATE segments SET stream = -3 WHERE stream = 3",
    "keys that are text": "UPDATE segments SET keys = 'keys' WHERE stream = 1",
    "keys of another width": "UPDATE segments SET keys = CAST(x'03' || substr(keys, 2) AS BLOB) WHERE stream = 1",
    "no keys": "UPDATE segments SET keys = x'' WHERE stream = 1",
    "data that is text": "UPDATE segments SET data = 'data' WHERE stream = 1",
    "ids that are strings": "UPDATE meta SET value = 'str' WHERE name = 'id_kind'",
    "the next id in use": "UPDATE meta SET value = 59 WHERE name = 'next_key'",
    "a model that is text": "UPDATE meta SET value = 'model' WHERE name = 'model'",
    "a model that is a list": "UPDATE meta SET value = x'5b5d' WHERE name = 'model'",
}


@pytest.mark.parametrize("statement", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("version", [1, 2])
def test_values_of_another_type_are_reported(path, filled, statement, version):
    filled.index_payload("n")
    filled.close()
    if version == 1:
        to_format_1(path)
    # Some of these cannot be counted, so there is no right total for them.
    with contextlib.suppress(TypeError, sqlite3.IntegrityError):
        forge(path, statement)
    assert is_refused_or_reported(path)


STRINGS = {
    "the strings are missing": "DELETE FROM segments WHERE stream = 0",
    "they are not UTF-8": "UPDATE segments SET data = CAST(substr(data, 1, length(data) - 1) || x'ff' AS BLOB) "
    "WHERE stream = 0",
    "their numbers do not increase": (
        "UPDATE segments SET keys = ? WHERE stream = 0",
        (pack_numbers(np.array([2, 1, 0])),),
    ),
    "their numbers are others": ("UPDATE segments SET keys = ? WHERE stream = 0", (b"\0\7" + bytes(7),)),
    "their numbers are negative": ("UPDATE segments SET keys = ? WHERE stream = 0", (b"\0" + b"\xff" * 8,)),
    "their lengths are wrong": (
        "UPDATE segments SET data = CAST(x'ffffffff' || substr(data, 5) AS BLOB) WHERE stream = 0"
    ),
    "ids are said to be numbers": "UPDATE meta SET value = 'int' WHERE name = 'id_kind'",
}


@pytest.mark.parametrize("statement", STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize("version", [1, 2])
def test_strange_string_ids_are_reported(path, collection, statement, version):
    collection.add_codes(codes(3), modality="x", ids=["a", "b", "c"], payloads=[{"n": 1}] * 3)
    collection.close()
    if version == 1:
        to_format_1(path)
    forge(path, statement)
    try:
        with dh.Collection.open(path) as opened:
            assert opened.verify().problems
            for act in (
                lambda: opened.get(["c"]),
                lambda: opened.search_codes(codes(1), k=3),
                lambda: opened.search_arrays(codes(1), into="x", k=3),
                lambda: "c" in opened,
                lambda: list(opened.iterate()),
            ):
                with contextlib.suppress(CollectionError, InputError):
                    act()
    except CollectionFileError as error:
        assert "damaged" in str(error)  # noqa: PT017 - one or the other has to tell


@pytest.mark.parametrize("next_key", [0, 2])
@pytest.mark.parametrize("version", [1, 2])
def test_a_number_in_use_for_the_next_string_id_is_reported_before_anything_is_written(
    path, collection, next_key, version
):
    """Format 1 has no checksum over it, and in format 2 somebody who knows the format can make it right."""
    collection.add_codes(codes(3), modality="x", ids=["a", "b", "c"])
    collection.close()
    if version == 1:
        to_format_1(path)
    forge(path, f"UPDATE meta SET value = {next_key} WHERE name = 'next_key'")
    with pytest.raises(CollectionFileError, match="damaged"):
        dh.Collection.open(path, writable=True).add_codes(codes(1), modality="x", ids=["d"])


@pytest.mark.parametrize("stream", [0, 1, 2])
@pytest.mark.parametrize("version", [1, 2])
def test_a_segment_of_a_billion_entries_allocates_nothing(path, collection, stream, version):
    """Consecutive keys take nine bytes, however many they are."""
    collection.add_codes(codes(3), modality="x", ids=["a", "b", "c"])
    collection.delete(["a"])
    collection.close()
    if version == 1:
        to_format_1(path)
    huge = ("UPDATE segments SET count = ?, keys = ? WHERE stream = ?", (3 * 10**9, bytes(9), stream))
    forge(path, huge)
    tracemalloc.start()
    try:
        with pytest.raises(CollectionFileError, match="damaged"):
            dh.Collection.open(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
