"""Who may ask: tokens, names of the host, and pages of other origins."""

from __future__ import annotations

import socket

import pytest

import diffhash as dh
from diffhash.errors import ParameterError
from diffhash.service import Limits, ServeSettings
from tests.cli.process import diffhash

from .process import Server

READ, WRITE = "reader-token-0123456789", "writer-token-0123456789"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, learned):
    path = tmp_path_factory.mktemp("guarded") / "objects.dh"
    dh.Collection.create(path, learned).close()
    tokens = {"DIFFHASH_TOKEN": READ, "DIFFHASH_WRITE_TOKEN": WRITE}
    with Server(path, "--writable", "--log-requests", environment=tokens) as server:
        yield server


def ask(server, token=None, method="POST", path="/v1/search", body=None, **headers):
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    with server.client() as client:
        return client.request(method, path, json=body, headers=headers)


SEARCH = {"code": "0000", "into": "x"}
ADD = {"modality": "x", "codes": ["0000"]}


def test_a_token_is_needed_for_everything_but_health(guarded):
    for token in (None, "wrong-token-0123456789", READ[:-1], READ + "0", "Bearer", f"{READ} {WRITE}"):
        for method, path, body in (
            ("POST", "/v1/search", SEARCH),
            ("POST", "/v1/search/batch", {"codes": []}),
            ("GET", "/v1/collection", None),
            ("GET", "/v1/openapi.json", None),
            ("GET", "/metrics", None),
            ("POST", "/v1/items", ADD),
        ):
            answer = ask(guarded, token, method, path, body)
            assert answer.status_code == 401, (token, path)
            assert answer.headers["www-authenticate"] == "Bearer"
    assert ask(guarded, None, "GET", "/healthz").status_code == 200
    assert ask(guarded, None, "GET", "/readyz").status_code == 200


def test_readers_cannot_write_and_writers_can_do_both(guarded):
    assert ask(guarded, READ, body=SEARCH).status_code == 200
    assert ask(guarded, WRITE, body=SEARCH).status_code == 200
    for method, path, body in (
        ("POST", "/v1/items", ADD),
        ("PUT", "/v1/items", {**ADD, "ids": [1]}),
        ("POST", "/v1/delete", {"ids": [1]}),
        ("DELETE", "/v1/items/1", None),
    ):
        assert ask(guarded, READ, method, path, body).status_code == 403
    assert ask(guarded, READ, "POST", "/v1/get", {"ids": []}).status_code == 200
    assert ask(guarded, WRITE, "POST", "/v1/items", ADD).status_code == 200


def test_logs_have_no_tokens_and_no_contents(guarded):
    ask(guarded, READ, "GET", "/v1/items/very-secret-id")
    ask(guarded, READ, body={"code": "abcd", "where": {"secret field": "secret value"}})
    ask(guarded, READ, "GET", "/v1/ids?modality=secret")
    text = "".join(guarded.raw)

    assert '"route": "/v1/items/{id:path}"' in text
    assert '"status": 401' in text
    for secret in (READ, WRITE, "secret", "abcd", "wrong-token"):
        assert secret not in text


def test_a_web_page_cannot_use_a_service_without_a_token(server):
    """By a name of its own that leads here, or by a request to another origin."""
    for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "[::2]", ""):
        assert ask(server, body=SEARCH, host=host).status_code == 403, host
    for host in ("localhost", f"127.0.0.1:{server.port}", "[::1]:80", "LOCALHOST"):
        assert ask(server, body=SEARCH, host=host).status_code == 200, host
    refused = ask(server, body=SEARCH, origin="https://evil.example")
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers
    assert ask(server, body=SEARCH, origin="null").status_code == 403
    assert ask(server, body=SEARCH, origin=server.url).status_code == 200
    preflight = ask(server, None, "OPTIONS", "/v1/search", origin="https://evil.example")
    assert preflight.status_code == 405
    assert "access-control-allow-origin" not in preflight.headers


def test_a_named_host_is_known_in_any_case(filled):
    with Server(filled, "--host-name", "Search.Example") as server:
        for host, status in (("search.example", 200), ("SEARCH.example:80", 200), ("other.example", 403)):
            assert ask(server, body=SEARCH, host=host).status_code == status, host


def test_pages_of_a_named_origin_may_use_it(filled):
    page = "https://page.example"
    with Server(filled, "--allow-origin", page) as server:
        preflight = ask(server, None, "OPTIONS", "/v1/search", origin=page)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == page
        assert ask(server, body=SEARCH, origin=page).headers["access-control-allow-origin"] == page
        other = ask(server, body=SEARCH, origin="https://evil.example")
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "can be reached by others"),
        ({"host": "10.0.0.1"}, "can be reached by others"),
        ({"host": "::"}, "can be reached by others"),
        ({"host": "example.org"}, "can be reached by others"),
        ({"token": "short"}, "at least 16 characters"),
        ({"token": "with a blank in the middle"}, "visible ASCII"),
        ({"token": READ, "writable": True}, "write token"),
        ({"token": READ, "write_token": READ, "writable": True}, "must differ"),
        ({"token": READ, "write_token": WRITE}, "writable"),
        ({"write_token": WRITE, "writable": True}, "everybody read"),
        ({"origins": ("*",)}, "never"),
        ({"origins": ("https://a.example/page",)}, "looks like"),
        ({"port": 70000}, "port"),
        ({"delay": -1.0}, "delay"),
        ({"search_threads": 0}, "search_threads"),
    ],
)
def test_settings_that_let_strangers_in_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        ServeSettings(**options)


def test_settings_that_are_safe_or_asked_for():
    assert ServeSettings(host="0.0.0.0", token=READ).token == READ
    assert ServeSettings(host="0.0.0.0", allow_anyone=True).allow_anyone
    assert READ not in repr(ServeSettings(token=READ))
    for limit in ({"k": 0}, {"seconds": float("inf")}, {"seconds": float("nan")}, {"batch": 2.5}):
        with pytest.raises(ParameterError, match=f"limit {next(iter(limit))} must"):
            Limits(**limit)


def test_the_command_refuses_to_start_for_strangers(filled, tmp_path):
    result = diffhash("serve", filled, "--host", "0.0.0.0")
    assert result.returncode == 1
    assert "Set a token" in result.stderr
    assert "--allow-anyone" in result.stderr
    (tmp_path / "token").write_text("short\n")
    assert "16 characters" in diffhash("serve", filled, "--token-file", tmp_path / "token").stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = diffhash("serve", filled, "--port", str(taken.getsockname()[1]))
    assert "cannot listen" in result.stderr
    assert diffhash("serve", tmp_path / "none.dh", "--port", "0").returncode == 1


def test_the_page_is_open_but_its_searches_need_the_token(filled):
    token = "reader-token-0123456789"
    with Server(filled, environment={"DIFFHASH_TOKEN": token}) as server, server.client() as client:
        assert client.get("/", headers={"accept": "text/html"}).status_code == 200
        assert client.get("/page/main.js").status_code == 200
        for path in ("/", "/?item=7&modality=x", "/v1/find", "/v1/page", "/v1/bits"):
            assert client.get(path, headers={"accept": "application/json"}).status_code == 401
            allowed = {"accept": "application/json", "authorization": f"Bearer {token}"}
            assert client.get(path, headers=allowed).status_code == 200
        assert client.head("/").status_code in (401, 405)
