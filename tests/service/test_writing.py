"""Adding, replacing and deleting over HTTP."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest

import diffhash as dh

from .process import Server


@pytest.fixture(scope="module")
def writer(tmp_path_factory, learned):
    path = tmp_path_factory.mktemp("written") / "objects.dh"
    dh.Collection.create(path, learned).close()
    with Server(path, "--writable") as server, server.client() as client:
        client.path = path
        yield client


def test_objects_are_added_replaced_and_deleted(writer, small_data):
    x = small_data.test.views["x"][:3].astype(float)

    added = writer.post(
        "/v1/items",
        json={"modality": "x", "vectors": x.tolist(), "ids": [1, 2, 3], "payloads": [{"n": 1}, None, {}]},
    )
    assert added.json() == {"ids": [1, 2, 3]}
    again = writer.post("/v1/items", json={"modality": "x", "vectors": x.tolist(), "ids": [4, 2, 5]})
    assert again.status_code == 422
    assert "id 2 exists already" in again.json()["error"]["message"]
    assert writer.get("/v1/items/4").status_code == 404
    replaced = writer.put(
        "/v1/items", json={"modality": "x", "codes": ["ffff"], "ids": [2], "payloads": [{"m": 2}]}
    )
    assert replaced.json() == {"ids": [2]}

    assert writer.get("/v1/items/2").json() == {"id": 2, "codes": {"x": "ffff"}, "payload": {"m": 2}}
    with dh.Collection.open(writer.path) as collection:
        assert len(collection) == 3
    assert writer.post("/v1/delete", json={"ids": [1, 3, 99]}).json() == {"deleted": 2}
    assert writer.delete("/v1/items/2").json() == {"deleted": 1}
    assert writer.delete("/v1/items/2").status_code == 404


def test_known_objects_are_left_out(writer):
    writer.post("/v1/items", json={"modality": "y", "codes": ["0000"], "ids": [50]})

    answer = writer.post(
        "/v1/items", json={"modality": "y", "codes": ["0100", "ff0f"], "ids": [51, 52], "unless_within": 1}
    )

    assert answer.json() == {"ids": [50, 52], "added": [False, True]}


def test_arrays_of_vectors_are_added(writer, small_data, learned):
    x = small_data.test.views["x"][:5]
    buffer = io.BytesIO()
    np.save(buffer, x)
    npy = writer.post(
        "/v1/items",
        content=buffer.getvalue(),
        headers={"content-type": "application/x-npy"},
        params={"modality": "x"},
    )
    column = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])
    table = pa.table(
        {"vector": column, "id": range(900, 905), "payload": [json.dumps({"n": i}) for i in range(5)]}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)

    arrow = writer.put(
        "/v1/items",
        content=sink.getvalue().to_pybytes(),
        headers={"content-type": "application/vnd.apache.arrow.stream"},
        params={"modality": "x"},
    )

    assert arrow.json() == {"ids": list(range(900, 905))}
    expected = [code.tobytes().hex() for code in learned.encode(x, modality="x")]
    for ids in (npy.json()["ids"], range(900, 905)):
        items = writer.post("/v1/get", json={"ids": list(ids)}).json()["items"]
        assert [item["codes"]["x"] for item in items] == expected
    assert items[4]["payload"] == {"n": 4}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"modality": "x"}, "Give one of"),
        ({"modality": "x", "codes": ["00"]}, "hexadecimal digits"),
        ({"codes": ["0000"]}, "Say the modality"),
        ({"modality": "x", "codes": ["0000"], "vectors": [[1.0]]}, "Give one of"),
        ({"modality": "z", "codes": ["0000"]}, "unknown modality"),
        ({"modality": "x", "vectors": [[1.0, 2.0]]}, "features"),
        ({"modality": "x", "codes": ["0000"], "ids": ["a"]}, "whole numbers"),
        ({"modality": "x", "codes": ["0000"], "payloads": [{"a": 2**70}]}, "64 bits"),
        ({"modality": "x", "codes": ["0000"], "payloads": []}, "need 1 payload"),
        ({"modality": "x", "texts": ["/etc/passwd"]}, "does not take texts"),
        ({"modality": "x", "codes": ["0000"], "more": 1}, "more"),
    ],
)
def test_bad_objects_are_refused_and_nothing_is_stored(writer, request_, words):
    writer.put("/v1/items", json={"modality": "x", "codes": ["0000"], "ids": [7]})
    before = writer.get("/v1/collection").json()["n_objects"]

    answer = writer.post(
        "/v1/items", content=json.dumps(request_), headers={"content-type": "application/json"}
    )

    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]
    assert writer.get("/v1/collection").json()["n_objects"] == before


def test_numbers_of_more_than_64_bits_inside_lists_come_back(writer):
    """Collections may have them there, also those of earlier releases."""
    body = {"modality": "x", "codes": ["0f0f"], "ids": [88], "payloads": [{"a": [0, [2**70]]}]}

    answer = writer.put("/v1/items", content=json.dumps(body), headers={"content-type": "application/json"})

    assert answer.status_code == 200
    assert writer.get("/v1/items/88").json()["payload"] == {"a": [0, [2**70]]}
    found = writer.post("/v1/search", json={"code": "0f0f", "into": "x", "k": 1}).json()["hits"]
    assert found[0]["payload"] == {"a": [0, [2**70]]}
    with dh.Collection.open(writer.path) as collection:
        assert collection.verify().ok


def test_codes_of_another_model_are_refused(writer):
    tag = writer.get("/v1/collection").json()["model_sha256"]
    body = {"modality": "x", "codes": ["0000"], "ids": [70]}
    assert writer.post("/v1/items", json={**body, "model_sha256": "0" * 64}).status_code == 409
    assert writer.post("/v1/items", json={**body, "model_sha256": tag}).status_code == 200


def test_a_service_that_reads_refuses_to_write(client):
    for answer in (
        client.post("/v1/items", json={"modality": "x", "codes": ["0000"]}),
        client.put("/v1/items", json={}),
        client.post("/v1/delete", json={"ids": [1]}),
        client.delete("/v1/items/1"),
    ):
        assert answer.status_code == 403
        assert "--writable" in answer.json()["error"]["message"]
    assert client.get("/v1/items/1").status_code == 200


def test_methods_that_a_path_does_not_have_are_not_writes(client):
    for method, path in (("TRACE", "/v1/items/7"), ("PATCH", "/v1/items"), ("GET", "/v1/delete")):
        assert client.request(method, path).status_code == 405
