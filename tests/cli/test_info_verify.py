"""``info`` and ``verify``: every kind of file, good and damaged."""

from __future__ import annotations

import json
import shutil
import sqlite3

import numpy as np
import pytest

import diffhash as dh
from tests.cli.process import assert_one_line, diffhash, run


def test_info_and_verify_as_processes(shapes, files, tmp_path):
    told = diffhash("info", shapes, "--json")
    assert (told.returncode, told.stderr) == (0, "")
    facts = json.loads(told.stdout)
    assert (facts["kind"], facts["objects"], facts["bits"]) == ("collection", 60, 16)
    assert [m["name"] for m in facts["modalities"]] == ["image", "text"]
    good = diffhash("verify", shapes)
    assert (good.returncode, good.stdout, good.stderr) == (0, f"{shapes}: in order\n", "")

    damaged = tmp_path / "m.dhm"
    data = bytearray((files.folder / "model.dhm").read_bytes())
    data[-9] ^= 1
    damaged.write_bytes(data)
    bad = diffhash("verify", damaged, "--json")
    assert (bad.returncode, bad.stderr) == (3, "")
    assert json.loads(bad.stdout)["ok"] is False
    assert "checksum" in json.loads(bad.stdout)["problems"][0]
    assert_one_line(diffhash("verify", tmp_path / "none.dh"), 1)
    assert_one_line(diffhash("info", damaged), 1)


def damaged_collection(folder, shapes, files):
    path = folder / "d.dh"
    shutil.copy(shapes, path)
    with sqlite3.connect(path) as db:
        table = next(
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "payload" in name
        )
        column = next(row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] == "payload")
        db.execute(f"UPDATE {table} SET {column} = 'no json' WHERE rowid = 1")
    db.close()
    return path


def nan_features(folder, shapes, files):
    np.save(folder / "n.npy", np.array([[1.0, 2.0], [np.nan, 3.0]]))
    return folder / "n.npy"


def short_table(folder, shapes, files):
    (folder / "t.csv").write_text("a,b\n1,2\n3\n")
    return folder / "t.csv"


def not_ours(folder, shapes, files):
    (folder / "x.bin").write_bytes(b"what is this")
    return folder / "x.bin"


def foreign_database(folder, shapes, files):
    with sqlite3.connect(folder / "f.dh") as db:
        db.execute("CREATE TABLE cats (name TEXT)")
    db.close()
    return folder / "f.dh"


@pytest.mark.parametrize(
    "make",
    [damaged_collection, nan_features, short_table, not_ours, foreign_database],
    ids=lambda f: f.__name__,
)
def test_verify_ends_with_3_where_something_is_wrong(make, shapes, files, tmp_path, capsys):
    path = make(tmp_path, shapes, files)

    status, out, err = run(capsys, "verify", path)

    assert (status, err) == (3, "")
    assert out.splitlines()[-1] == f"{path}: not in order"
    assert len(out.splitlines()) >= 2


def test_info_knows_every_kind_of_file(files, tmp_path, capsys):
    f = files.folder
    np.save(tmp_path / "c.npy", np.zeros((7, 3), dtype=np.uint8))
    (tmp_path / "r.jsonl").write_text("[1, 2]\n[3, 4]\n")

    told = {
        name: json.loads(run(capsys, "info", path, "--json")[1])
        for name, path in {
            "model": f / "model.dhm",
            "codes": tmp_path / "c.npy",
            "array": f / "test_x.npy",
            "npz": f"{f / 'train.npz'}#y",
            "table": f / "pairs.csv",
            "lines": tmp_path / "r.jsonl",
        }.items()
    }

    assert {name: facts["kind"] for name, facts in told.items()} == {
        "model": "model",
        "codes": "codes",
        "array": "array",
        "npz": "features",
        "table": "table",
        "lines": "features",
    }
    assert told["model"]["settings"]["gamma"] == 10.0
    assert (told["codes"]["rows"], told["codes"]["bytes"]) == (7, 3)
    assert told["npz"]["features"] == 64
    assert told["table"]["columns"] == "x, y"


@pytest.fixture
def exported(shapes, tmp_path):
    """Files that diffhash writes, or reads a part of."""
    from diffhash.search import HammingIndex

    with dh.Collection.open(shapes) as collection:
        collection.export(tmp_path / "e.parquet", "parquet")
        collection.export(tmp_path / "e.npy", "npy", modality="image")
    HammingIndex(np.zeros((3, 2), dtype=np.uint8)).save(tmp_path / "i.dhi")
    shutil.copy(tmp_path / "i.dhi", tmp_path / "index")
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 2)), labels=np.arange(3))
    np.save(tmp_path / "labels.npy", np.arange(3))
    (tmp_path / "e.faiss").write_bytes(b"IBxF" + bytes(20))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "facts"),
    [
        ("e.parquet", "table", {"rows": 120}),
        ("e.npy", "codes", {"rows": 60}),
        ("e.ids.npy", "array", {"shape": "60"}),
        ("i.dhi", "index", {"codes": 3, "bits": 16}),
        ("index", "index", {"codes": 3, "bits": 16}),
        ("a.npz", "arrays", {"arrays": "x, labels"}),
        ("a.npz#labels", "array", {"shape": "3"}),
        ("labels.npy", "array", {"shape": "3"}),
    ],
)
def test_files_that_diffhash_writes_are_known_and_in_order(name, kind, facts, exported, capsys):
    told = json.loads(run(capsys, "info", exported / name, "--json")[1])

    assert told["kind"] == kind
    assert told.items() >= facts.items()
    assert run(capsys, "verify", exported / name) == (0, f"{exported / name}: in order\n", "")


def test_a_faiss_index_is_named_and_not_checked(exported, capsys):
    path = exported / "e.faiss"

    assert json.loads(run(capsys, "info", path, "--json")[1])["kind"] == "FAISS index"
    status, out, err = run(capsys, "verify", path)

    assert (status, out) == (1, "")
    assert err == f"diffhash: {path} is a FAISS index. diffhash does not check this kind of file.\n"


@pytest.mark.parametrize("name", ["e.parquet", "e.ids.npy", "i.dhi", "a.npz"])
def test_files_of_these_kinds_that_are_cut_off_are_not_in_order(name, exported, capsys):
    data = (exported / name).read_bytes()
    (exported / name).write_bytes(data[: len(data) - 5])

    assert run(capsys, "verify", exported / name)[0] == 3


def test_a_value_that_is_not_finite_is_found_in_every_array_of_an_archive(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 2)), y=np.array([[1.0], [np.nan]]))

    status, out, _ = run(capsys, "verify", tmp_path / "a.npz")

    assert status == 3
    assert "a.npz#y: there is nan in row 1, feature 0." in out


def test_info_shows_the_weights_of_couples(tmp_path, capsys):
    x = np.random.default_rng(0).normal(size=(50, 4))
    hasher = dh.DiffHash(n_bits=2, couple_weights={("image", "text"): 2.0})
    hasher.fit({"image": x, "text": x[:, :3]}, dh.Pairs.aligned(50)).save(tmp_path / "m.dhm")
    status, out, _ = run(capsys, "info", tmp_path / "m.dhm", "--json")
    assert status == 0
    assert json.loads(out)["settings"]["couple_weights"] == {"image + text": 2.0}
