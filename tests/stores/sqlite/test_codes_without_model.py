"""Collections of codes from elsewhere, which have no model."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import CodeError, CollectionError, NoModelError, ParameterError


@pytest.fixture
def codes():
    return np.random.default_rng(0).integers(0, 256, (20, 32), dtype=np.uint8)


@pytest.fixture
def bare(path, codes):
    with dh.Collection.create(path, n_bits=256, modalities=("image",)) as made:
        made.add_codes(codes, modality="image", payloads=[{"n": i} for i in range(20)])
        yield made


def test_codes_are_stored_and_found_and_stay_in_the_file(bare, path, codes):
    near = codes[:3].copy()
    near[:, 0] ^= 1
    bare.close()

    with dh.Collection.open(path) as opened:
        assert (opened.has_model, opened.n_bits, opened.modalities) == (False, 256, ("image",))
        assert [[hit.id for hit in hits] for hits in opened.search_codes(near, k=1)] == [[0], [1], [2]]
        assert [len(hits) for hits in opened.within_codes(near, radius=1)] == [1, 1, 1]
        assert opened.search_item(3, into="image", k=2, radius=256)[0].id != 3
        assert opened.duplicates(radius=0).n_pairs == 0
        assert opened.stats().model is None
        assert opened.verify().problems == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.add(np.zeros((1, 4)), modality="image"),
        lambda c: c.add_raw(["x"], modality="image"),
        lambda c: c.upsert(np.zeros((1, 4)), modality="image", ids=[1]),
        lambda c: c.search(np.zeros((1, 4)), modality="image"),
        lambda c: c.search_raw(["x"], modality="image"),
        lambda c: c.within(np.zeros((1, 4)), modality="image", radius=1),
        lambda c: c.within_raw(["x"], modality="image", radius=1),
        lambda c: c.model,
        lambda c: c.hasher,
    ],
)
def test_what_needs_a_model_says_so(bare, call):
    with pytest.raises(NoModelError, match=r"no model, so it cannot encode.*use add_codes"):
        call(bare)
    assert len(bare) == 20


def test_maintenance_works_without_a_model(bare, tmp_path, codes):
    bare.delete([0, 1])
    bare.compact()
    bare.export(tmp_path / "codes.npy", "npy")
    bare.export(tmp_path / "codes.parquet", "parquet")

    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), codes[2:])
    assert bare.verify().problems == ()
    assert not bare.upgrade()
    info = workflows.info(bare.path)
    assert (info.model, info.details["objects"], info.details["bits"]) == (None, 18, 256)
    assert workflows.verify(bare.path).ok


def test_refit_gives_it_a_model(path, hasher, views):
    with dh.Collection.create(path, n_bits=3, modalities=("y", "x")) as made:
        made.add_codes(np.arange(5, dtype=np.uint8)[:, None], modality="x", ids=range(5))
        made.refit(hasher, {"x": (range(5), views["x"][:5])})
        assert (made.has_model, made.n_bits) == (True, hasher.n_bits)
        assert made.search(views["x"][:1], modality="x", into="x", k=1)[0][0].distance == 0
    with dh.Collection.open(path) as opened:
        assert opened.verify().problems == ()
        assert opened.stats().model == "DiffHash"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"n_bits": 8},
        {"modalities": ("image",)},
        {"n_bits": 0, "modalities": ("image",)},
        {"n_bits": 4097, "modalities": ("image",)},
        {"n_bits": 8.5, "modalities": ("image",)},
        {"n_bits": 8, "modalities": "image"},
        {"n_bits": 8, "modalities": ()},
        {"n_bits": 8, "modalities": ("a", "a")},
        {"n_bits": 8, "modalities": ("", "a")},
        {"n_bits": 8, "modalities": (1,)},
        {"n_bits": 8, "modalities": 3},
        {"n_bits": 8, "modalities": ("a",), "fused": "b"},
        {"n_bits": 8, "modalities": ("a",), "featurizers": {}},
    ],
    ids=str,
)
def test_a_description_that_is_not_complete_makes_no_file(path, arguments):
    with pytest.raises(ParameterError, match=r"Collection\.create"):
        dh.Collection.create(path, **arguments)
    assert not path.exists()


def test_a_hasher_says_bits_and_modalities_itself(path, hasher):
    with pytest.raises(ParameterError, match="those of the hasher"):
        dh.Collection.create(path, hasher, n_bits=16)
    assert not path.exists()


def test_codes_of_another_width_are_refused(bare):
    with pytest.raises(CodeError):
        bare.add_codes(np.zeros((1, 8), dtype=np.uint8), modality="image")
    with pytest.raises(CodeError):
        bare.within_codes(np.zeros((1, 8), dtype=np.uint8), radius=1)


def test_featurizers_and_kernels_need_a_model(bare, path):
    bare.close()
    with pytest.raises(CollectionError, match="no model"):
        dh.Collection.open(path, featurizers={"image": object()})


def test_a_model_that_was_removed_from_a_file_is_damage(collection, path):
    """A model of no bytes means that there is none only if the checksum of the description says so, too."""
    import sqlite3

    collection.close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = x'' WHERE name = 'model'")
    connection.commit()
    connection.close()

    with dh.Collection.open(path) as opened:
        assert not opened.verify().ok
        with pytest.raises(dh.errors.CollectionFileError, match="model"):
            _ = opened.model
