"""Milvus is killed during an add: what was acknowledged is there afterwards, and repeating does no harm."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError, StoreUnavailableError

pytestmark = pytest.mark.server


def test_what_was_acknowledged_is_there_after_a_kill_and_repeating_does_no_harm(own_milvus_server):
    server = own_milvus_server
    address = server.address("killed")
    codes = np.random.default_rng(0).integers(0, 256, (40_000, 8), dtype=np.uint8)
    dh.create(address, n_bits=64, modalities=("x",)).close()
    acknowledged: list[int] = []
    failed: list[StoreUnavailableError] = []

    def write() -> None:
        with dh.open(address, writable=True, timeout=3) as store:
            for begin in range(0, len(codes), 500):
                ids = list(range(begin, begin + 500))
                try:
                    store.add_codes(codes[ids], modality="x", ids=ids, payloads=[{"n": n} for n in ids])
                except StoreUnavailableError as error:
                    failed.append(error)
                    return
                acknowledged.extend(ids)

    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + 60
    while len(acknowledged) < 2000 and time.monotonic() < deadline:
        time.sleep(0.01)
    server.kill()
    writer.join(60)
    assert failed
    assert "Repeating the call does no harm" in str(failed[0])
    assert 2000 <= len(acknowledged) < len(codes)

    server.start()

    with dh.open(address, writable=True, timeout=60) as store:
        n = len(acknowledged)
        assert [item.codes["x"].tolist() for item in store.get(acknowledged)] == codes[:n].tolist()
        assert len(store) in (n, n + 500)
        again = list(range(n, n + 500))
        # The server may have stored the last block before it was killed, and could not say so: then it is refused.
        with contextlib.suppress(InputError):
            store.add_codes(codes[again], modality="x", ids=again, payloads=[{"n": n} for n in again])
        store.upsert_codes(codes[again], modality="x", ids=again, payloads=[{"n": n} for n in again])
        assert len(store) == n + 500
        assert store.verify().problems == ()
        (hits,) = store.search_codes(codes[n : n + 1], k=1)
        assert (hits[0].distance, hits[0].payload["n"]) == (0, hits[0].id)


def test_a_search_waits_for_a_server_that_starts_again_and_no_longer_than_it_may(own_milvus_server):
    server = own_milvus_server
    with dh.create(server.address("lost"), n_bits=16, modalities=("x",), timeout=60) as store:
        store.add_codes(np.zeros((3, 2), np.uint8), modality="x")
        server.kill()
        begin = time.monotonic()
        store._connection.timeout = 2
        with pytest.raises(StoreUnavailableError, match="cannot be reached, or was lost"):
            store.search_codes(np.zeros((1, 2), np.uint8))
        assert time.monotonic() - begin < 10

        store._connection.timeout = 90
        starting = threading.Timer(1, server.start)
        starting.start()
        (hits,) = store.search_codes(np.zeros((1, 2), np.uint8))
        starting.join()

    assert [hit.distance for hit in hits] == [0, 0, 0]
