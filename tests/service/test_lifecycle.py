"""Files that change or are replaced, and the end of the service: no request fails."""

from __future__ import annotations

import shutil
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np

import diffhash as dh

from .process import Server, wait_for


class Askers:
    """Threads that ask without a pause, and keep every answer that is not 200."""

    def __init__(self, server, queries, threads=3):
        self.server, self.queries, self.failed, self.asked = server, queries, [], 0
        self.end = threading.Event()
        self.threads = [threading.Thread(target=self._ask) for _ in range(threads)]

    def _ask(self):
        with self.server.client() as client:
            while not self.end.is_set():
                for path, body in self.queries:
                    answer = client.post(path, json=body)
                    self.asked += 1
                    if answer.status_code != 200:
                        self.failed.append((path, answer.status_code, answer.text))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        for thread in self.threads:
            thread.join()


QUERIES = [
    ("/v1/search", {"code": "0000", "into": "x", "k": 3}),
    ("/v1/search", {"item": 5, "modality": "x", "into": "x"}),
    ("/v1/get", {"ids": [5]}),
]


def count(client):
    return client.get("/v1/collection").json()["n_objects"]


def test_what_another_process_writes_is_found(copied, server):
    with Server(copied) as server, server.client() as client:
        assert count(client) == 200
        with dh.Collection.open(copied, writable=True) as collection:
            collection.add_codes(np.full((1, 2), 255, np.uint8), modality="x", ids=[5000])

            hits = client.post("/v1/search", json={"code": "ffff", "into": "x", "k": 1}).json()["hits"]

        assert hits[0]["id"] == 5000
        assert count(client) == 201


def test_a_file_that_is_replaced_is_taken_up_without_a_failed_request(copied, learned, tmp_path):
    """Replaced by renaming, ten times; and once it is away for a moment."""
    other = tmp_path / "other.dh"
    with Server(copied) as server, server.client() as client, Askers(server, QUERIES) as askers:
        for version in range(10):
            with dh.Collection.create(other, learned, overwrite=True) as made:
                made.add_codes(np.zeros((300 + version, 2), np.uint8), modality="x")
            other.replace(copied)
            wait_for(lambda version=version: count(client) == 300 + version)
        shutil.copy(copied, other)
        copied.rename(tmp_path / "away.dh")
        other.replace(copied)
        before = askers.asked
        wait_for(lambda: askers.asked > before + 20)

    assert askers.failed == []
    assert server.process.returncode == 0


def test_a_collection_that_is_gone_makes_the_service_not_ready(copied, tmp_path):
    with Server(copied, "--timeout", "10") as server, server.client() as client:
        copied.rename(tmp_path / "away.dh")

        answer = client.post("/v1/search", json={"code": "0000", "into": "x"})

        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert str(tmp_path) not in answer.text
        assert client.get("/healthz").status_code == 200
        (tmp_path / "away.dh").rename(copied)
        wait_for(lambda: client.get("/readyz").status_code == 200)


def test_running_requests_finish_when_the_service_ends(copied):
    """A write that has begun is answered, and so are searches; later connections are refused."""
    written, found = [], []
    rows = 5000
    body = {"modality": "x", "codes": ["0000"] * rows, "ids": list(range(1000, 1000 + rows))}
    with Server(copied, "--writable") as server:

        def write():
            with server.client() as client:
                written.append(client.post("/v1/items", json=body).status_code)

        def ask():
            with server.client() as client, suppress(httpx.TransportError):
                while True:
                    answer = client.post(
                        "/v1/search/batch", json={"codes": ["0000"] * 50, "into": "x", "k": 100}
                    )
                    found.append(answer.status_code)

        threads = [threading.Thread(target=write), *(threading.Thread(target=ask) for _ in range(3))]
        with server.client() as client:
            for thread in threads:
                thread.start()
            wait_for(lambda: found and (written or _writes(client)))
        status = server.stop()
        for thread in threads:
            thread.join()

    assert status == 0
    assert written == [200]
    assert set(found) == {200}
    with dh.Collection.open(copied) as collection:
        assert len(collection) == 5200
    assert not Path(f"{copied}-wal").exists()
    assert server.lines[-1]["event"] == "stopped"


def _writes(client):
    """Number of writes that wait or run."""
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("diffhash_waiting_requests"))
