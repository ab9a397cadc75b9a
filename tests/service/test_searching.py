"""Searches over HTTP give the answers of the store."""

from __future__ import annotations

import base64
import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import diffhash as dh


@pytest.fixture(scope="module")
def collection(filled):
    with dh.Collection.open(filled) as opened:
        yield opened


def facts(hits):
    """Hits as the service writes them."""
    return [
        {
            "id": hit.id,
            "distance": hit.distance,
            "payload": hit.payload,
            "modality": hit.modality,
            "chance": hit.chance,
            "score": hit.score,
            "found_by": hit.found_by,
        }
        for hit in hits
    ]


def hits_of(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["hits"]


OPTIONS = [
    {"into": "x"},
    {"into": "x", "k": 3, "where": {"half": 1}},
    {"into": "y", "k": 100, "radius": 2},
    {"k": 7},
    {"into": "x", "where": {"n": {"lt": 20}}, "k": 50},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_code_finds_what_the_store_finds(client, collection, code, options):
    packed = np.frombuffer(bytes.fromhex(code(5, "y")), np.uint8)[None]

    hits = hits_of(client.post("/v1/search", json={"code": code(5, "y"), **options}))

    assert hits == facts(collection.search_codes(packed, **options)[0])
    assert hits


@pytest.mark.parametrize(
    "options", [*OPTIONS, {"into": "x", "max_false_matches": 20.0}, {"into": "x", "rank": "hamming"}]
)
def test_a_vector_finds_what_the_store_finds(client, collection, small_data, options):
    query = small_data.test.views["y"][7].astype(float)

    hits = hits_of(client.post("/v1/search", json={"vector": query.tolist(), "modality": "y", **options}))

    assert hits == facts(collection.search(query, modality="y", **options)[0])
    assert hits


def test_the_modality_of_a_vector_is_the_one_that_fits(client, collection, small_data):
    query = small_data.test.views["y"][7].astype(float)

    hits = hits_of(client.post("/v1/search", json={"vector": query.tolist(), "into": "x"}))

    assert hits == facts(collection.search(query, modality="y", into="x")[0])


def test_an_item_and_a_fused_query_find_what_the_store_finds(client, collection, small_data):
    item = client.post("/v1/search", json={"item": 5, "modality": "y", "into": "x", "k": 4})
    assert hits_of(item) == facts(collection.search_item(5, modality="y", into="x", k=4))
    views = {name: rows[9].astype(float) for name, rows in small_data.test.views.items()}

    fused = client.post(
        "/v1/search", json={"vectors": {n: v.tolist() for n, v in views.items()}, "into": "both", "k": 4}
    )

    assert hits_of(fused) == facts(collection.search(views, into="both", k=4)[0])


def test_everything_within_a_radius_is_found_without_k(client, collection, code):
    packed = np.frombuffer(bytes.fromhex(code(5)), np.uint8)[None]

    hits = hits_of(client.post("/v1/search", json={"code": code(5), "into": "x", "k": None, "radius": 4}))

    assert hits == facts(collection.within_codes(packed, into="x", radius=4)[0])
    assert client.post("/v1/search", json={"code": code(5), "k": None}).status_code == 422


def test_nothing_matches_and_the_answer_says_why(client, small_data):
    query = {"vector": small_data.test.views["y"][3].tolist(), "modality": "y", "into": "x"}

    answer = client.post("/v1/search", json={**query, "max_false_matches": 0.5, "where": {"n": 3}})
    assert answer.status_code == 200
    far = client.post("/v1/search", json={**query, "where": {"nnn": 3}}).json()

    assert far["hits"] == []
    assert "No payload has the field 'nnn'" in far["notes"][0]
    none = client.post("/v1/search", json={**query, "max_false_matches": 1e-9})
    assert none.status_code == 422
    assert none.json()["error"]["type"] == "CalibrationError"


def test_only_the_chosen_fields_of_payloads_are_sent(client, code):
    query = {"code": code(5), "into": "x", "k": 2}

    assert [
        set(h["payload"]) for h in hits_of(client.post("/v1/search", json={**query, "fields": ["n"]}))
    ] == [{"n"}] * 2
    assert [h["payload"] for h in hits_of(client.post("/v1/search", json={**query, "fields": []}))] == [
        {}
    ] * 2


def test_batches_as_json_npy_and_arrow_give_the_same(client, collection, small_data):
    queries = small_data.test.views["y"][:9].astype(np.float32)
    found = collection.search(queries, modality="y", into="x", k=3, where={"half": 0}, rank="hamming")
    expected = [facts(hits) for hits in found]
    options = {"modality": "y", "into": "x", "k": 3, "where": json.dumps({"half": 0}), "rank": "hamming"}
    buffer = io.BytesIO()
    np.save(buffer, queries)
    column = pa.FixedSizeListArray.from_arrays(pa.array(queries.ravel()), queries.shape[1])
    table = pa.table({"vector": column})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=4)

    answers = [
        client.post(
            "/v1/search/batch",
            json={"vectors": queries.astype(float).tolist(), **options, "where": {"half": 0}},
        ),
        client.post(
            "/v1/search/batch",
            content=buffer.getvalue(),
            headers={"content-type": "application/x-npy"},
            params=options,
        ),
        client.post(
            "/v1/search/batch",
            content=sink.getvalue().to_pybytes(),
            headers={"content-type": "application/vnd.apache.arrow.stream"},
            params=options,
        ),
    ]

    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert answer.json()["results"] == expected


def test_batches_of_codes_can_be_answered_with_arrays(client, collection, code):
    codes = [code(i) for i in range(20)]
    packed = np.frombuffer(bytes.fromhex("".join(codes)), np.uint8).reshape(20, -1)

    answer = client.post(
        "/v1/search/batch", json={"codes": codes, "into": "y", "k": 5, "arrays": True}
    ).json()

    ids, distances = collection.search_arrays(packed, into="y", k=5)
    assert (answer["ids"], answer["distances"]) == (ids.tolist(), distances.tolist())
    full = client.post("/v1/search/batch", json={"codes": codes, "into": "y", "k": 5}).json()["results"]
    assert [[hit["id"] for hit in hits] for hits in full] == ids.tolist()
    empty = client.post("/v1/search/batch", json={"codes": [], "into": "y"})
    assert empty.json() == {"results": []}


def test_batches_of_fused_queries(client, collection, small_data):
    views = {name: rows[:4].astype(float) for name, rows in small_data.test.views.items()}

    answer = client.post(
        "/v1/search/batch", json={"views": {n: v.tolist() for n, v in views.items()}, "into": "both", "k": 2}
    )

    assert answer.json()["results"] == [facts(hits) for hits in collection.search(views, into="both", k=2)]


def test_concurrent_queries_share_passes_and_each_gets_its_own_answer(server, collection, code):
    """Queries with other options, and wrong ones, are among them."""
    before = _passes(server)

    def ask(number):
        with server.client() as client:
            found = []
            for i in range(number, 200, 8):
                query = {"code": code_of[i], "into": "x" if i % 3 else "y", "k": 1 + i % 2}
                if i % 20 == 7:
                    query["modality"] = "unknown"
                found.append((i, client.post("/v1/search", json=query)))
            return found

    code_of = {i: code(i, "y") for i in range(200)}
    with ThreadPoolExecutor(8) as pool:
        answers = [pair for part in pool.map(ask, range(8)) for pair in part]

    for i, answer in answers:
        if i % 20 == 7:
            assert answer.status_code == 422
            continue
        packed = np.frombuffer(bytes.fromhex(code_of[i]), np.uint8)[None]
        expected = collection.search_codes(packed, into="x" if i % 3 else "y", k=1 + i % 2)[0]
        assert hits_of(answer) == facts(expected)
    passes, queries = (b - a for a, b in zip(before, _passes(server), strict=True))
    assert queries >= 190
    assert passes <= queries


def _passes(server):
    with server.client() as client:
        text = client.get("/metrics").text
    return [
        float(next(line for line in text.splitlines() if line.startswith(name)).split()[1])
        for name in ("diffhash_queries_per_pass_count", "diffhash_queries_per_pass_sum")
    ]


def test_words_find_pictures_and_unknown_ones_are_named(picture_client):
    hits = hits_of(picture_client.post("/v1/search", json={"text": "a red disc", "into": "image", "k": 5}))
    assert all("red disc" in hit["payload"]["caption"] for hit in hits)
    assert {hit["found_by"] for hit in hits} <= {"words", "both"}

    nothing = picture_client.post("/v1/search", json={"text": "zebra", "into": "image"}).json()

    assert nothing["hits"] == []
    assert "zebra" in nothing["reason"]
    common = picture_client.post("/v1/search", json={"text": "a zebra", "into": "image"}).json()
    assert (common["hits"], "'a' is in most captions" in common["reason"]) == ([], True)
    two = picture_client.post(
        "/v1/search/batch", json={"texts": ["red disc", "blue square"], "into": "image", "k": 1}
    )
    assert ["red" in two.json()["results"][0][0]["payload"]["caption"], len(two.json()["results"])] == [
        True,
        2,
    ]


def test_a_picture_is_found_by_its_file_and_in_base64(picture_client, pictures):
    name = "discs/03.png"
    data = (pictures.folder / name).read_bytes()
    raw = picture_client.post(
        "/v1/search", content=data, headers={"content-type": "image/png"}, params={"into": "image", "k": 1}
    )

    assert [(hit["id"], hit["distance"]) for hit in hits_of(raw)] == [(name, 0)]
    text = base64.b64encode(data).decode()
    assert hits_of(
        picture_client.post("/v1/search", json={"picture": text, "into": "image", "k": 1})
    ) == hits_of(raw)


def test_words_and_a_picture_are_one_query(picture_client, pictures):
    picture = (pictures.folder / "discs/03.png").read_bytes()
    query = {"text": "red disc", "picture": base64.b64encode(picture).decode(), "into": "image", "k": 5}

    hits = hits_of(picture_client.post("/v1/search", json=query))

    with dh.Collection.open(pictures.path) as collection:
        raw = {"text": ["red disc"], "image": [pictures.folder / "discs/03.png"]}
        assert hits == facts(collection.search_raw(raw, into="image", k=5)[0])
    assert all("disc" in hit["payload"]["caption"] for hit in hits)
    twice = picture_client.post("/v1/search", json={**query, "vectors": {"image": [1.0]}})
    assert "twice" in twice.json()["error"]["message"]


def test_a_text_is_never_the_name_of_a_file(picture_client, pictures):
    """The featurizer of pictures would open it."""
    path = str(pictures.folder / "discs/03.png")
    for query in ({"text": path, "modality": "image"}, {"picture": path}):
        answer = picture_client.post("/v1/search", json=query)
        assert answer.status_code == 422
    batch = picture_client.post("/v1/search/batch", json={"texts": [path], "modality": "image"})
    assert batch.status_code == 422
    assert "does not take texts" in batch.json()["error"]["message"]
