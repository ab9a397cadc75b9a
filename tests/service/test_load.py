"""Mixed load, then ``kill -9``: nothing that was acknowledged is lost."""

from __future__ import annotations

import time

import diffhash as dh

from .load import Load, lost
from .process import Server

SECONDS = 60


def test_mixed_load_and_a_kill_lose_nothing(copied):
    with Server(copied, "--writable") as server:
        load = Load(server.url, server.port, n_bytes=2)
        load.start()
        time.sleep(SECONDS / 3)
        before = server.memory()
        time.sleep(SECONDS * 2 / 3)
        after = server.memory()
        load.expect_kill()
        server.kill()
        load.stop()
        errors = [line for line in server.lines if line.get("level") == "error"]

        assert load.faults == []
        assert errors == []
        assert {"search", "batch", "add", "delete", "bad", "gone"} <= set(load.counts)
        assert after < before * 1.25, "memory grows"
        with dh.Collection.open(copied) as collection:
            assert lost(load, collection) == ([], [])
            assert collection.verify().ok
        server.start()
        with server.client() as client:
            some = sorted(set().union(*load.stored.values()))[:50]
            items = client.post("/v1/get", json={"ids": some}).json()["items"]
            assert [item["payload"] for item in items] == [{"n": i} for i in some]
