"""What is promised about equal results: equal bytes for equal threads, nearly equal codes otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import diffhash as dh
from diffhash.hashers import training_data
from diffhash.model import HashModel
from diffhash.model.file import read_model, write_model

HASHERS = {
    "diff": lambda: dh.DiffHash(n_bits=16),
    "kernel": lambda: dh.KernelDiffHash(n_bits=16, n_landmarks=100),
    "boosted": lambda: dh.BoostedHash(n_bits=8),
}


def views_of(labels, n_features):
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(labels.max() + 1, sum(n_features)))
    both = (centres[labels] + rng.normal(size=(len(labels), sum(n_features)))).astype(np.float32)
    return {"x": both[:, : n_features[0]], "y": both[:, n_features[0] :]}


def fit_with(n_threads, make, views, pairs):
    with threadpool_limits(n_threads, user_api="blas"):
        return make().fit(views, pairs).model_


def equal_bits(one, other, views):
    """For each object, which of its bits are equal: bool of shape (n, n_bits)."""
    codes = [[model.encode(X, modality=m) for m, X in views.items()] for model in (one, other)]
    first, second = (dh.codes.unpack(np.concatenate(of_views), one.n_bits) for of_views in codes)
    return first == second


@pytest.mark.parametrize("make", HASHERS.values(), ids=HASHERS.keys())
def test_many_objects_give_equal_bytes_for_equal_threads_and_equal_codes_otherwise(make):
    """With more than 20,000 objects BLAS may use several threads, which sum in another order."""
    n = training_data._FEW_OBJECTS + 500
    views, pairs = views_of(np.arange(n) % 20, (36, 24)), dh.Pairs.aligned(n)

    one, two, again = (fit_with(n_threads, make, views, pairs) for n_threads in (1, 2, 2))

    assert two.to_bytes() == again.to_bytes()
    assert {library["threads"] for library in one.learned_with["blas"]} <= {1}
    assert {library["threads"] for library in two.learned_with["blas"]} <= {2}
    assert equal_bits(one, two, views).all(axis=1).mean() >= 0.999


def test_the_bits_of_refined_codes_hardly_depend_on_the_threads(monkeypatch):
    """The limit is lowered and the settings are fixed: otherwise this takes minutes."""
    monkeypatch.setattr(training_data, "_FEW_OBJECTS", 500)
    labels = np.arange(600) % 5
    views, pairs = views_of(labels, (80, 60)), dh.Pairs.from_labels(labels, labels)
    settings = {"features": "linear", "ridge": 0.01, "penalty": 0.01, "negative_target": -1.0}

    one, two, again = (
        fit_with(n_threads, lambda: dh.RefinedHash(n_bits=8, **settings), views, pairs)
        for n_threads in (1, 2, 2)
    )

    assert two.to_bytes() == again.to_bytes()
    assert equal_bits(one, two, views).mean() >= 0.999


def test_few_objects_give_equal_bytes_for_any_number_of_threads(small_data, small_pairs):
    models = [
        fit_with(n_threads, lambda: dh.KernelDiffHash(n_bits=4), small_data.train.views, small_pairs)
        for n_threads in (1, 2, 4)
    ]

    assert len({model.to_bytes() for model in models}) == 1


def test_a_model_file_says_which_blas_computed_it(small_data, small_pairs, tmp_path):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    hasher.save(tmp_path / "m")

    loaded = HashModel.load(tmp_path / "m")

    # Not every BLAS can be asked: then the list is empty.
    for library in loaded.learned_with["blas"]:
        assert set(library) == {"library", "version", "architecture", "threads"}
        assert library["threads"] == 1
    assert loaded.to_bytes() == (tmp_path / "m").read_bytes()


def test_a_model_of_an_older_version_has_no_such_entry_and_keeps_its_bytes(small_data, small_pairs, tmp_path):
    dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs).save(tmp_path / "m")
    header, arrays = read_model(tmp_path / "m")
    del header["learned_with"]
    write_model(tmp_path / "m", header, arrays)

    loaded = HashModel.load(tmp_path / "m")

    assert loaded.learned_with == {}
    assert loaded.to_bytes() == (tmp_path / "m").read_bytes()
