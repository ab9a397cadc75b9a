"""Objects, counts, fields, the calibration and the state of a service."""

from __future__ import annotations

import io
import json

import numpy as np
import PIL.Image
import pytest

import diffhash as dh
from diffhash.service.answers import json_bytes
from diffhash.stores import Hit


def test_objects_by_id(client, code):
    one = client.get("/v1/items/7").json()
    assert one["payload"] == {"n": 7, "half": 1, "name": "object 7"}
    assert one["codes"]["x"] == code(7)

    many = client.post("/v1/get", json={"ids": [9, 7], "modality": "y"}).json()["items"]

    assert [(item["id"], list(item["codes"])) for item in many] == [(9, ["y"]), (7, ["y"])]
    unknown = client.get("/v1/items/999")
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "UnknownIdError")
    assert client.post("/v1/get", json={"ids": [7, 999]}).status_code == 404
    some = client.post("/v1/get", json={"ids": [7, 999, 8], "missing": "skip"}).json()["items"]
    assert [item["id"] for item in some] == [7, 8]
    assert client.get("/v1/ids").json()["ids"] == list(range(200))
    assert client.get("/v1/ids", params={"modality": "z"}).status_code == 422


def test_ids_with_slashes_and_thumbnails(picture_client, pictures):
    item = picture_client.get("/v1/items/discs/03.png").json()
    assert item["id"] == "discs/03.png"
    assert item["payload"]["shape"] == "disc"

    answer = picture_client.get("/v1/thumbnails/discs%2F03.png")

    assert answer.headers["content-type"] in ("image/jpeg", "image/png")
    with PIL.Image.open(io.BytesIO(answer.content)) as picture:
        assert picture.size == (40, 40)
    assert picture_client.get("/v1/thumbnails/discs/99.png").status_code == 404


def test_an_object_without_a_thumbnail_has_none(client):
    assert client.get("/v1/thumbnails/7").status_code == 404


def test_the_collection_describes_itself_and_not_the_machine(client, filled):
    answer = client.get("/v1/collection")
    told = answer.json()

    assert (told["n_objects"], told["n_bits"], told["modalities"]) == (200, 16, ["x", "y", "both"])
    assert told["model"]["calibrated"] is True
    assert told["writable"] is False
    assert told["limits"]["k"] == 1000
    assert str(filled.parent) not in answer.text


def test_fields_and_their_values(client):
    told = client.get("/v1/fields").json()

    assert told["sampled"] == told["objects"] == 200
    fields = {field["name"]: field for field in told["fields"]}
    assert fields["half"]["kinds"] == {"number": 200}
    assert (fields["n"]["smallest"], fields["n"]["largest"]) == (0, 199)
    assert fields["name"]["values"][0]["count"] == 1


def test_evaluation_comes_from_the_calibration(client, filled):
    told = client.get("/v1/evaluation").json()

    assert told["calibrated"] is True
    with dh.Collection.open(filled) as collection:
        couple = collection.model.calibration.couple("y", "x")
        limit = collection.match_limit(10.0, modality="y", into="x")
    (direction,) = [d for d in told["directions"] if (d["modality"], d["into"]) == ("y", "x")]
    assert direction["similar_pairs"] == couple.n_similar
    assert direction["items"] == 200
    chances = direction["chance_by_distance"]
    assert chances == sorted(chances, reverse=True)
    assert [p["radius"] for p in direction["promises"] if p["max_false_matches"] == 10.0] == [limit.radius]
    asked = client.post("/v1/limit", json={"max_false_matches": 10.0, "modality": "y", "into": "x"}).json()
    assert asked == {"radius": limit.radius, "false_matches": limit.false_matches}


def test_the_model_can_be_fetched(client, filled, small_data):
    model = dh.HashModel.from_bytes(client.get("/v1/model").content)

    with dh.Collection.open(filled) as collection:
        codes = collection.model.encode(small_data.test.views["x"], modality="x")
    assert np.array_equal(model.encode(small_data.test.views["x"], modality="x"), codes)


def test_numbers_of_more_than_64_bits_are_written():
    """Lists in payloads may have them."""
    hit = Hit("a", 3, {"many": [2**70, "é"]}, "x")

    assert json.loads(json_bytes({"hits": [hit]})) == {"hits": [vars(hit)]}


def test_health_readiness_and_counts(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    client.get("/v1/items/7")

    text = client.get("/metrics").text

    assert 'diffhash_requests_total{route="/v1/items/{id:path}",status="200"}' in text
    assert "process_resident_memory_bytes" in text
    assert "diffhash_queries_per_pass_count" in text


@pytest.mark.parametrize(
    "path",
    [
        "/page/..%2fgate.py",
        "/page/nothing.js",
        "/v1/nothing",
        "/docs",
        "/v1/search/",
        "/v1",
        "/..%2f..%2fetc/passwd",
    ],
)
def test_other_paths_do_not_exist(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["type"] == "RequestError"


def test_every_answer_has_strict_headers(client):
    for answer in (
        client.get("/healthz"),
        client.get("/nothing"),
        client.post("/v1/search", json={}),
        client.post("/v1/search", json={"item": 7, "modality": "x", "into": "x"}),
        client.put("/v1/search"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
        assert answer.headers["content-type"] == "application/json"
