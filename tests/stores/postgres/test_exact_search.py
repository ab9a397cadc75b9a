"""Answers are exact, also if an approximate index exists; a store that asks for it uses the index."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.stores.postgres.filter_sql import Parameters

N, BITS = 4000, 256


@pytest.fixture
def filled(address):
    """A PostgreSQL store with random codes of 256 bits, and a store in memory with the same content."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (N, BITS // 8), dtype=np.uint8)
    stores = [dh.create(place, n_bits=BITS, modalities=("image",)) for place in (address, "memory://")]
    for store in stores:
        store.add_codes(codes, modality="image", payloads=[{"n": i % 7} for i in range(N)])
    yield *stores, rng.integers(0, 256, (20, BITS // 8), dtype=np.uint8)
    stores[0].close()


def distances(hits):
    return [[hit.distance for hit in row] for row in hits]


def test_exact_answers_stay_exact_beside_an_hnsw_index(filled, postgres_server, collection_name):
    store, memory, queries = filled
    store.create_index()
    table = f"{collection_name(store.address)}_codes_0"
    postgres_server.run(f'ANALYZE "{table}"')
    bits = "".join(f"{byte:08b}" for byte in queries[0])

    # The planner takes the index wherever it can, so the test would fail without our order.
    bare = f"EXPLAIN SELECT position FROM \"{table}\" ORDER BY code <~> B'{bits}', position LIMIT 10"
    assert "hnsw" in postgres_server.run(bare)
    for options in (
        {},
        {"where": {"n": 3}},
        {"radius": 110},
        {"k": 100},
        {"where": {"n": {"ge": 5}}, "radius": 115},
    ):
        got, expected = (s.search_codes(queries, into="image", **options) for s in (store, memory))
        assert [[(hit.id, hit.distance) for hit in row] for row in got] == [
            [(hit.id, hit.distance) for hit in row] for row in expected
        ]
    assert distances(store.within_codes(queries, radius=105)) == distances(
        memory.within_codes(queries, radius=105)
    )
    assert store.stats().details["approximate_indexes"] == 1


@pytest.mark.parametrize("options", [{"k": 10}, {"k": 10, "radius": 3}, {"k": 1000}])
def test_the_planner_cannot_use_an_index_for_the_order(filled, options):
    """Not even if everything else is forbidden."""
    store, _, queries = filled
    store.create_index()
    values = Parameters()
    statement = store._statement(0, options["k"], options.get("radius"), None, values)
    from diffhash.stores.postgres.connections import Bits

    def plan():
        store._connection.execute("SET LOCAL enable_seqscan = off")
        store._connection.execute("SET LOCAL enable_sort = off")
        rows = store._connection.execute(
            f"EXPLAIN {statement}", {**values, "query": Bits(queries[0].tobytes())}
        )
        return "\n".join(line for (line,) in rows.fetchall())

    assert "hnsw" not in store._read(plan, caller="test")


def test_a_store_with_ef_answers_from_the_index(filled, address):
    """Random codes of 256 bits are the worst case: most of the nearest are missed, and a larger ef finds more."""
    store, memory, queries = filled
    store.create_index()
    exact = memory.search_codes(queries, k=10)

    def recall(ef):
        with dh.open(f"{address}&ef={ef}") as other:
            got = other.search_codes(queries, k=10)
            assert all(row == sorted(row) for row in distances(got))
            assert all(len(row) == 10 for row in got)
            assert other.stats().details["search"] == f"approximate (ef {ef})"
        pairs = zip(got, exact, strict=True)
        return np.mean([len({h.id for h in a} & {h.id for h in b}) / 10 for a, b in pairs])

    assert recall(10) < 0.9
    assert recall(10) < recall(1000)


def test_a_filtered_approximate_search_finds_enough(filled, address):
    """Without an iterative scan, most candidates of the index would not match the filter."""
    store = filled[0]
    store.create_index()
    with dh.open(f"{address}&ef=40") as other:
        (hits,) = other.search_codes(filled[2][:1], k=50, where={"n": 3})
    assert len(hits) == 50
    assert all(hit.payload == {"n": 3} for hit in hits)


def test_an_index_can_be_removed(filled):
    store = filled[0]
    store.create_index(m=8, ef_construction=32)
    store.drop_index()
    assert store.stats().details["approximate_indexes"] == 0


@pytest.mark.parametrize("ef", ["0", "many", "1001", "-3", ""])
def test_a_bad_ef_is_refused(address, ef):
    with pytest.raises(dh.errors.AddressError, match="ef must be a whole number"):
        dh.open(f"{address}&ef={ef}")


def test_codes_that_were_made_elsewhere_keep_their_distances_at_every_width(address):
    """PostgreSQL counts bits from the other end; padding must not be cut off."""
    rng = np.random.default_rng(3)
    for bits in (1, 7, 8, 9, 31, 64, 100, 1000):
        codes = dh.codes.pack(rng.integers(0, 2, (50, bits)))
        with dh.create(f"{address}_{bits}", n_bits=bits, modalities=("a",)) as store:
            store.add_codes(codes, modality="a")
            hits = store.search_codes(codes[:5], k=50)
            assert [item.codes["a"].tolist() for item in store.get(range(50))] == codes.tolist()
        for query, row in zip(codes, hits, strict=False):
            expected = np.bitwise_count(codes ^ query).sum(axis=1)
            assert [(hit.distance) for hit in row] == sorted(expected.tolist())
            assert all(expected[hit.id] == hit.distance for hit in row)
