"""``dh.open("http://…")``: what is special about a store behind a service. The contract suite runs on it, too."""

from __future__ import annotations

import http.server
import threading

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    AddressError,
    InputError,
    ParameterError,
    ReadOnlyCollectionError,
    StoreAccessError,
    StoreServerError,
    StoreUnavailableError,
    UnsupportedCallError,
)
from diffhash.stores import Store

from .process import Server

READ, WRITE = "reader-token-0123456789", "writer-token-0123456789"


@pytest.fixture(scope="module")
def remote(server):
    with dh.open(server.url) as store:
        yield store


def test_code_moves_from_a_file_to_a_server_by_its_address(server, filled, small_data):
    query = small_data.test.views["y"][:30]
    with dh.open(filled) as here, dh.open(server.url) as there:
        assert isinstance(there, Store)
        assert (len(there), there.n_bits, there.modalities) == (len(here), here.n_bits, here.modalities)
        for options in ({"into": "x"}, {"into": "x", "rank": "asymmetric"}, {"k": 3, "where": {"half": 1}}):
            found, expected = (s.search(query, modality="y", **options) for s in (there, here))
            assert found == expected
            assert [[h.chance for h in row] for row in found] == [[h.chance for h in row] for row in expected]
        arrays = [
            s.search_arrays(here.get(range(9))[0].codes["x"][None], into="y", k=4) for s in (there, here)
        ]
        assert all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))
        assert [item.payload for block in there.iterate(batch=70) for item in block] == [
            item.payload for block in here.iterate(batch=70) for item in block
        ]
        assert there.verify().ok


def test_more_queries_than_a_request_may_have_are_sent_in_blocks(filled, small_data):
    with Server(filled, "--max-batch", "7") as server, dh.open(server.url) as there, dh.open(filled) as here:
        query = small_data.test.views["y"][:40]
        assert there.search(query, modality="y", into="x") == here.search(query, modality="y", into="x")
        many = {"n": {"in": list(range(2000))}}
        assert there.search(query[:9], modality="y", into="x", where=many, rank="hamming") == here.search(
            query[:9].astype(float), modality="y", into="x", where=many, rank="hamming"
        )


def test_texts_and_pictures_are_queries(pictures, picture_client):
    with dh.open(str(picture_client.base_url)) as there, dh.open(pictures.path) as here:
        for words in (None, False):
            found, expected = (
                s.search_raw(["a red disc", "zebra"], modality="text", into="image", words=words)
                for s in (there, here)
            )
            assert found == expected
        picture = [pictures.folder / "discs/03.png"]
        assert there.search_raw(picture, modality="image", into="image", k=3) == here.search_raw(
            picture, modality="image", into="image", k=3
        )


def test_words_of_fused_queries_are_matched_by_the_service(pictures, picture_client):
    """Also those that the model does not know, and beside features in place of a picture."""
    files = [pictures.folder / f"discs/{n}.png" for n in ("03", "04", "05")]
    query = {"image": files, "text": ["red disc", "zebra", "blue square"]}
    with dh.open(str(picture_client.base_url)) as there, dh.open(pictures.path) as here:
        for words in (None, False):
            found, expected = (s.search_raw(query, into="image", k=9, words=words) for s in (there, here))
            assert found == expected
            assert [[h.found_by for h in row] for row in found] == [
                [h.found_by for h in row] for row in expected
            ]
        assert "both" in {hit.found_by for hit in there.search_raw(query, into="image", k=9)[0]}
        with pytest.raises(InputError, match="one query"):
            there.search_raw({**query, "text": ["red disc"]}, into="image")
        vector = here.model.featurize(files[:1], modality="image")[0].tolist()
        both = picture_client.post(
            "/v1/search", json={"text": "red disc", "vectors": {"image": vector}, "k": 9}
        )
        (expected_hits,) = here.search_raw({"image": files[:1], "text": ["red disc"]}, k=9)
        assert [(h["id"], h["found_by"]) for h in both.json()["hits"]] == [
            (h.id, h.found_by) for h in expected_hits
        ]
    for body, words in (
        ({"views": {"text": [[1.0]]}, "texts": ["red"]}, "twice"),
        ({"views": {"image": [[1.0], [1.0, 2.0]]}, "texts": ["red", "blue"]}, "same length"),
        ({"vectors": [[1.0]], "texts": ["red"]}, "Give one of"),
    ):
        answer = picture_client.post("/v1/search/batch", json=body)
        assert answer.status_code == 422
        assert words in answer.json()["error"]["message"]


def test_tokens_stand_in_the_address_or_in_the_environment(copied, monkeypatch):
    tokens = {"DIFFHASH_TOKEN": READ, "DIFFHASH_WRITE_TOKEN": WRITE}
    with Server(copied, "--writable", environment=tokens) as server:
        place = server.url.removeprefix("http://")
        with pytest.raises(StoreAccessError, match="valid token"):
            dh.open(server.url)
        for address in (f"http://{place}?token={READ}", f"http://:{READ}@{place}"):
            with dh.open(address) as store:
                assert len(store) == 200
                assert READ not in repr(store)
                assert READ not in store.address
        with (
            dh.open(f"{server.url}?token={READ}", writable=True) as store,
            pytest.raises(StoreAccessError, match="reading only"),
        ):
            store.delete([1])
        monkeypatch.setenv("DIFFHASH_TOKEN", READ)
        monkeypatch.setenv("DIFFHASH_WRITE_TOKEN", WRITE)
        with dh.open(server.url, writable=True) as store:
            assert store.delete([1]) == 1


def test_a_service_that_reads_cannot_be_opened_for_writing(server, remote):
    with pytest.raises(ReadOnlyCollectionError, match="--writable"):
        dh.open(server.url, writable=True)
    with pytest.raises(ReadOnlyCollectionError, match="opened for reading"):
        remote.delete([1])


def test_calls_that_a_service_does_not_offer_say_so(remote, server):
    with pytest.raises(UnsupportedCallError, match="near-duplicates"):
        remote.duplicates(1, modality="x")
    with pytest.raises(ParameterError, match="diffhash serve"):
        dh.create(server.url, n_bits=8, modalities=("x",))
    with pytest.raises(AddressError, match="no parameter 'port'"):
        dh.open(f"{server.url}?port=1")


def test_reads_are_repeated_until_the_service_is_back(copied):
    server = Server(copied, "--writable").start()
    port = server.port
    with dh.open(server.url, writable=True) as store:
        assert len(store) == 200
        server.kill()
        with pytest.raises(StoreUnavailableError, match="does not answer"):
            len(store)
        with pytest.raises(StoreUnavailableError, match="does not answer"):
            store.delete([1])
        back = Server(copied, "--writable", "--port", str(port))
        starting = threading.Timer(0.3, back.start)
        starting.start()
        try:
            for _ in range(50):
                try:
                    assert len(store) == 200
                    break
                except StoreUnavailableError:
                    continue
            assert store.delete([1]) == 1
        finally:
            starting.join()
            back.stop()


class _Flaky(http.server.BaseHTTPRequestHandler):
    """Answers as it is told, and counts requests."""

    answers: list[tuple[int, bytes]]
    seen: list[str]

    def _answer(self):
        self.seen.append(f"{self.command} {self.path.partition('?')[0]}")
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, body = self.answers.pop(0)
        if not status:
            self.connection.close()
            return
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - names of the base class

    def log_message(self, *_):
        pass


@pytest.fixture
def flaky(client):
    handler = type("Handler", (_Flaky,), {"answers": [], "seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    handler.url = f"http://127.0.0.1:{server.server_port}"
    described = client.get("/v1/collection").content.replace(b'"writable":false', b'"writable":true')
    handler.described = (200, described)
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


BUSY = (429, b'{"error":{"type":"BusyError","message":"Too many."}}')
LATE = (503, b'{"error":{"type":"LateError","message":"Too slow."}}')
LOST = (0, b"")
COUNT = (200, b'{"objects":7,"id_kind":"int"}')
DELETED = (200, b'{"deleted":1}')


@pytest.mark.parametrize("trouble", [BUSY, LATE, LOST])
def test_a_read_is_repeated(flaky, trouble):
    flaky.answers += [flaky.described, trouble, trouble, COUNT]
    with dh.open(flaky.url) as store:
        assert len(store) == 7
    assert flaky.seen[1:] == ["GET /v1/count"] * 3


def test_a_write_is_repeated_only_if_it_has_not_begun(flaky):
    flaky.answers += [flaky.described, BUSY, DELETED]
    with dh.open(flaky.url, writable=True) as store:
        assert store.delete([1]) == 1
        for trouble, words in ((LATE, "took too long.*not known"), (LOST, "not known")):
            before = len(flaky.seen)
            flaky.answers.append(trouble)
            with pytest.raises(StoreUnavailableError, match=words):
                store.delete([1])
            assert len(flaky.seen) == before + 1


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[]", b'{"n_bits": "many"}'])
def test_something_else_than_a_service_is_refused(flaky, body):
    flaky.answers += [(200, body)]
    with pytest.raises(StoreServerError, match="service of diffhash"):
        dh.open(flaky.url)


def test_nobody_there():
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        dh.open("http://127.0.0.1:1", timeout=1.0)


def test_codes_of_an_old_model_are_encoded_again(copied, learned, small_data):
    half = {name: rows[:200] for name, rows in small_data.train.views.items()}
    other = dh.DiffHash(n_bits=16).fit(half, dh.Pairs.aligned(200))
    with Server(copied, "--writable") as server, dh.open(server.url, writable=True) as store:
        x = small_data.test.views["x"][:2]
        store.add(x, modality="x", ids=[900, 901])
        replacement = copied.with_name("new.dh")
        with dh.Collection.create(replacement, other) as made:
            made.add_codes(np.zeros((1, 2), np.uint8), modality="x", ids=[1])
        replacement.replace(copied)

        store.add(x, modality="x", ids=[902, 903])

        codes = [item.codes["x"].tolist() for item in store.get([902, 903])]
    assert codes == other.encode(x, modality="x").tolist()
    assert codes != learned.encode(x, modality="x").tolist()
