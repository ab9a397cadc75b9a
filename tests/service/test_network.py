"""The token rules, from another address: two network namespaces that are connected with each other and nothing else."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys

import pytest

import diffhash as dh

from .process import Server

READ, WRITE = "reader-token-0123456789", "writer-token-0123456789"
SERVER, CLIENT = "10.213.7.1", "10.213.7.2"
ASK = """
import json, sys, httpx
url, requests = json.loads(sys.argv[1])
for method, path, body, token in requests:
    headers = {} if token is None else {"authorization": "Bearer " + token}
    try:
        answer = httpx.request(method, url + path, json=body, headers=headers, timeout=20, trust_env=False)
        print(answer.status_code)
    except httpx.ConnectError:
        print("refused")
"""


def ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=30)


@pytest.fixture(scope="module")
def spaces():
    """Names of two namespaces; both are removed at the end."""
    names = [f"dh{secrets.token_hex(3)}{side}" for side in "ab"]
    made = []
    try:
        try:
            for name in names:
                ip("netns", "add", name)
                made.append(name)
            ip(
                "link",
                "add",
                "veth0",
                "netns",
                names[0],
                "type",
                "veth",
                "peer",
                "name",
                "veth0",
                "netns",
                names[1],
            )
            for name, address in zip(names, (SERVER, CLIENT), strict=True):
                ip("-n", name, "addr", "add", f"{address}/30", "dev", "veth0")
                ip("-n", name, "link", "set", "veth0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "stderr", "") or str(error)
            pytest.skip(f"network namespaces cannot be made here: {reason.strip()[:200]}")
        yield names
    finally:
        for name in made:
            ip("netns", "delete", name)


def ask(space, url, *requests):
    """Statuses of requests that come from a namespace."""
    command = ["ip", "netns", "exec", space, sys.executable, "-c", ASK, json.dumps([url, requests])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.split()


SEARCH = {"code": "0000", "into": "x"}
ADD = {"modality": "x", "codes": ["0000"]}


def test_strangers_need_a_token(spaces, copied):
    tokens = {"DIFFHASH_TOKEN": READ, "DIFFHASH_WRITE_TOKEN": WRITE}
    prefix = ["ip", "netns", "exec", spaces[0]]
    with Server(copied, "--writable", environment=tokens, prefix=prefix, host="0.0.0.0") as server:
        statuses = ask(
            spaces[1],
            f"http://{SERVER}:{server.port}",
            ("POST", "/v1/search", SEARCH, None),
            ("POST", "/v1/search", SEARCH, READ[:-1]),
            ("POST", "/v1/search", SEARCH, READ),
            ("POST", "/v1/items", ADD, None),
            ("POST", "/v1/items", ADD, READ),
            ("POST", "/v1/items", ADD, WRITE),
            ("GET", "/metrics", None, None),
            ("GET", "/healthz", None, None),
        )
    assert statuses == ["401", "401", "200", "401", "403", "200", "401", "200"]
    with dh.Collection.open(copied) as collection:
        assert len(collection) == 201


def test_a_service_on_loopback_cannot_be_reached_by_others(spaces, filled):
    with Server(filled, prefix=["ip", "netns", "exec", spaces[0]]) as server:
        path = ("GET", "/healthz", None, None)
        assert ask(spaces[0], server.url, path) == ["200"]
        assert ask(spaces[1], f"http://{SERVER}:{server.port}", path) == ["refused"]


def test_anyone_may_ask_if_that_was_said(spaces, filled):
    prefix = ["ip", "netns", "exec", spaces[0]]
    with Server(filled, "--allow-anyone", prefix=prefix, host=SERVER) as server:
        url = f"http://{SERVER}:{server.port}"
        requests = (("POST", "/v1/search", SEARCH, None), ("POST", "/v1/items", ADD, None))
        assert ask(spaces[1], url, *requests) == ["200", "403"]
