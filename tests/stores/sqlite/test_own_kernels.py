"""Kernel functions of the user's own in a collection."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import ParameterError


def linear(A, B):
    return A @ B.T


def manhattan(A, B):
    return np.abs(A[:, None] - B).sum(axis=2)


def test_an_own_kernel_of_a_new_collection_is_used_at_once(path, views):
    hasher = dh.KernelDiffHash(n_bits=4, kernel=linear, n_landmarks=20, random_state=0)
    hasher.fit(views, dh.Pairs.aligned(60))
    with dh.Collection.create(path, hasher) as collection:
        collection.add(views["x"], modality="x")
        collection.compact()
        expected = collection.search(views["y"], modality="y")
    with dh.Collection.open(path, kernel=linear) as collection:
        assert collection.search(views["y"], modality="y") == expected


@pytest.fixture(params=["kernel", "metric"])
def kernel_collection(path, views, request):
    """The path of a collection whose model has the user's own kernel, or own distance, in one modality."""
    own = {
        "kernel": {"kernel": {"x": linear, "y": "gaussian"}},
        "metric": {"metric": {"x": manhattan, "y": "euclidean"}},
    }
    hasher = dh.KernelDiffHash(n_bits=4, n_landmarks=20, random_state=0, **own[request.param])
    hasher.fit(views, dh.Pairs.aligned(60))
    with dh.Collection.create(path, hasher) as collection:
        collection.add(views["x"], modality="x")
    return path


@pytest.mark.parametrize("kernel", [None, {}, {"y": linear}])
def test_without_the_own_kernel_only_encoding_is_refused(kernel_collection, views, kernel):
    """Nothing is damaged, and the error names the call that takes the kernel."""
    with dh.Collection.open(kernel_collection, kernel=linear) as collection:
        expected = collection.search_item(3, modality="x", into="x")
        by_y = collection.search(views["y"][:2], modality="y")
    with dh.Collection.open(kernel_collection, kernel=kernel, writable=True) as collection:
        assert collection.search_item(3, modality="x", into="x") == expected
        assert collection.search(views["y"][:2], modality="y") == by_y
        assert collection.stats().model == "KernelDiffHash"
        assert collection.verify().problems == ()
        assert collection.hasher.n_bits == 4
        for act in (
            lambda: collection.search(views["x"][:2], modality="x"),
            lambda: collection.add(views["x"], modality="x"),
            lambda: collection.hasher.encode(views["x"], modality="x"),
        ):
            with pytest.raises(ParameterError, match=r"Collection\.open\(path, kernel=\.\.\.\)") as told:
                act()
            assert "damaged" not in str(told.value)
            assert "load(" not in str(told.value)


def test_a_kernel_that_the_model_does_not_need(path, filled, views):
    """It is refused, but not if another process replaced the model after the collection was opened."""
    with (
        dh.Collection.open(path, kernel=linear) as reader,
        pytest.raises(ParameterError, match=r"^Collection\.open: .*Leave kernel out"),
    ):
        reader.search(views["x"], modality="x")
    own = dh.KernelDiffHash(n_bits=4, kernel=linear, n_landmarks=20, random_state=0)
    own.fit(views, dh.Pairs.aligned(60))
    features = {m: (range(60), views[m]) for m in "xy"}
    filled.refit(own, features)
    with dh.Collection.open(path, kernel=linear) as reader:
        assert reader.model.method == "KernelDiffHash"
        filled.refit(dh.DiffHash(n_bits=4).fit(views, dh.Pairs.aligned(60)), features)
        expected = filled.search(views["x"], modality="x")
        assert reader.search(views["x"], modality="x") == expected
    assert filled.verify().problems == ()
