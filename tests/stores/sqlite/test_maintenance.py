"""Maintaining collections: statistics, compacting, a new model, exports."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError, MissingExtraError, NotFittedError, ParameterError


def test_compacting_frees_space_and_changes_no_answer(path, filled, hasher, views):
    filled.add_codes(
        np.random.default_rng(0).integers(0, 256, (20_000, 2), dtype=np.uint8),
        modality="x",
        payloads=[{"filler": "x" * 50}] * 20_000,
    )
    filled.delete(range(60, 20_060))
    queries = hasher.encode(views["y"], modality="y")
    before = filled.search_codes(queries, k=9)
    size, removed = filled.stats().file_bytes, filled.stats().n_removed

    filled.compact()

    stats = filled.stats()
    assert removed == 20_000
    assert (stats.n_removed, stats.n_segments) == (0, 2)
    assert stats.file_bytes < size / 5
    assert filled.search_codes(queries, k=9) == before
    assert filled.verify().ok
    assert filled.add_codes(queries[:1], modality="x") == [20_060]


@pytest.mark.parametrize("way", ["delete", "upsert"])
def test_removed_codes_are_freed_when_they_are_the_larger_part(path, filled, hasher, views, monkeypatch, way):
    monkeypatch.setattr("diffhash.stores.sqlite.writing._FREE_FROM", 50)
    queries, codes = (hasher.encode(views[m], modality=m) for m in ("y", "x"))
    before = filled.search_codes(queries, into="y", k=9)
    removed = []

    with dh.Collection.open(path) as reader:
        for n in range(20):
            if way == "delete":
                filled.delete(filled.add_codes(codes[:30], modality="x"))
            else:
                filled.upsert_codes(codes[:30], modality="x", ids=range(30))
            removed.append(filled.stats().n_removed)
            assert filled.search_codes(queries, into="y", k=9) == before, n
            assert reader.search_codes(queries, into="y", k=9) == before, n

    # 120 codes are stored: 119 removed ones may stay.
    assert 90 <= max(removed) < 120
    assert min(removed[4:]) == 0
    assert filled.verify().ok


def test_a_removal_is_stored_though_there_is_no_room_to_free_codes(filled, monkeypatch):
    monkeypatch.setattr("diffhash.stores.sqlite.writing._FREE_FROM", 1)

    def full(*_):
        raise dh.errors.CollectionWriteError("the disk is full")

    monkeypatch.setattr("diffhash.stores.sqlite.writing.rewrite_streams", full)

    assert filled.delete(range(50)) == 50

    assert len(filled) == 10
    assert filled.stats().n_removed == 100
    monkeypatch.undo()
    assert filled.verify().ok


def test_stats(filled):
    filled.delete([3], modality="y")
    stats = filled.stats()
    assert (stats.n_objects, stats.n_codes, stats.id_kind) == (60, {"x": 60, "y": 59}, "int")
    assert (stats.n_bits, stats.code_bytes, stats.n_removed, stats.model) == (16, 238, 1, "DiffHash")
    assert stats.payload_bytes == sum(
        len(json.dumps({"n": i, "even": i % 2 == 0, "name": f"object {i}"}, separators=(",", ":")))
        for i in range(60)
    )


def test_refit_encodes_everything_with_the_new_model(path, filled, views):
    filled.delete([9], modality="x")
    new = dh.DiffHash(n_bits=10).fit(views, dh.Pairs.aligned(60))
    order = np.random.default_rng(0).permutation(60)
    kept = order[order != 9]

    with dh.Collection.open(path) as reader:
        assert reader.n_bits == 16
        filled.refit(new, {"x": (kept, views["x"][kept]), "y": (order, views["y"][order])})
        for collection in (filled, reader):
            assert len(collection) == 60
            assert collection.n_bits == collection.hasher.n_bits == 10
            (item,) = collection.get([4])
            np.testing.assert_array_equal(item.codes["y"], new.encode(views["y"][4:5], modality="y")[0])
            np.testing.assert_array_equal(item.codes["x"], new.encode(views["x"][4:5], modality="x")[0])
            assert item.payload["n"] == 4
            assert collection.get([9])[0].modalities == ("y",)
    assert filled.verify().problems == ()


@pytest.mark.parametrize(
    ("act", "how"), [("add", "thread"), ("upsert", "thread"), ("search", "thread"), ("search", "process")]
)
def test_a_model_that_is_replaced_while_another_call_encodes(
    path, collection, hasher, views, monkeypatch, act, how
):
    """Codes of two models are never compared: the objects are encoded again with the new model."""
    other = dh.DiffHash(n_bits=16).fit(
        {m: v[::-1] * np.linspace(1, 5, v.shape[1]) for m, v in views.items()}, dh.Pairs.aligned(60)
    )
    acting = collection
    if how == "process":  # simulated by a second connection, which can only read
        acting = dh.Collection.open(path)
    if act == "search":
        collection.add(views["x"], modality="x")
    held = {"x": (range(60), views["x"])} if act == "search" else {}
    encode = dh.HashModel.encode

    def encode_and_refit(self, X, *, modality):
        monkeypatch.undo()
        codes = encode(self, X, modality=modality)
        thread = threading.Thread(target=collection.refit, args=(other, held))
        thread.start()
        thread.join()
        return codes

    monkeypatch.setattr(dh.HashModel, "encode", encode_and_refit)
    if act == "search":
        hits = acting.search(views["x"][:5], modality="x", into="x", k=1)
        assert [found[0].distance for found in hits] == [0] * 5
    else:
        getattr(acting, act)(views["x"], modality="x", ids=range(60))
    stored = np.array([item.codes["x"] for item in collection.get(range(60))])
    np.testing.assert_array_equal(stored, other.encode(views["x"], modality="x"))
    if acting is not collection:
        acting.close()


def test_more_bits_than_can_be_searched_are_refused_before_anything_is_written(path, filled, hasher, views):
    wide = replace(hasher.model_, n_bits=4097)
    features = {m: (range(60), views[m]) for m in "xy"}
    before = len(filled), filled.n_bits, filled.search(views["x"][:3], modality="x")
    with pytest.raises(ParameterError, match="at most 4096 bits, the model makes 4097"):
        filled.refit(wide, features)
    assert (len(filled), filled.n_bits, filled.search(views["x"][:3], modality="x")) == before
    files = sorted(path.parent.iterdir())
    for target, overwrite in ((path.with_name("new.dh"), False), (path, True)):
        with pytest.raises(ParameterError, match="at most 4096 bits"):
            dh.Collection.create(target, wide, overwrite=overwrite)
    assert sorted(path.parent.iterdir()) == files


def test_refit_refuses_when_features_are_missing(filled, hasher, views):
    X, Y = (range(60), views["x"]), (range(60), views["y"])
    other = dh.DiffHash(n_bits=4).fit({"x": views["x"], "z": views["y"]}, dh.Pairs.aligned(60))
    new = dh.DiffHash(n_bits=10).fit(views, dh.Pairs.aligned(60))
    cases = [
        (lambda: filled.refit(new, {"x": X}), InputError, "features of modality 'y' are missing"),
        (lambda: filled.refit(new, {"x": (range(59), views["x"][:59]), "y": Y}), InputError, "for example of 59"),
        (lambda: filled.refit(new, {"x": (range(1, 61), views["x"]), "y": Y}), InputError, "for example of 0"),
        (lambda: filled.refit(new, {"x": (range(59), views["x"]), "y": Y}), InputError, "missing"),
        (lambda: filled.refit(new, {"x": ([*range(60), 99], np.vstack([views["x"], views["x"][:1]])), "y": Y}),
         InputError, "features of 61 were given"),
        (lambda: filled.refit(new, {"x": (range(60), views["x"][:59]), "y": Y}), InputError, "59 rows"),
        (lambda: filled.refit(new, {"x": 3, "y": Y}), InputError, "must be"),
        (lambda: filled.refit(new, 3), InputError, "dict of"),
        (lambda: filled.refit(other, {"x": X, "z": Y}), ParameterError, "the new model 'x', 'z'"),
        (lambda: filled.refit(dh.DiffHash(n_bits=4), {}), NotFittedError, "not fitted"),
    ]  # fmt: skip
    for act, error, message in cases:
        with pytest.raises(error, match=message):
            act()
    assert filled.n_bits == 16
    np.testing.assert_array_equal(
        filled.get(3)[0].codes["x"], hasher.encode(views["x"][3:4], modality="x")[0]
    )


def test_export_to_parquet(filled, tmp_path, hasher, views):
    pq = pytest.importorskip("pyarrow.parquet")
    filled.delete([2], modality="y")
    (written,) = filled.export(tmp_path / "all.parquet")
    rows = pq.read_table(written).to_pylist()
    assert len(rows) == 119
    codes = hasher.encode(views["y"], modality="y")
    for row in rows:
        assert json.loads(row["payload"])["n"] == row["id"]
        if row["modality"] == "y":
            assert row["code"] == codes[row["id"]].tobytes()
    filled.export(tmp_path / "all.parquet", format="parquet", modality="y")
    assert pq.read_table(written).num_rows == 59


def test_export_to_npy_and_faiss(filled, tmp_path, hasher, views):
    faiss = pytest.importorskip("faiss", exc_type=ImportError)
    codes = hasher.encode(views["x"], modality="x")
    files = filled.export(tmp_path / "x.npy", format="npy", modality="x")
    assert [file.name for file in files] == ["x.npy", "x.ids.npy"]
    np.testing.assert_array_equal(np.load(files[0]), codes)
    np.testing.assert_array_equal(np.load(files[1]), np.arange(60))
    (written,) = filled.export(tmp_path / "x.faiss", format="faiss", modality="x")
    distances, _ = faiss.read_index_binary(str(written)).search(codes[:4], 5)
    np.testing.assert_array_equal(distances, filled.search_arrays(codes[:4], into="x", k=5)[1])
    with pytest.raises(InputError, match="Say which: modality="):
        filled.export(tmp_path / "y.npy", format="npy")
    with pytest.raises(ParameterError, match="format must be one of"):
        filled.export(tmp_path / "y.csv", format="csv")


def test_export_of_string_ids(collection, tmp_path, views):
    faiss = pytest.importorskip("faiss", exc_type=ImportError)
    collection.add(views["x"][:3], modality="x", ids=["a", "é'", ""])
    _, ids = collection.export(tmp_path / "x.npy", format="npy")
    assert np.load(ids).tolist() == ["a", "é'", ""]
    index, ids = collection.export(tmp_path / "x.faiss", format="faiss")
    assert np.load(ids).tolist() == ["a", "é'", ""]
    assert faiss.read_index_binary(str(index)).ntotal == 3
    collection.add(views["x"][:1], modality="x", ids=["z\0"])
    with pytest.raises(InputError, match="end in a NUL"):
        collection.export(tmp_path / "z.npy", format="npy")
    assert not (tmp_path / "z.npy").exists()


@pytest.mark.parametrize(
    ("format_", "module", "line"),
    [
        ("parquet", "pyarrow", r"pip install 'diffhash\[parquet\]'"),
        ("faiss", "faiss", "pip install faiss-cpu"),
    ],
)
def test_a_missing_extra_names_the_install_command(filled, tmp_path, monkeypatch, format_, module, line):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=line):
        filled.export(tmp_path / "out", format=format_, modality="x")
    assert [file.name for file in tmp_path.glob("*out*")] == []
