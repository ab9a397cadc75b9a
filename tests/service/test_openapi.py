"""schemathesis attacks a service with requests made from its OpenAPI document, and finds nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .process import Server

# The order and the types of values are all that a document can say. Whether an id, a field or a modality exists, it
# cannot: a request that fits the document may be refused with 422, so this check is left out.
LEFT_OUT = "positive_data_acceptance"


def attack(server, tmp_path, *options):
    program = Path(sys.executable).with_name("st")
    if not program.exists():
        found = shutil.which("st")
        if found is None:
            pytest.skip("schemathesis is not installed")
        program = Path(found)
    command = [
        program,
        "run",
        f"{server.url}/v1/openapi.json",
        "--max-examples",
        "12",
        "--seed",
        "7",
        "--no-color",
    ]
    command += ["--exclude-checks", LEFT_OUT, "--suppress-health-check", "all", *options]
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )


@pytest.mark.parametrize("writable", [True, False], ids=["writable", "reading"])
def test_schemathesis_finds_nothing(copied, tmp_path, writable):
    options = ["--writable"] if writable else []
    with Server(copied, *options) as server:
        result = attack(server, tmp_path)
        failed = [line for line in server.lines if line.get("level") == "error"]
        status = server.stop()

    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert "Tested: 23" in result.stdout
    assert failed == []
    assert status == 0


#: A service in which one route fails, and one answers something that the document does not have.
FAULTY = """
import sys
import diffhash.service.routes as routes
from diffhash.service import ServeSettings, serve

def fail(store):
    raise {error}

routes._counts = fail
serve(sys.argv[1], ServeSettings(port=0))
"""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("ZeroDivisionError", "Server error"),
        ("routes.RefusedError(418, 'TeapotError', 'I am a teapot.')", "Undocumented"),
    ],
)
def test_schemathesis_would_find_a_fault(filled, tmp_path, error, words):
    """The test above would pass if nothing was tested."""
    with Server(filled, code=FAULTY.format(error=error)) as server:
        result = attack(server, tmp_path, "--include-path", "/v1/count")
    assert result.returncode == 1
    assert words in result.stdout


def test_the_document_has_examples_that_work(client):
    document = client.get("/v1/openapi.json").json()
    tried = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in content.get("examples", {}).values():
                answer = client.request(method, path, json=example["value"])
                refused = {"/v1/limit": 422, "/v1/items": 403, "/v1/delete": 403}.get(path)
                assert answer.status_code in (200, refused), (path, answer.text)
                tried += 1
    assert tried >= 5
    assert document["openapi"].startswith("3.1")
