"""``diffhash serve`` in front of PostgreSQL and Milvus. The contract suite runs over the first of them, too."""

from __future__ import annotations

import secrets
import threading
import time

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import UnsupportedCallError

from .process import Server, wait_for

pytestmark = pytest.mark.server
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def learned(small_data):
    return dh.DiffHash(n_bits=16).fit(small_data.train.views, dh.Pairs.aligned(400), calibrate=True)


@pytest.fixture
def postgres(postgres_server):
    return postgres_server.address(collection=f"c{secrets.token_hex(6)}")


@pytest.fixture
def milvus(milvus_server):
    return milvus_server.address(f"test_{secrets.token_hex(6)}")


@pytest.fixture(params=["postgres", "milvus"])
def address(request):
    """Address of a collection that does not exist yet."""
    return request.getfixturevalue(request.param)


def fill(address, hasher, data, **options):
    with dh.create(address, hasher, **options) as store:
        for name, rows in data.test.views.items():
            store.add(rows, modality=name, ids=range(200), payloads=[{"n": i} for i in range(200)])


def test_a_database_is_served_like_a_file(address, learned, small_data, tmp_path):
    """Reading, writing, words that a database does not have, the page, and what is left after ``kill -9``."""
    fill(address, learned, small_data)
    fill(tmp_path / "same.dh", learned, small_data)
    query = small_data.test.views["y"][:20]
    with dh.open(tmp_path / "same.dh") as file, Server(address, "--writable") as server:
        with dh.open(server.url, writable=True) as there:
            for options in (
                {"k": 5},
                {"where": {"n": {"lt": 50}}},
                {"radius": 3},
                {"max_false_matches": 20.0},
            ):
                found, expected = (
                    store.search(query, modality="y", into="x", rank="hamming", **options)
                    for store in (there, file)
                )
                # Ties have any order in Milvus.
                assert [[h.distance for h in row] for row in found] == [
                    [h.distance for h in row] for row in expected
                ]
                assert [[h.chance for h in row] for row in found] == [
                    [h.chance for h in row] for row in expected
                ]
            with pytest.raises(UnsupportedCallError):
                there.search(query, modality="y", rank="asymmetric")
            there.add(
                query[:3], modality="y", ids=[900, 901, 902], payloads=[{"n": 900 + i} for i in range(3)]
            )
            assert there.delete([901]) == 1
        with server.client() as client:
            assert client.get("/readyz").status_code == 200
            assert client.get("/v1/collection").json()["n_objects"] == 202
            assert len(client.get("/v1/ids").json()["ids"]) == 202
            assert client.get("/v1/find", params={"item": "7", "modality": "x"}).json()["hits"]
            some = client.post(
                "/v1/get", json={"ids": [900, 901, 902], "missing": "skip", "modality": "y"}
            ).json()
            assert [item["id"] for item in some["items"]] == [900, 902]
            for path in ("/v1/fields", "/v1/evaluation", "/v1/page", "/v1/bits", "/v1/model"):
                assert client.get(path).status_code == 200, path
            everything = {"code": "0000", "into": "x", "k": None, "radius": 16}
            assert len(client.post("/v1/search", json=everything).json()["hits"]) == 200
        server.kill()
        assert [line for line in server.lines if line.get("level") == "error"] == []
    with dh.open(address) as store:
        assert [item is None for item in store.find([900, 901, 902])] == [False, True, False]
        assert store.verify().ok


def test_a_collection_that_is_made_again_is_taken_up(address, learned, small_data):
    """With another model: queries are encoded with the new one, and no request fails."""
    half = {name: rows[:200] for name, rows in small_data.train.views.items()}
    other = dh.DiffHash(n_bits=16).fit(half, dh.Pairs.aligned(200))
    fill(address, learned, small_data)
    query = small_data.test.views["y"][:20]
    body = {"vectors": query.astype(float).tolist(), "modality": "y", "into": "x", "k": 3, "rank": "hamming"}
    with Server(address) as server, server.client() as client:
        assert client.post("/v1/search/batch", json=body).status_code == 200
        fill(address, other, small_data, overwrite=True)
        # A reader of Milvus looks for this once in a second.
        time.sleep(1.5)

        answer = client.post("/v1/search/batch", json=body)

    assert answer.status_code == 200, answer.text
    with dh.open(address) as store:
        expected = store.search(query, modality="y", into="x", k=3)
    assert [[h["distance"] for h in row] for row in answer.json()["results"]] == [
        [h.distance for h in row] for row in expected
    ]


def test_a_database_that_is_gone_gives_503_and_comes_back(own_postgres_server, learned, small_data):
    """No request waits longer than the limit, no message names the database, and no log has its password."""
    address = f"{own_postgres_server.loopback_address()}?collection=gone"
    fill(address, learned, small_data)
    statuses, seconds = [], []

    def ask(client):
        begin = time.monotonic()
        answer = client.post("/v1/search", json={"code": "0000", "into": "x"})
        seconds.append(time.monotonic() - begin)
        statuses.append(answer.status_code)
        assert str(own_postgres_server.port) not in answer.text
        assert answer.status_code == 200 or answer.headers["retry-after"] == "1"

    with Server(address, "--timeout", "3") as server, server.client() as client:
        ask(client)
        own_postgres_server.kill()
        threads = [threading.Thread(target=ask, args=(client,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.get("/healthz").status_code == 200
        own_postgres_server.start()
        wait_for(lambda: client.get("/readyz").status_code == 200)
        ask(client)
        log = "".join(server.raw)

    assert statuses == [200, *[503] * 8, 200]
    assert max(seconds) < 15
    assert own_postgres_server.password not in log
    assert "postgresql" not in log


def test_codes_without_a_model_are_served_from_a_database(postgres):
    codes = np.arange(20, dtype=np.uint8)[:, None]
    with dh.create(postgres, n_bits=8, modalities=("x",)) as store:
        store.add_codes(codes, modality="x", ids=[f"o{i}" for i in range(20)])
    with Server(postgres) as server, dh.open(server.url) as there:
        assert [hit.id for hit in there.search_codes(codes[3], k=1)[0]] == ["o3"]
        ids, distances = there.search_arrays(codes[:2], into="x", k=2)
        assert ids[:, 0].tolist() == ["o0", "o1"]
        assert distances[:, 0].tolist() == [0, 0]
