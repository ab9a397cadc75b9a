"""Mixed load: searches, adds, deletes, bad requests and clients that go away; and what was acknowledged.

The test runs it for a minute, ``benchmarks/service.py --soak`` for half an hour.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

import httpx

#: Requests that a service must refuse, and the status of the answer.
BAD = [
    ("POST", "/v1/search", b"{", 400),
    ("POST", "/v1/search", b'{"code": "zz"}', 422),
    ("POST", "/v1/search", b'{"code": "0000", "k": 10000000}', 422),
    ("POST", "/v1/items", b'{"modality": "nowhere", "codes": ["0000"]}', 422),
    ("GET", "/v1/items/-5", b"", 404),
    ("GET", "/nothing", b"", 404),
    ("PATCH", "/v1/items", b"", 405),
]
JSON = {"content-type": "application/json"}


@dataclass
class Load:
    """Threads that use a service, each with ids of its own.

    Attributes
    ----------
    stored : dict of sets by thread
        Ids whose addition was acknowledged, and whose deletion was not begun.
    unknown : dict of sets by thread
        Ids of requests that got no answer.
    faults : list
        Answers that no client has caused.
    """

    url: str
    port: int
    n_bytes: int
    threads: int = 4
    stored: dict[int, set[int]] = field(default_factory=dict)
    unknown: dict[int, set[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self):
        self._end = threading.Event()
        self._killed = threading.Event()
        self._threads = [threading.Thread(target=self._use, args=(number,)) for number in range(self.threads)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def expect_kill(self):
        """From now on requests may fail, because the service is killed."""
        self._killed.set()

    def stop(self):
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _use(self, number):
        rng = random.Random(number)
        self.stored[number], self.unknown[number] = set(), set()
        following = (number + 1) * 10_000_000
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            while not self._end.is_set():
                kind = rng.random()
                try:
                    if kind < 0.6:
                        self._search(client, rng)
                    elif kind < 0.75:
                        ids = list(range(following, following + rng.randint(1, 20)))
                        following = ids[-1] + 1
                        self._add(client, rng, number, ids)
                    elif kind < 0.85:
                        self._delete(client, rng, number)
                    elif kind < 0.95:
                        self._bad(client, rng)
                    else:
                        self._go_away(rng)
                except (httpx.TransportError, OSError) as error:
                    if not self._killed.is_set():
                        self.faults.append(f"{type(error).__name__}: {error}")
                    time.sleep(0.01)

    def _code(self, rng):
        return rng.randbytes(self.n_bytes).hex()

    def _count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def _check(self, answer, expected, name):
        self._count(name)
        if answer.status_code != expected and answer.status_code not in (429,):
            self.faults.append(f"{name}: {answer.status_code} {answer.text[:200]}")
            return False
        return answer.status_code == expected

    def _search(self, client, rng):
        if rng.random() < 0.1:
            body = {"codes": [self._code(rng) for _ in range(20)], "into": "x", "k": 5}
            self._check(client.post("/v1/search/batch", json=body), 200, "batch")
        else:
            self._check(client.post("/v1/search", json={"code": self._code(rng), "into": "x"}), 200, "search")

    def _add(self, client, rng, number, ids):
        body = {
            "modality": "x",
            "codes": [self._code(rng) for _ in ids],
            "ids": ids,
            "payloads": [{"n": i} for i in ids],
        }
        self.unknown[number] |= set(ids)
        if self._check(client.post("/v1/items", json=body), 200, "add"):
            self.stored[number] |= set(ids)
        self.unknown[number] -= set(ids)

    def _delete(self, client, rng, number):
        if not self.stored[number]:
            return
        # On average a little more than is added: the number of objects stays the same, and so should the memory.
        n = min(rng.randint(1, 40), len(self.stored[number]))
        ids = rng.sample(sorted(self.stored[number]), n)
        self.stored[number] -= set(ids)
        self.unknown[number] |= set(ids)
        answer = client.post("/v1/delete", json={"ids": ids})
        if self._check(answer, 200, "delete") and answer.json() != {"deleted": len(ids)}:
            self.faults.append(f"delete: {answer.text}")
        if answer.status_code == 429:
            self.stored[number] |= set(ids)
        self.unknown[number] -= set(ids)

    def _bad(self, client, rng):
        method, path, body, status = rng.choice(BAD)
        self._check(client.request(method, path, content=body, headers=JSON), status, "bad")

    def _go_away(self, rng):
        """Send a part of a request that would write, and close the connection or reset it."""
        body = b'{"modality": "x", "codes": ["%s"], "ids": [-77]}' % (b"00" * self.n_bytes)
        head = b"POST /v1/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        request = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(request[: rng.randrange(len(request))])
            if rng.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._count("gone")


def lost(load, collection):
    """Ids that were acknowledged and are not there, and ids that are there and nobody has added."""
    present = set(collection.ids())
    expected = set().union(*load.stored.values())
    open_ = set().union(*load.unknown.values())
    first = min(10_000_000, *expected, *open_) if expected or open_ else 10_000_000
    return sorted(expected - present), sorted(i for i in present - expected - open_ if i >= first or i == -77)
