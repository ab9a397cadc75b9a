"""What the commands may replace, and what they leave alone."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import diffhash as dh
from diffhash.cli.app import run_app
from diffhash.hashers import BaseHasher

FAST = ["--method", "diff", "--bits", "4"]


def run(capsys, *arguments):
    """In this process: status, stderr."""
    status = run_app([str(argument) for argument in arguments])
    return status, capsys.readouterr().err


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A folder with small inputs, a model, a collection, codes and a file of somebody's own."""
    for name in ("x", "y"):
        np.save(tmp_path / f"{name}.npy", np.load(files.folder / f"train_{name}.npy"))
    shutil.copy(files.folder / "model.dhm", tmp_path / "model.dhm")
    with dh.Collection.create(tmp_path / "old.dh", files.hasher) as c:
        c.add(files.data.test.views["x"][:5], modality="x")
    np.save(tmp_path / "codes.npy", np.zeros((2, 2), dtype=np.uint8))
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "notes.npy").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "link.npy").hardlink_to(tmp_path / "x.npy")
    monkeypatch.chdir(tmp_path)
    return tmp_path


VIEWS = ["--view", "x=x.npy", "--view", "y=y.npy"]
BUILD = ["build", *VIEWS, *FAST, "--overwrite", "-o"]
FIT = ["fit", *VIEWS, *FAST, "--overwrite", "-o"]
ENCODE = ["encode", "model.dhm", "x.npy", "--overwrite", "-o"]
REFUSED = {
    "build over an input": ([*BUILD, "x.npy"], 2, "x.npy is also an input"),
    "build over an input by another name": ([*BUILD, "link.npy"], 2, "is also an input"),
    "build over a file": ([*BUILD, "notes.txt"], 1, "notes.txt is not a collection"),
    "build over a model": ([*BUILD, "model.dhm"], 1, "model.dhm is not a collection"),
    "build over a folder": ([*BUILD, "folder"], 1, "folder is not a file, so it cannot be replaced"),
    "build over its model": (
        ["build", "--model", "old.dh", "--view", "x=x.npy", "--overwrite", "-o", "old.dh"],
        2,
        "old.dh is also an input",
    ),
    "fit over an input": ([*FIT, "y.npy"], 2, "y.npy is also an input"),
    "fit over a file": ([*FIT, "notes.txt"], 1, "notes.txt is not a model"),
    "fit over a collection": ([*FIT, "old.dh"], 1, "old.dh is not a model"),
    "fit over a folder": ([*FIT, "folder"], 1, "folder is not a file"),
    "fit without the word": (["fit", *VIEWS, *FAST, "-o", "model.dhm"], 2, "--overwrite"),
    "encode over its input": (["encode", "model.dhm", "x.npy", "-o", "x.npy"], 2, "is also an input"),
    "encode over its input, twice said": ([*ENCODE, "x.npy"], 2, "is also an input"),
    "encode over features": ([*ENCODE, "y.npy"], 1, "y.npy is not a file of codes"),
    "encode over a text": ([*ENCODE, "notes.npy"], 1, "notes.npy is not a file of codes"),
    "encode over a folder": ([*ENCODE, "folder.npy"], 1, "folder.npy is not a file"),
    "encode without the word": (["encode", "model.dhm", "x.npy", "-o", "codes.npy"], 2, "--overwrite"),
    "page over the collection": (
        ["search", "old.dh", "--vector", "x.npy", "--open", "--page", "old.dh"],
        2,
        "old.dh is also an input",
    ),
    "page over a file": (
        ["search", "old.dh", "--vector", "x.npy", "--open", "--page", "notes.txt"],
        1,
        "notes.txt is not a page",
    ),
}


@pytest.mark.parametrize(("arguments", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_nothing_of_another_kind_is_replaced(arguments, status, words, here, capsys, monkeypatch):
    before = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
    # The error comes before anything is learned.
    monkeypatch.setattr(BaseHasher, "fit", lambda *_, **__: pytest.fail("learned"))

    got, err = run(capsys, *arguments)

    assert got == status, err
    assert words in err
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


def test_what_is_of_the_kind_is_replaced(here, capsys):
    (here / "p.html").write_text("before")
    assert run(capsys, *BUILD, "old.dh") == (0, "")
    assert run(capsys, *FIT, "model.dhm") == (0, "")
    assert run(capsys, *ENCODE, "codes.npy") == (0, "")
    assert run(capsys, "search", "old.dh", "--item", 3, "--open", "--page", "p.html") == (0, "")

    with dh.Collection.open(here / "old.dh") as c:
        assert len(c) == 400
    assert dh.load(here / "model.dhm").n_bits == 4
    assert np.load(here / "codes.npy").shape == (400, 1)
    assert "before" not in (here / "p.html").read_text()
