"""No writer replaces a file of another kind, or a file that it reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import CollectionExistsError, DiffhashError, OutputFileError
from diffhash.experiments.paper import Settings
from diffhash.experiments.paper.results import Results
from diffhash.files import CodesWriter
from diffhash.workflows.new_collection import new_collection


@pytest.fixture(scope="module")
def hasher():
    x = np.random.default_rng(0).normal(size=(200, 8))
    return dh.DiffHash(n_bits=8).fit({"x": x, "y": 2 * x}, dh.Pairs.aligned(200))


@pytest.fixture(scope="module")
def made(hasher, tmp_path_factory):
    """A file of every kind that diffhash writes, and some of other programs."""
    folder = tmp_path_factory.mktemp("kinds")
    with dh.Collection.create(folder / "collection", hasher) as collection:
        collection.add_codes(np.zeros((3, 1), np.uint8), modality="x", ids=[5, 7, 9])
        collection.export(folder / "parquet", "parquet")
        collection.export(folder / "faiss", "faiss")
        collection.export(folder / "codes", "npy")
    (folder / "codes.ids.npy").rename(folder / "ids")
    hasher.save(folder / "model")
    dh.HammingIndex(np.zeros((3, 1), np.uint8)).save(folder / "index")
    np.save(folder / "features.npy", np.zeros((4, 3)))
    (folder / "features.npy").rename(folder / "features")
    (folder / "text").write_text("what somebody wrote")
    return folder


def write_codes(path):
    with CodesWriter(path, 1) as writer:
        writer.write(np.zeros((2, 1), np.uint8))


def build(path, hasher):
    with new_collection(path, hasher.model_):
        pass


WRITERS = {
    "model": ("model", lambda path, hasher, _: hasher.save(path)),
    "model by itself": ("model", lambda path, hasher, _: hasher.model_.save(path)),
    "index": ("index", lambda path, *_: dh.HammingIndex(np.zeros((2, 1), np.uint8)).save(path)),
    "codes": ("codes", lambda path, *_: write_codes(path)),
    "parquet": ("parquet", lambda path, _, collection: collection.export(path)),
    "npy": ("codes", lambda path, _, collection: collection.export(path, "npy", modality="x")),
    "faiss": ("faiss", lambda path, _, collection: collection.export(path, "faiss", modality="x")),
    "collection": (
        "collection",
        lambda path, hasher, _: dh.Collection.create(path, hasher, overwrite=True).close(),
    ),
    "build": ("collection", lambda path, hasher, _: build(path, hasher)),
    "results": ("results", lambda path, *_: Results.new(Settings()).write(path)),
}
KINDS = ["collection", "model", "index", "parquet", "faiss", "codes", "ids", "features", "text"]


@pytest.mark.parametrize("there", KINDS)
@pytest.mark.parametrize(("writes", "write"), WRITERS.values(), ids=WRITERS)
def test_only_a_file_of_the_same_kind_is_replaced(writes, write, there, made, hasher, tmp_path):
    target = tmp_path / "file"
    shutil.copy(made / there, target)
    before = target.read_bytes()

    with dh.Collection.open(made / "collection") as collection:
        if writes == there:
            write(target, hasher, collection)
            return
        with pytest.raises((OutputFileError, CollectionExistsError), match=r"is not a .*not replaced"):
            write(target, hasher, collection)

    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("form", ["parquet", "npy", "faiss"])
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-lock"])
@pytest.mark.parametrize("linked", [False, True])
def test_an_export_never_replaces_the_files_of_its_own_collection(hasher, tmp_path, form, suffix, linked):
    path = tmp_path / "c.dh"
    with dh.Collection.create(path, hasher) as collection:
        collection.add_codes(np.zeros((3, 1), np.uint8), modality="x")
        own = path.with_name(f"c.dh{suffix}")
        target = tmp_path / "link" if linked else own
        if linked:
            target.symlink_to(own)
        with pytest.raises(OutputFileError, match="belongs to the collection itself"):
            collection.export(target, form)
        collection.add_codes(np.zeros((3, 1), np.uint8), modality="x")
    with dh.Collection.open(path) as collection:
        assert len(collection) == 6
        assert collection.verify().ok


def test_an_export_checks_both_files_before_it_writes_one(made, tmp_path):
    (tmp_path / "c.ids.npy").write_text("mine")
    with (
        dh.Collection.open(made / "collection") as collection,
        pytest.raises(OutputFileError, match=r"c\.ids\.npy is not a file of ids"),
    ):
        collection.export(tmp_path / "c.npy", "npy", modality="x")
    assert [path.name for path in tmp_path.iterdir()] == ["c.ids.npy"]


@pytest.mark.parametrize("name", ["n" * 300, "n" * 250, "missing/file", "a\0b"])
@pytest.mark.parametrize(("_writes", "write"), WRITERS.values(), ids=WRITERS)
def test_a_name_that_cannot_be_written_is_an_error_of_diffhash(_writes, write, name, made, hasher, tmp_path):
    with dh.Collection.open(made / "collection") as collection, pytest.raises(DiffhashError):
        write(tmp_path / name, hasher, collection)
    assert list(tmp_path.iterdir()) == []


def test_a_collection_that_is_open_is_not_opened_to_see_what_it_is(hasher, tmp_path, monkeypatch):
    """POSIX drops all locks of a process on a file when the process closes any handle of it."""
    path = tmp_path / "c.dh"
    opened = Path.open

    def refuse(self, *arguments, **options):
        assert self != path
        return opened(self, *arguments, **options)

    with dh.Collection.create(path, hasher) as collection:
        collection.add_codes(np.zeros((3, 1), np.uint8), modality="x")
        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(OutputFileError, match="is not a model"):
            hasher.save(path)
        assert workflows.info(path).kind == "collection"
        assert workflows.verify(path).ok
        monkeypatch.undo()
