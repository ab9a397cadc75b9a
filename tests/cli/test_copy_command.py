"""``copy`` between files, and commands that get an address that they cannot use."""

from __future__ import annotations

import json

import numpy as np
import pytest

import diffhash as dh
from diffhash.cli.app import run_app


def run(*arguments):
    return run_app([str(argument) for argument in arguments])


@pytest.fixture
def small(tmp_path):
    with dh.Collection.create(tmp_path / "a.dh", n_bits=8, modalities=("x",)) as store:
        codes = np.arange(30, dtype=np.uint8)[:, None]
        store.add_codes(codes, modality="x", payloads=[{"n": i} for i in range(30)])
    return tmp_path / "a.dh"


def test_copy_says_what_it_copied_and_compared(small, tmp_path, capfd):
    assert run("copy", small, tmp_path / "b.dh", "--json") == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["objects"], facts["codes"], facts["written"], facts["compared"]) == (30, 30, 30, True)
    assert len(facts["checksum"]) == 16
    with dh.open(tmp_path / "b.dh") as store:
        assert store.get([7])[0].payload == {"n": 7}


def test_copy_refuses_to_overwrite_and_resumes(small, tmp_path, capfd):
    assert run("copy", small, tmp_path / "b.dh", "--no-check") == 0
    assert run("copy", small, tmp_path / "b.dh") == 1
    assert "--overwrite, or --resume" in capfd.readouterr().err
    with dh.open(tmp_path / "b.dh", writable=True) as store:
        store.delete([3, 4])
    assert run("copy", small, tmp_path / "b.dh", "--resume", "--json") == 0
    assert json.loads(capfd.readouterr().out)["written"] == 2
    assert run("copy", small, tmp_path / "b.dh", "--overwrite") == 0
    assert run("copy", small, small, "--overwrite") == 2


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["info", "ftp://ann:hidden@host/x"], "no engine is known for ftp"),
        (["search", "ftp://ann:hidden@host/x", "--item", "1"], "no engine is known"),
        (["copy", "a.dh", "memory://x:hidden@y/?z"], "not a valid URL"),
        (["export", "memory://x", "-o", "b.parquet"], "a file is needed here"),
        (["get", "memory://x", "1"], "ends with its object"),
        (["build", "--view", "x=x.npy", "--to", "ftp://ann:hidden@host/x"], "no engine is known"),
    ],
)
def test_addresses_that_cannot_be_used_are_one_line_without_the_password(
    command, message, small, monkeypatch, capfd
):
    monkeypatch.chdir(small.parent)
    np.save("x.npy", np.zeros((3, 2)))
    assert run(*command) in (1, 2)
    out = capfd.readouterr()
    assert message in out.err
    assert out.err.count("\n") == 1
    assert "hidden" not in out.err + out.out
