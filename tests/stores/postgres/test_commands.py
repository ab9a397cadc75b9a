"""Commands with the address of a collection in PostgreSQL."""

from __future__ import annotations

import json

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.cli.app import run_app
from tests.cli.process import FAST


def run(*arguments):
    return run_app([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path):
    """Two views of 200 objects, and what to store with them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", x[:, :6] + 0.1 * rng.normal(size=(200, 6)).astype(np.float32))
    rows = "\n".join(f"object {i},{1900 + i}" for i in range(200))
    (tmp_path / "rows.csv").write_text(f"name,year\n{rows}\n")
    return tmp_path


@pytest.fixture
def secret_address(postgres_server, address, collection_name):
    """An address with a password."""
    return f"{postgres_server.loopback_address()}?collection={collection_name(address)}"


def build(files, address, *more):
    return run(
        "build",
        *(
            "--view",
            f"x={files / 'x.npy'}",
            "--view",
            f"y={files / 'y.npy'}",
            "--payload",
            files / "rows.csv",
        ),
        *("--to", address, *FAST, *more),
    )


def test_the_commands_work_on_an_address_and_never_show_its_password(
    files, secret_address, postgres_server, capfd, monkeypatch
):
    monkeypatch.chdir(files)
    assert build(files, secret_address) == 0
    assert run("info", secret_address) == 0
    assert run("search", secret_address, "--vector", files / "x.npy", "--where", "year<1905", "-k", "3") == 0
    assert run("search", secret_address, "--item", "7", "--where", "yaer<1905") == 0
    assert run("get", secret_address, "7") == 0
    assert run("verify", secret_address) == 0
    assert run("delete", secret_address, "7", "999") == 0
    assert run("add", secret_address, "--view", f"x={files / 'x.npy'}") == 0
    assert run("copy", secret_address, files / "copy.dh") == 0
    assert run("encode", secret_address, files / "x.npy", "--modality", "x", "-o", files / "codes.npy") == 0
    out = capfd.readouterr()
    assert postgres_server.password not in out.out + out.err
    assert "***" in out.out
    assert "Did you mean 'year'?" in out.err
    with dh.open(files / "copy.dh") as store:
        assert len(store) == 399
        assert store.get([8])[0].payload == {"name": "object 8", "year": 1908}

    # Errors do not show it either.
    for command in (
        ["build", "--view", f"x={files / 'x.npy'}", "--view", f"y={files / 'y.npy'}", "--to", secret_address],
        ["search", secret_address, "--item", "7"],
        ["duplicates", secret_address, "--radius", "1", "--modality", "x"],
        ["export", secret_address, "-o", files / "x.parquet"],
        ["upgrade", secret_address],
        ["copy", secret_address, secret_address, "--overwrite"],
        ["info", secret_address.replace("collection=", "collection=no")],
        ["verify", secret_address.replace(":" + str(postgres_server.port), ":1")],
    ):
        assert run(*command) in (1, 2), command
        out = capfd.readouterr()
        assert out.err.startswith("diffhash: ")
        assert out.err.count("\n") == 1
        assert postgres_server.password not in out.out + out.err


def test_info_tells_what_a_collection_is(files, address, capfd):
    assert build(files, address) == 0
    capfd.readouterr()
    assert run("info", address, "--json") == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["kind"] == "collection in postgresql"
    assert (facts["objects"], facts["codes"]) == (200, {"x": 200, "y": 200})
    assert facts["search"] == "exact"
    assert facts["server"].startswith("PostgreSQL 18")
    assert facts["size"] > 10_000


def test_a_build_does_not_replace_a_collection_unless_asked(files, address, capfd):
    assert build(files, address) == 0
    assert build(files, address) == 1
    assert "exists already" in capfd.readouterr().err
    assert build(files, address, "--overwrite") == 0


def test_a_build_answers_as_a_build_to_a_file(files, address):
    """Same files, same seed: the same model, codes and payloads."""
    views = {"x": files / "x.npy", "y": files / "y.npy"}
    learning = workflows.LearningOptions(method="diff", n_bits=4)
    for target in (files / "xy.dh", address):
        workflows.build_features(views, target, payloads=files / "rows.csv", learning=learning)
    results = [
        workflows.search(target, vector=files / "y.npy", into="x", modality="y", k=5)
        for target in (files / "xy.dh", address)
    ]
    assert results[0].hits == results[1].hits
    assert workflows.copy(files / "xy.dh", address, resume=True).written == 0


def test_an_address_and_a_file_exclude_each_other(files, address, capfd):
    assert build(files, address, "-o", files / "a.dh") == 2
    assert "--out FILE, or --to ADDRESS" in capfd.readouterr().err


def test_a_model_comes_from_an_address(files, address):
    assert build(files, address) == 0
    assert run("build", "--model", address, "--view", f"x={files / 'x.npy'}", "-o", files / "again.dh") == 0
    with dh.open(files / "again.dh") as again, dh.open(address) as store:
        assert again.get([5])[0].codes["x"].tolist() == store.get([5])[0].codes["x"].tolist()


def test_a_copy_that_comes_back_has_its_words_again(address, tmp_path):
    with dh.Collection.create(tmp_path / "a.dh", n_bits=8, modalities=("x",), words="caption") as store:
        codes = np.arange(3, dtype=np.uint8)[:, None]
        store.add_codes(
            codes, modality="x", payloads=[{"caption": text} for text in ("frog", "apple", "tree")]
        )
    workflows.copy(tmp_path / "a.dh", address)
    with dh.open(address, writable=True) as store:
        store.add_codes(codes[:1], modality="x", payloads=[{"caption": "a frog"}])
    workflows.copy(address, tmp_path / "b.dh")
    with dh.open(tmp_path / "b.dh") as back:
        assert back.word_fields == ("caption",)
        assert [hit.id for hit in back.search_words(["frogs"])[0]] == [0, 3]


def test_copy_resumes_with_a_server(files, address, tmp_path):
    with dh.create(tmp_path / "big.dh", n_bits=64, modalities=("a",)) as store:
        codes = np.random.default_rng(0).integers(0, 256, (5000, 8), dtype=np.uint8)
        store.add_codes(codes, modality="a", payloads=[{"n": i} for i in range(5000)])

    def stop(step):
        if step.done >= 2000:
            raise KeyboardInterrupt

    with pytest.raises(workflows.InterruptedBuild):
        workflows.copy(tmp_path / "big.dh", address, block=1000, progress=stop)
    result = workflows.copy(tmp_path / "big.dh", address, block=1000, resume=True)
    assert (result.objects, result.written, result.checked) == (5000, 3000, True)
