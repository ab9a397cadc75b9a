"""Threads search in parallel, and every answer comes from one version of the content."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import UnknownIdError
from diffhash.search import HammingIndex
from diffhash.stores.sqlite import scan
from diffhash.stores.sqlite.string_ids import StringIds

from .helpers import codes

SEARCHES = {
    "search": lambda c, views: c.search(views["y"][:2], modality="y", into="x", where={"even": True}),
    "search_codes": lambda c, views: c.search_codes(codes(2), into="x"),
    "search_item": lambda c, views: c.search_item(7, modality="x", into="y"),
    "search_arrays": lambda c, views: c.search_arrays(codes(2), into="x", where={"even": True}),
}


@pytest.fixture(autouse=True)
def no_scan_is_small():
    """These small collections are searched as large ones are: without the lock."""
    # Not the fixture ``monkeypatch``, which tests undo during a search.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_SMALL_SCAN", -1)
        yield patch


def in_thread(act, *arguments):
    """Run a function in another thread and wait for it; an error if it has to wait for a lock."""
    thread = threading.Thread(target=act, args=arguments, daemon=True)
    thread.start()
    thread.join(timeout=10)
    assert not thread.is_alive()


@pytest.mark.parametrize("search", SEARCHES)
def test_two_threads_scan_at_the_same_time(filled, views, monkeypatch, search):
    """Each scan waits until the other one has begun: with a lock around the scan, neither could go on."""
    expected = SEARCHES[search](filled, views)
    both = threading.Barrier(2)
    scan = HammingIndex.search

    def scan_together(self, *arguments, **options):
        both.wait(timeout=10)
        return scan(self, *arguments, **options)

    monkeypatch.setattr(HammingIndex, "search", scan_together)
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(SEARCHES[search], filled, views) for _ in range(2)]
        for answer in answers:
            for found, wanted in zip(answer.result(30), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_a_writer_does_not_wait_for_a_scan(filled, monkeypatch):
    scan = HammingIndex.search

    def write_during_the_scan(self, *arguments, **options):
        monkeypatch.undo()
        in_thread(filled.delete, [5])
        return scan(self, *arguments, **options)

    monkeypatch.setattr(HammingIndex, "search", write_during_the_scan)
    ids, _ = filled.search_arrays(codes(1), into="x", k=60)
    assert ids.shape == (1, 60 if 5 in ids else 59)
    assert 5 not in filled


CHANGES = {
    "deleted": lambda c: c.delete([int(i) for i in range(30)]),
    "replaced": lambda c: c.upsert_codes(codes(30), modality="x", ids=range(30), payloads=[{"n": -1}] * 30),
    "payload only": lambda c: c.upsert_codes(
        codes(30), modality="y", ids=range(30), payloads=[{"n": -1}] * 30
    ),
    "added": lambda c: c.add_codes(np.zeros((3, 2), np.uint8), modality="x", payloads=[{"n": 0}] * 3),
    "compacted": lambda c: (c.delete([1]), c.compact()),
}


@pytest.mark.parametrize("where", [None, {"n": {"ge": 0}}])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("writer", ["thread", "process"])
def test_content_that_changes_during_a_scan_is_searched_again(
    path, filled, monkeypatch, change, where, writer
):
    """Ids, distances and payloads of an answer come from the same version."""
    # Another process is simulated by a second connection, which can only read.
    searching = filled if writer == "thread" else dh.Collection.open(path)
    scan, scans = HammingIndex.search, []

    def change_after_the_scan(self, *arguments, **options):
        found = scan(self, *arguments, **options)
        scans.append(len(self))
        if len(scans) == 1:
            in_thread(CHANGES[change], filled)
        return found

    monkeypatch.setattr(HammingIndex, "search", change_after_the_scan)
    hits = searching.search_codes(np.zeros((1, 2), np.uint8), into="x", k=100, where=where)
    monkeypatch.undo()

    assert len(scans) == 2
    assert hits == searching.search_codes(np.zeros((1, 2), np.uint8), into="x", k=100, where=where)
    if searching is not filled:
        searching.close()


def test_a_search_that_is_always_overtaken_makes_the_writer_wait(filled, monkeypatch):
    """After two scans whose content changed, the third scan holds the lock."""
    scan, scans, writers = HammingIndex.search, [], []

    def write_during_every_scan(self, *arguments, **options):
        found = scan(self, *arguments, **options)
        scans.append(len(self))
        writers.append(threading.Thread(target=filled.delete, args=([len(scans)],)))
        writers[-1].start()
        writers[-1].join(timeout=30 if len(scans) < 3 else 0.2)
        return found

    monkeypatch.setattr(HammingIndex, "search", write_during_every_scan)
    (hits,) = filled.search_codes(codes(1), into="x", k=100)
    for writer in writers:
        writer.join()

    assert scans == [60, 59, 58]
    assert {hit.id for hit in hits} == set(range(60)) - {1, 2}
    assert all(hit.payload["n"] == hit.id for hit in hits)
    assert 3 not in filled


@pytest.mark.parametrize("search", ["search", "search_item"])
def test_a_model_that_is_replaced_during_a_scan(collection, views, monkeypatch, search):
    """The query is encoded again with the new model: codes of two models are never compared."""
    other = dh.DiffHash(n_bits=17).fit(
        {m: v[::-1] * np.linspace(1, 5, v.shape[1]) for m, v in views.items()}, dh.Pairs.aligned(60)
    )
    collection.add(views["x"], modality="x")
    scan = HammingIndex.search

    def refit_after_the_scan(self, *arguments, **options):
        monkeypatch.undo()
        found = scan(self, *arguments, **options)
        in_thread(collection.refit, other, {"x": (range(60), views["x"])})
        return found

    def act():
        if search == "search":
            return collection.search(views["x"][:5], modality="x", into="x", k=9)
        return collection.search_item(3, modality="x", into="x", k=9)

    monkeypatch.setattr(HammingIndex, "search", refit_after_the_scan)
    hits = act()
    assert collection.n_bits == 17
    assert hits == act()


def test_a_stored_query_that_is_deleted_meanwhile(filled, monkeypatch):
    get = dh.Collection.get

    def get_and_delete(self, *arguments, **options):
        monkeypatch.undo()
        items = get(self, *arguments, **options)
        thread = threading.Thread(target=filled.delete, args=([7],))
        thread.start()
        deleting.append(thread)
        return items

    deleting: list[threading.Thread] = []
    monkeypatch.setattr(dh.Collection, "get", get_and_delete)
    hits = filled.search_item(7, modality="x", into="x", k=100)
    deleting[0].join()
    assert len(hits) == 59
    assert 7 not in {hit.id for hit in hits}
    with pytest.raises(UnknownIdError):
        filled.search_item(7, modality="x", into="x")


def test_a_stored_query_that_is_replaced_during_its_scan(filled, monkeypatch):
    """The code of the query and the hits come from the same version."""
    new = np.array([[255, 255]], np.uint8)
    scan = HammingIndex.search

    def replace_after_the_scan(self, *arguments, **options):
        monkeypatch.undo()
        found = scan(self, *arguments, **options)
        in_thread(lambda: filled.upsert_codes(new, modality="x", ids=[7]))
        return found

    monkeypatch.setattr(HammingIndex, "search", replace_after_the_scan)
    hits = filled.search_item(7, modality="x", into="x", k=100)
    assert [hit.distance for hit in hits] == [
        hit.distance for hit in filled.search_codes(new, into="x", k=100)[0] if hit.id != 7
    ]


def test_a_scan_finds_no_code_whose_string_id_is_not_known_yet(path, collection, monkeypatch):
    """A thread scans while another one reads what a writer has added: string ids are read before codes."""
    same = np.zeros((4, 2), np.uint8)
    collection.add_codes(same[:1], modality="x", ids=["old"])
    scan, append = HammingIndex.search, StringIds.append
    reached, go_on = threading.Event(), threading.Event()

    def append_slowly(self, *arguments):
        reached.set()
        assert go_on.wait(30)
        append(self, *arguments)

    with dh.Collection.open(path) as reader:
        refreshing = threading.Thread(target=reader.__len__, daemon=True)

        def scan_during_the_refresh(self, *arguments, **options):
            monkeypatch.undo()
            collection.add_codes(same, modality="x", ids=["a", "b", "c", "d"])
            monkeypatch.setattr(StringIds, "append", append_slowly)
            refreshing.start()
            assert reached.wait(30)
            return scan(self, *arguments, **options)

        monkeypatch.setattr(HammingIndex, "search", scan_during_the_refresh)
        ids, _ = reader.search_arrays(same[:1], into="x", k=10)
        go_on.set()
        refreshing.join()
        assert ids.tolist() == [["old"]]
        assert reader.search_arrays(same[:1], into="x", k=10)[0].tolist() == [["old", "a", "b", "c", "d"]]


def payload_of(name, version, code):
    """A payload from which one can tell to which id and code it belongs."""
    return {"id": name, "version": version, "code": code.tolist(), "even": version % 2 == 0}


def write_at_random(collection, name_of, stop):
    """Add, replace, remove and compact until ``stop``."""
    rng = np.random.default_rng(0)
    version = 0
    while not stop.is_set():
        version += 1
        numbers = rng.choice(40, size=8, replace=False)
        ids = [name_of(int(number)) for number in numbers]
        new = rng.integers(0, 256, (8, 2), dtype=np.uint8)
        if version % 4 == 3:
            collection.delete(ids)
        elif version % 25 == 24:
            collection.compact()
        else:
            payloads = [payload_of(i, version, code) for i, code in zip(ids, new, strict=True)]
            collection.upsert_codes(new, modality="x", ids=ids, payloads=payloads)


@pytest.mark.parametrize(
    ("where", "small"),
    [(None, False), ({"even": True}, False), ({"even": True}, True)],
    ids=["all", "filter", "small"],
)
@pytest.mark.parametrize("name_of", [int, "object {}".format], ids=["numbers", "strings"])
def test_every_hit_has_the_payload_of_its_own_id_and_code(
    path, collection, name_of, where, small, no_scan_is_small
):
    """A writer changes everything all the time; three threads search, one of them through a connection of its own."""
    if small:
        no_scan_is_small.undo()
    collection.add_codes(
        codes(1), modality="x", ids=[name_of(0)], payloads=[payload_of(name_of(0), 0, codes(1)[0])]
    )
    reader = dh.Collection.open(path)
    stop = threading.Event()

    def search(searching):
        rng = np.random.default_rng(1)
        seen = 0
        while not stop.is_set():
            query = rng.integers(0, 256, (2, 2), dtype=np.uint8)
            for code, hits in zip(
                query, searching.search_codes(query, into="x", k=50, where=where), strict=True
            ):
                distances = [hit.distance for hit in hits]
                assert distances == sorted(distances)
                assert len({hit.id for hit in hits}) == len(hits) <= 40
                for hit in hits:
                    stored = np.array(hit.payload["code"], dtype=np.uint8)
                    assert hit.payload["id"] == hit.id
                    assert hit.distance == np.bitwise_count(code ^ stored).sum()
                    assert where is None or hit.payload["even"]
                seen += len(hits)
        return seen

    with ThreadPoolExecutor(4) as pool:
        searches = [pool.submit(search, searching) for searching in (collection, collection, reader)]
        writing = pool.submit(write_at_random, collection, name_of, stop)
        stop.wait(1.5)
        stop.set()
        writing.result(60)
        assert all(done.result(60) > 0 for done in searches)
    reader.close()
    assert collection.verify().problems == ()
