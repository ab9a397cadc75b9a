"""Uploads and requests of an attacker: refused with 4xx, never 5xx, and nothing is left behind."""

from __future__ import annotations

import base64
import io
import json
import random
import socket
import struct
import time
import zlib
from pathlib import Path

import numpy as np
import PIL.Image
import pyarrow as pa
import pytest

import diffhash as dh

from .process import Server, wait_for

NPY, ARROW = "application/x-npy", "application/vnd.apache.arrow.stream"


def png(width=40, height=40):
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (width, height), (200, 30, 30)).save(buffer, "png")
    return buffer.getvalue()


def bomb(width, height):
    """A PNG file of a few bytes that says that it has many pixels."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(/etc/passwd) (r) file\n"
UPLOADS = {
    "empty": b"",
    "noise": bytes(range(256)) * 10,
    "html": b"<html><script>alert(1)</script></html>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    "postscript": POSTSCRIPT,
    "cut off": png()[:60],
    "no end": png()[:-12],
    "many pixels": bomb(20_000, 20_000),
    "more pixels": bomb(2**31 - 1, 2**31 - 1),
    "no pixels": bomb(0, 0),
    "polyglot zip": png() + b"PK\x03\x04" + b"\0" * 100,
    "polyglot html": b"GIF89a/*<script>*/=1;alert(1)//</script>",
    "pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
}


@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/gif"])
@pytest.mark.parametrize("name", UPLOADS)
def test_uploads_that_are_no_pictures_are_refused(picture_client, name, kind):
    answers = [
        picture_client.post("/v1/search", content=UPLOADS[name], headers={"content-type": kind}),
        picture_client.post("/v1/search", json={"picture": base64.b64encode(UPLOADS[name]).decode()}),
    ]
    for answer in answers:
        # What is a picture with something else, or nothing, behind it, is a picture.
        assert answer.status_code == (200 if name in ("polyglot zip", "no end") else 422), answer.text
        assert "/etc" not in answer.text
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/xml",
        "image/svg+xml",
        "application/json5",
        "\xff",
    ],
)
def test_other_types_are_refused(picture_client, kind):
    for path in ("/v1/search", "/v1/search/batch", "/v1/get"):
        answer = picture_client.post(path, content=png(), headers={"content-type": kind.encode("latin-1")})
        assert answer.status_code == 415


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def stream(table, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def lists(values):
    return pa.table({"vector": pa.array(values)})


def claim(shape):
    """An npy file of zeros whose header has this shape."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(128)


def rows_without_bytes(count=10**9):
    """Lists of no numbers: the stream has a few hundred bytes, whatever their count."""
    kind = pa.list_(pa.float64(), 0)
    return pa.Array.from_buffers(kind, count, [None], children=[pa.array([], pa.float64())])


ARRAYS = {
    "objects": (NPY, npy(np.array([{"a": 1}], dtype=object), allow_pickle=True)),
    "texts": (NPY, npy(np.array(["a"]))),
    "three dimensions": (NPY, npy(np.zeros((1, 1, 64)))),
    "cut off": (NPY, npy(np.zeros((4, 64)))[:-9]),
    "too long": (NPY, npy(np.zeros((4, 64))) + b"more"),
    "header only": (NPY, npy(np.zeros((4, 64)))[:60]),
    "huge": (NPY, npy(np.zeros((1, 64))).replace(b"(1, 64)", b"(9**9,)")),
    "huge shape": (NPY, npy(np.zeros((1, 64))).replace(b"(1, 64), ", b"(99999999999, 99),")[:128]),
    "negative shape": (NPY, npy(np.zeros((1, 64))).replace(b"(1, 64)", b"(-1,64)")),
    "two negative numbers": (NPY, claim("(-2, -8)")),
    "code in the header": (NPY, npy(np.zeros((1, 64))).replace(b"(1, 64)", b"exit(1)")),
    "not finite": (NPY, npy(np.full((1, 64), np.nan))),
    "wrong width": (NPY, npy(np.zeros((1, 7)))),
    "complex": (NPY, npy(np.zeros((1, 64), dtype=complex))),
    "zip": (NPY, b"PK\x03\x04"),
    "no arrow": (ARROW, b"ARROW1\0\0" + b"\0" * 100),
    "arrow cut off": (ARROW, stream(lists([[0.0] * 64]))[:-40]),
    "arrow without vectors": (ARROW, stream(pa.table({"v": [1.0]}))),
    "arrow of texts": (ARROW, stream(lists(["a"]))),
    "arrow of unequal lists": (ARROW, stream(lists([[1.0], [1.0, 2.0]]))),
    "arrow with nulls": (ARROW, stream(lists([[None, 1.0]]))),
    "arrow compressed": (ARROW, stream(lists([[0.0] * 64] * 5000), compression="zstd")),
    "arrow with a dictionary": (
        ARROW,
        stream(pa.table({"vector": pa.array(["a", "a"]).dictionary_encode()})),
    ),
    "arrow of a billion empty lists": (ARROW, stream(pa.table({"vector": rows_without_bytes()}))),
    "arrow with bad lengths": (ARROW, b"\xff\xff\xff\xff" + struct.pack("<i", 2**31 - 1) + b"\0" * 64),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_none_are_refused(client, name):
    kind, body = ARRAYS[name]
    answer = client.post(
        "/v1/search/batch", content=body, headers={"content-type": kind}, params={"modality": "y"}
    )
    assert answer.status_code == 422, answer.text


def test_arrays_with_random_changes_never_break_the_service(client):
    """A change of a byte gives an answer or a refusal."""
    rng = random.Random(0)
    rows = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    good = {NPY: npy(rows), ARROW: stream(lists(rows.tolist()))}
    seen = set()
    for number in range(300):
        kind = (NPY, ARROW)[number % 2]
        body = bytearray(good[kind])
        for _ in range(rng.randint(1, 4)):
            body[rng.randrange(min(len(body), 700))] = rng.randrange(256)
        answer = client.post(
            "/v1/search/batch", content=bytes(body), headers={"content-type": kind}, params={"modality": "y"}
        )
        assert answer.status_code in (200, 422), answer.text
        seen.add(answer.status_code)
    assert seen == {200, 422}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("id", pa.nulls(3)),
        ("id", pa.array([1.0, 2.0, 3.0])),
        ("id", pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), pa.array([7]))),
        ("id", pa.array(["a", "b", "c"], pa.string_view())),
        ("payload", pa.array([{"a": 1}] * 3)),
        ("payload", pa.array(["{}", "{", "{}"])),
    ],
)
def test_columns_whose_values_may_take_no_bytes_are_refused(name, column):
    from diffhash.errors import InputError
    from diffhash.service.arrow_body import read_arrow

    table = pa.table({"vector": pa.array([[1.0]] * 3), name: column})
    with pytest.raises(InputError, match=f"column '{name}' must hold"):
        read_arrow(stream(table))


def test_more_parameters_than_an_address_may_have_are_refused(client):
    for path, kind in (("/v1/search/batch", NPY), ("/v1/search", "image/png"), ("/v1/items", NPY)):
        answer = client.post(path, content=b"", headers={"content-type": kind}, params=[("k", "1")] * 101)
        assert answer.status_code == (403 if path == "/v1/items" else 422)
    assert client.get("/v1/find", params=[("k", "1")] * 101).status_code == 422


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe{}", 400),
        (b"[" * 100_000, 400),
        (b'{"code": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"code": "zz"}', 422),
        (b'{"code": "00"}', 422),
        (b'{"code": 7}', 422),
        (b'{"vector": [1e999]}', 422),
        (b'{"vector": [NaN]}', 422),
        (b'{"vector": []}', 422),
        (b'{"item": 99999999999999999999}', 422),
        (b'{"item": "a"}', 422),
        (b'{"item": true}', 422),
        (b'{"text": "\\ud800"}', 400),
        (b'{"code": "0000", "k": 0}', 422),
        (b'{"code": "0000", "k": 100000}', 422),
        (b'{"code": "0000", "k": "5"}', 422),
        (b'{"code": "0000", "radius": -1}', 422),
        (b'{"code": "0000", "into": "nowhere"}', 422),
        (b'{"code": "0000", "where": {"n": {"near": 3}}}', 422),
        (b'{"code": "0000", "where": [1]}', 422),
        (b'{"code": "0000", "unknown": 1}', 422),
        (b'{"code": "0000", "item": 3}', 422),
        (b'{"vectors": {"x": [1.0]}}', 422),
        (b"{}", 422),
    ],
)
def test_bad_queries_are_refused_with_a_reason(client, body, status):
    answer = client.post("/v1/search", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"].endswith(".")
    assert len(answer.text) < 2000


def test_limits_on_bodies_batches_and_hits(filled):
    options = ["--max-body", "1", "--max-k", "50", "--max-batch", "20", "--max-pixels", "1000"]
    with Server(filled, *options) as server, server.client() as client:
        long = b'{"text": "' + b"a" * 2**20 + b'"}'
        json_ = {"content-type": "application/json"}
        assert client.post("/v1/search", content=long, headers=json_).status_code == 413
        # Without a length: the body is counted while it arrives.
        assert client.post("/v1/search", content=iter([long[:1000], long]), headers=json_).status_code == 413
        assert client.post("/v1/get", content=long, headers=json_).status_code == 413
        for kind in ("image/png", NPY, ARROW):
            path = "/v1/search" if kind == "image/png" else "/v1/search/batch"
            answer = client.post(path, content=bytes(3 * 2**20), headers={"content-type": kind})
            assert answer.status_code == 413
        for body in ({"code": "0000", "k": 51}, {"code": "0000", "k": None, "radius": None}):
            assert client.post("/v1/search", json=body).status_code == 422
        assert client.post("/v1/search/batch", json={"codes": ["0000"] * 21}).status_code == 422
        assert client.post("/v1/search/batch", json={"codes": ["0000"] * 20}).status_code == 200


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def finish(connection):
    """Everything that the server sends until it closes the connection."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def open_files(server):
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def test_requests_that_are_cut_off_leave_nothing_behind(copied):
    """At random bytes: no objects, no open connections, no files."""
    body = json.dumps({"modality": "x", "codes": ["00ff"] * 200, "ids": list(range(1000, 1200))}).encode()
    head = (
        b"POST /v1/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    request, rng = head + body, random.Random(1)
    with Server(copied, "--writable") as server, server.client() as client:
        client.get("/healthz")
        before, files = open_files(server), sorted(copied.parent.iterdir())
        for _ in range(150):
            with connect(server) as connection:
                connection.sendall(request[: rng.randrange(len(request))])
                if rng.random() < 0.5:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_for(lambda: open_files(server) <= before)

        assert client.get("/v1/count").json()["objects"] == 200
        assert sorted(copied.parent.iterdir()) == files
        with connect(server) as connection:
            connection.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            assert finish(connection).startswith(b"HTTP/1.1 200")
        assert client.get("/v1/count").json()["objects"] == 400
        assert [line for line in server.lines if line.get("level") == "error"] == []
    with dh.Collection.open(copied) as collection:
        assert collection.verify().ok


@pytest.fixture(scope="module")
def hasty(filled):
    """A server with short times and few connections."""
    from diffhash.service import Limits

    code = (
        "import sys\nfrom diffhash.service import *\n"
        "limits = Limits(receive_seconds=1.0, send_seconds=1.0, connections=6, header_bytes=4096, queue=8)\n"
        "serve(sys.argv[1], ServeSettings(port=0, limits=limits))\n"
    )
    assert Limits(receive_seconds=1.0)
    with Server(filled, code=code) as server:
        yield server


def test_slow_and_silent_clients_are_cut_off(hasty):
    with connect(hasty) as silent, connect(hasty) as slow, connect(hasty) as stuck:
        slow.sendall(b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\n")
        stuck.sendall(
            b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99\r\n\r\n{"
        )
        for connection in (silent, slow, stuck):
            answer = finish(connection)
            assert answer.startswith(b"HTTP/1.1 408")
            assert answer.endswith(b"}}")


def test_empty_lines_do_not_keep_a_connection_open(hasty):
    """They begin no request, so they count as one that does not arrive."""
    with connect(hasty) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while not received.endswith(b'{"status":"ok"}'):
            received += connection.recv(65536)
        connection.sendall(b"\r\n")
        assert finish(connection).startswith(b"HTTP/1.1 408")


def test_a_client_that_takes_its_answer_slowly_gets_all_of_it(hasty):
    """It takes longer than a client may do nothing, and never does nothing for that long."""
    body = json.dumps({"codes": ["0000"] * 200, "k": 500}).encode()
    head = b"POST /v1/search/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    taken = 0
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", hasty.port))
        connection.sendall(head + body)
        begin = time.monotonic()
        while part := connection.recv(2**18):
            taken += len(part)
            # Slow for the first three seconds, in which a client that does nothing would be cut off.
            if time.monotonic() < begin + 3:
                time.sleep(0.1)
    with hasty.client() as client:
        answer = client.post("/v1/search/batch", content=body, headers={"content-type": "application/json"})
    assert taken > len(answer.content) > 2**22


def test_a_client_that_does_not_take_its_answer_is_cut_off(hasty):
    body = json.dumps({"codes": ["0000"] * 200, "k": 500}).encode()
    head = b"POST /v1/search/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\n\r\n"
    with connect(hasty) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(4):
            connection.sendall(head % len(body) + body)
        before = hasty.memory()
        wait_for(lambda: _is_reset(connection))
        assert hasty.memory() < before + 200e6


def _is_reset(connection):
    """Whether the other side has closed the connection, without taking what it sent."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    return info[0] != 1  # 1: established


def test_more_connections_than_allowed_are_told_to_come_back(hasty):
    connections = [connect(hasty) for _ in range(6)]
    try:
        with connect(hasty) as more:
            answer = finish(more)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer
    finally:
        for connection in connections:
            connection.close()
    with hasty.client() as client:
        wait_for(lambda: client.get("/healthz").status_code == 200)


def test_long_headers_and_other_protocols_are_refused(hasty):
    for request, status in (
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 9000, b"431"),
        (b"GET /" + b"a" * 9000, b"431"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (
            b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"400",
        ),
        (b"GET \xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    ):
        with connect(hasty) as connection:
            connection.sendall(request)
            assert finish(connection).startswith(b"HTTP/1.1 " + status), request[:40]


def test_more_queries_than_may_wait_are_told_to_come_back(hasty):
    statuses = []
    with hasty.client() as client:
        # A request that is alone may be larger than the queue.
        assert client.post("/v1/search/batch", json={"codes": ["0000"] * 200}).status_code == 200
    import threading

    def ask():
        with hasty.client() as client:
            for _ in range(20):
                answer = client.post("/v1/search/batch", json={"codes": ["0000"] * 100, "k": 300})
                statuses.append(answer.status_code)
                if answer.status_code == 429:
                    assert answer.headers["retry-after"] == "1"

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200, 429}
