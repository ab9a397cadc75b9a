"""Closing a collection while a thread searches it."""

from __future__ import annotations

import threading
import time

import pytest

from diffhash.errors import CollectionError
from diffhash.search import HammingIndex
from diffhash.stores.sqlite import scan

from .helpers import codes


@pytest.fixture(autouse=True)
def no_scan_is_small():
    """These small collections are searched as large ones are: without the lock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_SMALL_SCAN", -1)
        yield


def close_during_a_scan(collection, monkeypatch, after_close_began):
    """Search; while the scan runs, close in another thread. Returns the hits."""
    scan = HammingIndex.search
    closing = threading.Thread(target=collection.close, daemon=True)

    def scan_slowly(self, *arguments, **options):
        monkeypatch.undo()
        closing.start()
        while not collection._closing:
            time.sleep(0.001)
        with collection._lock:  # free only when ``close`` waits
            after_close_began()
        return scan(self, *arguments, **options)

    monkeypatch.setattr(HammingIndex, "search", scan_slowly)
    try:
        return collection.search_codes(codes(2), into="x")
    finally:
        closing.join(timeout=10)
        assert not closing.is_alive()


def test_close_waits_for_a_search_in_another_thread(filled, monkeypatch):
    expected = filled.search_codes(codes(2), into="x")

    def search_again():
        # A stream of new searches must not keep the collection open.
        with pytest.raises(CollectionError, match="was closed"):
            filled.search_codes(codes(2), into="x")

    assert close_during_a_scan(filled, monkeypatch, search_again) == expected
    with pytest.raises(CollectionError, match="was closed"):
        filled.search_codes(codes(2), into="x")


def test_close_does_not_wait_for_a_search_that_failed(filled, monkeypatch):
    def fail():
        raise MemoryError

    with pytest.raises(MemoryError):
        close_during_a_scan(filled, monkeypatch, fail)


def test_a_thread_that_searches_can_close_the_collection(filled, monkeypatch):
    """A signal handler may do so; waiting for its own search would never end."""
    scan = HammingIndex.search

    def close_and_scan(self, *arguments, **options):
        filled.close()
        return scan(self, *arguments, **options)

    monkeypatch.setattr(HammingIndex, "search", close_and_scan)
    with pytest.raises(CollectionError, match="was closed"):
        filled.search_codes(codes(2), into="x")
