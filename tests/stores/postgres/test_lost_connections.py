"""Connections that are lost at the worst moments, and servers that are killed."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import StoreUnavailableError

from .proxy import Proxy

CODES = np.arange(40, dtype=np.uint8).reshape(40, 1)


@pytest.fixture
def proxied(postgres_server):
    """A store whose connections go through a proxy, and the proxy."""
    proxy = Proxy(postgres_server.folder / f".s.PGSQL.{postgres_server.port}")
    name = f"c{secrets.token_hex(6)}"
    address = postgres_server.loopback_address().replace(f":{postgres_server.port}/", f":{proxy.port}/")
    # Over the socket nobody asks for a password; TCP ends at the proxy.
    store = dh.create(f"{address}?collection={name}", n_bits=8, modalities=("a", "b"), timeout=20)
    yield store, proxy
    store.close()
    proxy.close()


def test_a_search_whose_connection_is_lost_is_repeated(proxied):
    store, proxy = proxied
    store.add_codes(CODES, modality="a")
    proxy.arm(b"<~>", forward=False, times=2)

    (hits,) = store.search_codes(CODES[:1], into="a", k=3)

    assert [hit.id for hit in hits] == [0, 1, 2]
    assert proxy.cut == 2


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "not committed"])
def test_a_commit_without_an_answer_is_neither_lost_nor_done_twice(proxied, committed):
    """The server is asked what became of the transaction."""
    store, proxy = proxied
    store.add_codes(CODES[:3], modality="a", payloads=[{"n": i} for i in range(3)])
    proxy.arm(b"COMMIT", forward=committed)

    assert store.add_codes(CODES[3:5], modality="a") == [3, 4]
    assert proxy.cut == 1

    assert len(store) == 5
    proxy.arm(b"COMMIT", forward=committed)
    assert store.delete([0, 1]) == 2
    proxy.arm(b"COMMIT", forward=committed)
    assert store.upsert_codes(CODES[7:8], modality="b", ids=[2]) == [2]
    proxy.arm(b"COMMIT", forward=committed)
    result = store.add_codes(CODES[[2, 30]], modality="a", unless_within=0)
    assert (result, result.added.tolist()) == ([2, 5], [False, True])
    assert store.verify().problems == ()
    assert sorted(item.id for block in store.iterate() for item in block) == [2, 3, 4, 5]


@pytest.mark.parametrize("place", [b"COPY", b"FOR UPDATE", b"BEGIN", b"UPDATE"])
def test_a_connection_that_is_lost_during_an_add_is_repeated(proxied, place):
    store, proxy = proxied
    store.add_codes(CODES[:2], modality="a")
    proxy.arm(place, forward=False)

    assert store.add_codes(CODES[:4], modality="b", ids=[0, 1, 2, 3]) == [0, 1, 2, 3]

    assert proxy.cut == 1
    assert store.verify().problems == ()
    assert store.stats().n_codes == {"a": 2, "b": 4}


def test_a_server_that_does_not_come_back_is_an_error_of_ours(own_postgres_server):
    with dh.create(own_postgres_server.address(), n_bits=8, modalities=("a",)) as store:
        store.add_codes(CODES, modality="a")
    with dh.open(own_postgres_server.address(), writable=True, timeout=2) as store:
        own_postgres_server.kill()
        for act in (
            lambda: store.search_codes(CODES[:1]),
            lambda: store.add_codes(CODES, modality="a"),
            lambda: len(store),
        ):
            begin = time.monotonic()
            with pytest.raises(StoreUnavailableError, match="connection was lost"):
                act()
            assert time.monotonic() - begin < 20
        own_postgres_server.start()
        assert len(store) == 40
        assert store.add_codes(CODES[:1], modality="a") == [40]


def test_a_search_waits_for_a_server_that_is_restarted(own_postgres_server):
    with dh.create(own_postgres_server.address(), n_bits=8, modalities=("a",)) as store:
        store.add_codes(CODES, modality="a")
        assert len(store.search_codes(CODES[:1], k=5)[0]) == 5
        own_postgres_server.kill()
        restart = threading.Timer(0.5, own_postgres_server.start)
        restart.start()
        try:
            assert len(store.search_codes(CODES[:1], k=5)[0]) == 5
        finally:
            restart.join()


WRITER = """
    import sys, numpy as np, diffhash as dh
    with dh.open(sys.argv[1], writable=True, timeout=60) as store:
        for call in range(int(sys.argv[2]), 10_000):
            ids = range(100 * call, 100 * call + 100)
            codes = np.full((100, 1), call % 251, dtype=np.uint8)
            store.add_codes(codes, modality="a", ids=ids, payloads=[{"call": call}] * 100)
            print(call, flush=True)
"""


def test_what_was_acknowledged_is_there_after_the_server_was_killed(own_postgres_server):
    """The writer goes on after the restart, and each of its calls is made once."""
    address = own_postgres_server.address()
    dh.create(address, n_bits=8, modalities=("a",)).close()
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), address, "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    acknowledged = -1
    try:
        for crash in range(1, 4):
            while acknowledged < 25 * crash:
                line = writer.stdout.readline()
                assert line, writer.stderr.read()
                acknowledged = int(line)
            own_postgres_server.kill()
            own_postgres_server.start()
            with dh.open(address) as store:
                found = {item.id for block in store.iterate() for item in block}
            # At least what was acknowledged, and of each call everything or nothing.
            assert found >= set(range(100 * (acknowledged + 1)))
            assert len(found) % 100 == 0
        while acknowledged < 110:
            line = writer.stdout.readline()
            assert line, writer.stderr.read()
            acknowledged = int(line)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    with dh.open(address, writable=True) as store:
        assert store.verify().problems == ()
        calls = len(store) // 100
        assert calls > acknowledged
        # A repeated add does no harm: it says what exists, and changes nothing.
        with pytest.raises(dh.errors.InputError, match="exists already"):
            store.add_codes(np.zeros((100, 1), np.uint8), modality="a", ids=range(100))
        again = np.full((100, 1), 7, dtype=np.uint8)
        store.upsert_codes(again, modality="a", ids=range(700, 800), payloads=[{"call": 7}] * 100)
        assert len(store) == 100 * calls
        assert store.get([750])[0].payload == {"call": 7}


def test_a_transaction_that_a_crash_lost_is_repeated_though_its_number_was_given_to_another(
    own_postgres_server, monkeypatch
):
    """After a crash the server counts transactions from the last one that reached the disk."""
    address = own_postgres_server.address()
    dh.create(address, n_bits=8, modalities=("a",)).close()
    with dh.open(address, writable=True) as store, dh.open(address, writable=True) as other:
        store_write, crashes = type(store)._store_write, []

        def crash_before_the_commit(self):
            write = store_write(self)
            if self is store and not crashes:
                crashes.append(write)
                own_postgres_server.kill()
                own_postgres_server.start()
                for call in range(5):
                    other.add_codes(CODES[:1], modality="a", ids=[100 + call])
            return write

        monkeypatch.setattr(type(store), "_store_write", crash_before_the_commit)

        assert store.add_codes(CODES[:3], modality="a", ids=[0, 1, 2]) == [0, 1, 2]

        assert crashes
        found = sorted(item.id for block in store.iterate() for item in block)
        assert found == [0, 1, 2, 100, 101, 102, 103, 104]


def test_a_collection_from_before_the_table_of_writes_can_be_read_and_written(postgres_server):
    name = f"c{secrets.token_hex(6)}"
    address = postgres_server.address(collection=name)
    with dh.create(address, n_bits=8, modalities=("a",)) as store:
        store.add_codes(CODES, modality="a")
    postgres_server.run(f"DROP TABLE {name}_writes")

    with dh.open(address) as store:
        assert len(store) == 40
        assert store.verify().problems == ()
    with dh.open(address, writable=True) as store:
        assert store.add_codes(CODES[:1], modality="a") == [40]


def test_few_rows_tell_of_the_last_writes(postgres_server):
    name = f"c{secrets.token_hex(6)}"
    address = postgres_server.address(collection=name)
    with dh.create(address, n_bits=8, modalities=("a",)) as store:
        for _ in range(20):
            store.add_codes(CODES, modality="a")

    assert postgres_server.run(f"SELECT count(*) FROM {name}_writes") == "1"


def test_a_writer_that_is_killed_leaves_nothing_half_done(own_postgres_server):
    address = own_postgres_server.address()
    dh.create(address, n_bits=8, modalities=("a",)).close()
    for start in range(0, 300, 100):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), address, str(start)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(5):
            writer.stdout.readline()
        writer.kill()
        writer.communicate()
    with dh.open(address, writable=True) as store:
        assert store.verify().problems == ()
        assert len(store) % 100 == 0
        assert len(store) >= 1500
        # The lock of a writer that is gone is free.
        store.add_codes(CODES[:1], modality="a", ids=[10**6])


def test_the_package_does_not_log_passwords(postgres_server, caplog):
    import logging

    caplog.set_level(logging.DEBUG)
    with dh.create(
        f"{postgres_server.loopback_address()}?collection=c{secrets.token_hex(4)}",
        n_bits=8,
        modalities=("a",),
    ) as store:
        store.add_codes(CODES, modality="a")
    assert postgres_server.password not in caplog.text
    assert Path(postgres_server.folder / "log").exists()
    assert postgres_server.password not in postgres_server.log()
