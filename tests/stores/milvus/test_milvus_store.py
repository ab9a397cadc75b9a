"""What is special about stores in Milvus."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionError,
    CollectionExistsError,
    CollectionFileError,
    CollectionNotFoundError,
    DiffhashError,
    InputError,
    NewerCollectionError,
)
from diffhash.stores.filter_syntax import matches, parse

from .conftest import codes_of

pytestmark = pytest.mark.server


def test_whoever_opens_a_store_can_encode_queries(address, hasher):
    features = np.random.default_rng(5).normal(size=(30, 16))
    with dh.create(address, hasher) as made:
        made.add(features, modality="x", payloads=[{"n": n} for n in range(30)])

        with dh.open(address) as store:
            assert store.search(features, modality="x", into="x", k=3) == made.search(
                features, modality="x", into="x", k=3
            )
            assert store.id_kind == "int"
            assert store.description == made.description
            details = store.stats().details
    assert details["index"] == "BIN_FLAT"
    assert [name.rpartition("__")[2] for name in details["milvus_collections"]] == ["model", "0"]


def test_a_model_larger_than_one_field_is_kept(address):
    """Milvus holds at most 65,535 bytes in a field."""
    rng = np.random.default_rng(0)
    views = {"x": rng.normal(size=(300, 400)), "y": rng.normal(size=(300, 400))}
    hasher = dh.DiffHash(n_bits=128).fit(views, dh.Pairs.aligned(300))
    dh.create(address, hasher).close()

    with dh.open(address) as store:
        np.testing.assert_array_equal(
            store.model.encode(views["x"], modality="x"), hasher.encode(views["x"], modality="x")
        )


def test_a_store_that_exists_is_replaced_only_if_asked(address, hasher):
    with dh.create(address, hasher) as old:
        old.add_codes(codes_of(3), modality="x")
        with pytest.raises(CollectionExistsError, match="exists already"):
            dh.create(address, hasher)

        with dh.create(address, n_bits=8, modalities=("z",), overwrite=True) as new:
            assert (new.n_bits, len(new)) == (8, 0)
            with pytest.raises(CollectionError, match="made again by somebody else"):
                old.add_codes(codes_of(1), modality="x")
            assert len(new) == 0


def test_what_belongs_to_something_else_is_neither_opened_nor_replaced(address, hasher, client):
    name = f"{address.rpartition('/')[2]}__model"
    client.create_collection(name, dimension=4)

    with pytest.raises(CollectionFileError, match="belongs to something else"):
        dh.open(address)
    for overwrite in (False, True):
        with pytest.raises(CollectionFileError, match="belongs to something else"):
            dh.create(address, hasher, overwrite=overwrite)
    assert client.has_collection(name)


def test_a_store_that_is_not_there_is_not_found(milvus_server):
    with pytest.raises(CollectionNotFoundError, match="there is no collection at"):
        dh.open(milvus_server.address("nobody_made_this"))


def test_a_store_whose_maker_did_not_finish_is_not_opened(address, hasher, client):
    dh.create(address, hasher).close()
    client.delete(f"{address.rpartition('/')[2]}__model", filter="id == 0")

    with pytest.raises(CollectionFileError, match="not complete"):
        dh.open(address)


def test_a_store_of_a_later_release_is_not_opened(address, hasher, client):
    dh.create(address, hasher).close()
    text = '{"magic": "diffhash collection", "format": 99}'
    client.upsert(f"{address.rpartition('/')[2]}__model", [{"id": 0, "text": text, "code": b"\0"}])

    with pytest.raises(NewerCollectionError, match="format 99"):
        dh.open(address)


def test_a_damaged_model_is_not_used(address, hasher, client):
    dh.create(address, hasher).close()
    client.delete(f"{address.rpartition('/')[2]}__model", filter="id == 16")

    with pytest.raises(CollectionFileError, match="checksum"):
        dh.open(address)


def test_a_collection_that_somebody_removed_or_changed_is_reported(address, hasher, client):
    name = f"{address.rpartition('/')[2]}__0"
    with dh.create(address, hasher) as store:
        store.add_codes(codes_of(3), modality="x")
        client.drop_collection(name)
        with pytest.raises(CollectionNotFoundError, match="somebody has removed it"):
            store.search_codes(codes_of(1), into="x")
        client.create_collection(name, dimension=4)
        with pytest.raises(DiffhashError, match=r"Milvus at milvus://.* has refused|changed"):
            store.search_codes(codes_of(1), into="x")
        assert not store.verify().ok


def test_two_writers_add_their_objects_and_numbers_are_not_used_twice(address, hasher):
    with dh.create(address, hasher) as one, dh.open(address, writable=True) as two:
        one.add_codes(codes_of(3), modality="x", ids=[0, 1, 2])
        two.add_codes(codes_of(3), modality="y", ids=[2, 3, 500])
        assert one.add_codes(codes_of(2), modality="x") == [501, 502]
        with pytest.raises(InputError, match="id 3 exists already"):
            one.add_codes(codes_of(1), modality="y", ids=[3])

        assert len(one) == len(two) == 7
        assert one.verify().problems == ()


def test_numbers_that_another_writer_has_not_told_yet_are_not_used(address, hasher, client):
    with dh.create(address, hasher) as store:
        store.add_codes(codes_of(1), modality="x")
        row = {"id": 1000, "code": b"\0\0", "payload": {}, "first": True}
        client.upsert(f"{address.rpartition('/')[2]}__0", [row])

        assert store.add_codes(codes_of(1), modality="x") == [1001]


def test_more_rows_than_milvus_returns_are_found(address, monkeypatch, hasher):
    """Milvus returns at most 16,384 rows. What is beyond that is compared here; the test lowers the limit."""
    for module in ("rows", "nearest", "store"):
        monkeypatch.setattr(f"diffhash.stores.milvus.{module}.MAX_FOUND", 50)
    codes, queries = codes_of(300), codes_of(3, seed=1)
    with dh.create(address, hasher) as store:
        store.add_codes(codes, modality="x", payloads=[{"n": n} for n in range(300)])
        for radius, k in ((16, None), (5, None), (None, 120), (7, 120)):
            hits = (
                store.within_codes(queries, radius=radius, into="x")
                if k is None
                else store.search_codes(queries, k=k, radius=radius, into="x")
            )
            for query, row in zip(queries, hits, strict=True):
                distances = np.bitwise_count(codes ^ query).sum(axis=1)
                allowed = np.sort(distances[distances <= (16 if radius is None else radius)])[:k]
                assert [hit.distance for hit in row] == allowed.tolist()
                assert all(distances[hit.id] == hit.distance and hit.payload == {"n": hit.id} for hit in row)


def test_filters_have_the_meaning_that_they_have_everywhere(address):
    """Every kind of value is compared with every other in the server, or here if it cannot."""
    values = [None, True, False, 0, 1, -1, 1.0, 0.5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1e300, "1", "", "a", "A",
              "aa", "é", "日本", 'q"', "q'", "b\\", "n\nl", "nul\0", "𝒳", "true", [1], {"a": 1}, {}, []]  # fmt: skip
    payloads = [{"f": value} for value in values] + [{}, {"other": 1}]
    scalars = [value for value in values if not isinstance(value, list | dict)]
    filters = [{"f": value} for value in scalars]
    filters += [{"f": {"ne": value}} for value in scalars]
    filters += [
        {"f": {name: value}}
        for value in scalars
        if value is not None and not isinstance(value, bool)
        for name in ("lt", "ge")
    ]
    filters += [
        {"f": {"in": scalars}},
        {"f": {"in": [1, "a", True, 0.5]}},
        {"f": {"in": []}},
        {"not": {"f": {"in": ["a", "A", 1.0]}}},
        {"not": {"or": [{"f": {"ge": 0}}, {"f": {"ge": ""}}]}},
        {"f": {"gt": 0, "le": 1}, "other": None},
        {"or": [{"other": 1}, {"f": "日本"}]},
        {"not": {}},
    ]
    with dh.create(address, n_bits=16, modalities=("x",)) as store:
        store.add_codes(codes_of(len(payloads)), modality="x", payloads=payloads)
        for where in filters:
            node = parse(where, caller="")
            expected = {row for row, payload in enumerate(payloads) if matches(node, payload)}
            (hits,) = store.search_codes(codes_of(1), k=100, where=where)
            assert {hit.id for hit in hits} == expected, where
        for where in filters[::8]:
            node = parse(where, caller="")
            assert store._count("x", node) == sum(matches(node, payload) for payload in payloads), where


def test_ids_and_payloads_that_milvus_cannot_hold_are_refused_and_change_nothing(address):
    with dh.create(address, n_bits=16, modalities=("x",)) as store:
        with pytest.raises(InputError, match="at most 65535 bytes"):
            store.add_codes(codes_of(2), modality="x", ids=["a", "é" * 40_000])
        with pytest.raises(InputError, match="payload 1 has 70008"):
            store.add_codes(codes_of(2), modality="x", payloads=[{}, {"a": "x" * 70_000}])
        assert (len(store), store.id_kind) == (0, "")
        store.add_codes(codes_of(1), modality="x", payloads=[{"a": "x" * 65_000}])
        assert store.get([0])[0].payload == {"a": "x" * 65_000}


def test_a_clustered_index_is_exact_unless_asked_to_be_faster(address):
    codes, queries = codes_of(3000), codes_of(20, seed=1)
    with dh.create(f"{address}?index=ivf&nlist=16", n_bits=16, modalities=("x",)) as store:
        store.add_codes(codes, modality="x")
        assert store.stats().details["index"] == "BIN_IVF_FLAT"
        exact = store.search_codes(queries, k=5)
    for query, hits in zip(queries, exact, strict=True):
        assert [hit.distance for hit in hits] == np.sort(np.bitwise_count(codes ^ query).sum(axis=1))[
            :5
        ].tolist()
    with dh.open(f"{address}?nprobe=1&consistency=bounded") as store:
        assert len(store.search_codes(queries, k=5)) == 20


def test_a_payload_is_shared_and_the_object_counted_once_whatever_is_removed(address, hasher):
    with dh.create(address, hasher) as store:
        store.add_codes(codes_of(4), modality="x", ids=list("abcd"), payloads=[{"n": n} for n in range(4)])
        store.add_codes(codes_of(3), modality="y", ids=list("bcd"), payloads=[{"n": 9}, None, None])
        assert [item.payload["n"] for item in store.get(list("abcd"))] == [0, 9, 2, 3]
        assert {hit.payload["n"] for hit in store.search_codes(codes_of(1), into="x")[0]} == {0, 9, 2, 3}

        assert store.delete(["b", "a"], modality="x") == 2
        assert (len(store), store.verify().problems) == (3, ())
        assert store.delete(["c"], modality="y") == 1
        assert (len(store), store.verify().problems) == (3, ())
        assert store.stats().n_codes == {"x": 2, "y": 2}
