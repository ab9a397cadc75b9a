"""Codes and payloads of a store as a table of Arrow, and back."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import DiffhashError, InputError
from diffhash.stores import MemoryStore, add_arrow, to_arrow

pa = pytest.importorskip("pyarrow")
CODES = np.array([[1, 0], [2, 0], [3, 0]], np.uint8)


def filled(store, ids):
    payloads = [{"name": "sun", "size": 3}, None, {"tags": ["a", "b"]}]
    store.add_codes(CODES, modality="x", ids=ids, payloads=payloads)
    store.add_codes(CODES[:2] + 4, modality="y", ids=ids[:2])
    return store


def content(store):
    items = [item for block in store.iterate() for item in block]
    return {item.id: ({m: c.tolist() for m, c in item.codes.items()}, item.payload) for item in items}


@pytest.mark.parametrize("ids", [[5, 3, 9], ["e", "c", "i"]])
def test_a_store_goes_through_a_table(ids, tmp_path):
    store = filled(MemoryStore(n_bits=12, modalities=("x", "y")), ids)
    with dh.Collection.create(tmp_path / "c.dh", n_bits=12, modalities=("x", "y")) as collection:
        assert add_arrow(collection, to_arrow(store)) == 5

        assert content(collection) == content(store)
        again = MemoryStore(n_bits=12, modalities=("x", "y"))
        add_arrow(again, to_arrow(collection))
        assert content(again) == content(store)


def test_an_exported_file_is_read_by_an_index_and_by_a_store(tmp_path):
    with dh.Collection.create(tmp_path / "c.dh", n_bits=12, modalities=("x", "y")) as collection:
        filled(collection, [5, 3, 9])
        collection.export(tmp_path / "c.parquet", "parquet")
        expected = content(collection)

    index = dh.HammingIndex.from_parquet(tmp_path / "c.parquet", modality="x")
    assert index.n_bits == 12
    np.testing.assert_array_equal(index.get([9]), CODES[2:])
    store = MemoryStore(n_bits=12, modalities=("x", "y"))
    add_arrow(store, pa.parquet.read_table(tmp_path / "c.parquet"))
    assert content(store) == expected


def test_other_columns_are_the_payload():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {"id": ["u", "v"], "code": [b"\1\0", b"\2\0"], "name": ["sun", None], "year": [1990, 2001]}
    )
    store = MemoryStore(n_bits=12, modalities=("x",))

    add_arrow(store, frame, modality="x")

    assert [item.payload for item in store.get(["u", "v"])] == [
        {"name": "sun", "year": 1990},
        {"name": None, "year": 2001},
    ]


def test_known_objects_are_an_error_unless_replaced():
    store = filled(MemoryStore(n_bits=12, modalities=("x", "y")), [5, 3, 9])
    table = pa.table({"id": [3], "code": [b"\7\0"]})

    with pytest.raises(DiffhashError):
        add_arrow(store, table, modality="x")
    assert add_arrow(store, table, modality="x", replace=True) == 1
    assert store.get([3])[0].codes["x"].tolist() == [7, 0]


BAD = {
    "no code": (pa.table({"id": [1]}), {"modality": "x"}, "needs a column 'code'"),
    "no modality": (pa.table({"code": [b"\1\0"]}), {}, "got neither"),
    "both": (pa.table({"modality": ["x"], "code": [b"\1\0"]}), {"modality": "x"}, "got both"),
    "no ids": (pa.table({"modality": ["x", "y"], "code": [b"\1\0"] * 2}), {}, "need a column 'id'"),
    "payload": (pa.table({"payload": ["{"], "code": [b"\1\0"]}), {"modality": "x"}, "row 0 is not JSON"),
    "list": (pa.table({"payload": ["[1]"], "code": [b"\1\0"]}), {"modality": "x"}, "row 0 must be an object"),
    "not a table": ("codes", {"modality": "x"}, "expected a table of Arrow, got str"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_tables_are_refused_and_nothing_is_stored(kind):
    table, options, message = BAD[kind]
    store = MemoryStore(n_bits=12, modalities=("x", "y"))

    with pytest.raises(InputError, match=message):
        add_arrow(store, table, **options)
    assert len(store) == 0


def test_a_hugging_face_dataset_is_a_view_and_a_table(tmp_path):
    """A column of vectors is a view, its rows are payloads, and a dataset of codes is a table."""
    datasets = pytest.importorskip("datasets")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)).astype(np.float32)
    dataset = datasets.Dataset.from_dict(
        {"key": [f"k{row}" for row in range(40)], "vector": X, "year": list(range(40))}
    )
    views = {"x": dataset.select_columns("vector"), "y": X[:, :3]}
    hasher = dh.DiffHash(n_bits=3).fit(views, dh.Pairs.aligned(40))
    expected = dh.DiffHash(n_bits=3).fit({"x": X, "y": X[:, :3]}, dh.Pairs.aligned(40))
    np.testing.assert_array_equal(hasher.projections_["x"], expected.projections_["x"])
    shuffled = dataset.select([7, 3])
    np.testing.assert_array_equal(
        hasher.encode(shuffled.select_columns("vector"), modality="x"), hasher.encode(X[[7, 3]], modality="x")
    )

    with dh.Collection.create(tmp_path / "c.dh", hasher) as collection:
        collection.add(
            dataset.select_columns("vector"),
            modality="x",
            ids=dataset["key"],
            payloads=dataset.select_columns(["year"]),
        )
        assert collection.get(["k7"])[0].payload == {"year": 7}
        with pytest.raises(InputError, match="column 'key' holds"):
            collection.add(dataset, modality="x")

    codes = datasets.Dataset.from_dict({"id": [4, 2], "code": [b"\1", b"\2"], "year": [1, 2]})
    store = MemoryStore(n_bits=3, modalities=("x",))
    assert add_arrow(store, codes, modality="x") == 2
    assert store.get([2])[0].payload == {"year": 2}
