"""The searches of the page, as programs see them."""

from __future__ import annotations

import pytest

HTML = {"accept": "text/html,application/xhtml+xml"}


def test_the_same_address_is_a_page_for_people_and_json_for_programs(client):
    page = client.get("/?item=7&modality=x&into=y", headers=HTML)
    found = client.get("/?item=7&modality=x&into=y&k=5")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script>" not in page.text
    assert "style=" not in page.text
    search = client.post("/v1/search", json={"item": 7, "modality": "x", "into": "y", "k": 5}).json()
    assert [hit["id"] for hit in found.json()["hits"]] == [hit["id"] for hit in search["hits"]]
    assert found.json()["searched"] == 200
    assert found.json() | {"seconds": 0} == client.get("/v1/find?item=7&modality=x&into=y&k=5").json() | {
        "seconds": 0
    }


def test_codes_explain_distances(client):
    found = client.get("/v1/find?item=7&modality=x&into=y").json()
    own = int(found["asked"]["code"], 16)
    for hit in found["hits"]:
        assert (own ^ int(hit["code"], 16)).bit_count() == hit["distance"]


def test_skipped_hits_are_the_first_ones(client):
    whole = client.get("/v1/find?item=7&modality=x&into=y&k=10").json()
    rest = client.get("/v1/find?item=7&modality=x&into=y&k=6&skip=4").json()
    assert [hit["id"] for hit in rest["hits"]] == [hit["id"] for hit in whole["hits"]][4:]
    assert whole["more"]


@pytest.mark.parametrize(
    "query",
    [
        "nothing=1",
        "q=a&item=7",
        "skip=-1",
        "skip=x",
        "k=0",
        "k=1e9",
        "k=null&radius=2",
        "where=%7B",
        "draw=1",
        "radius=-1",
        "x=&" * 200,
    ],
)
def test_bad_addresses_are_refused(client, query):
    answer = client.get(f"/v1/find?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


def test_drawings_search_pictures(picture_client):
    found = picture_client.get(
        "/", params={"draw": "100.100-900.100-900.900-100.900-100.100", "into": "image", "k": 5}
    )
    assert found.status_code == 200
    assert found.json()["asked"]["kind"] == "drawing"
    distances = [hit["distance"] for hit in found.json()["hits"]]
    assert distances == sorted(distances)
    assert len(distances) == 5


def test_a_picture_in_the_body(picture_client, pictures):
    file = sorted(pictures.folder.rglob("*.png"))[0]
    found = picture_client.post(
        "/v1/find?into=image&k=3", content=file.read_bytes(), headers={"content-type": "image/png"}
    )
    assert found.json()["hits"][0]["distance"] == 0
    refused = picture_client.post(
        "/v1/find?q=a", content=file.read_bytes(), headers={"content-type": "image/png"}
    )
    assert refused.status_code == 422
    assert (
        picture_client.post("/v1/find", content=b"x", headers={"content-type": "text/html"}).status_code
        == 415
    )


def test_bits_and_what_the_page_must_know(client):
    about = client.get("/v1/page").json()
    assert (about["objects"], about["n_bits"], about["calibrated"]) == (200, 16, True)
    shares = client.get("/v1/bits").json()["shares"]
    assert all(0 <= share <= 1 for values in shares.values() for share in values)
    assert len(shares["x"]) == 16
