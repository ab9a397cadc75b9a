"""Small files with embeddings of pictures and captions: reading, splitting, and errors for bad files."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.datasets.files import load_embeddings
from diffhash.datasets.files.array_file import ArrayFile
from diffhash.errors import InputError

from .rows import rows_of


@pytest.fixture
def embeddings(rng):
    return {"image": rng.random((30, 6)).astype(np.float32), "text": rng.random((150, 6)).astype(np.float32)}


def test_captions_stay_with_their_pictures(tmp_path, embeddings):
    np.savez(tmp_path / "coco.npz", **embeddings)

    data = load_embeddings(tmp_path / "coco.npz", n_test=8, n_train=12)

    for part, n in ((data.test, 8), (data.train, 12), (data.database, 22)):
        assert part.views["image"].shape == (n, 6)
        pictures = rows_of(part.views["image"], embeddings["image"])
        captions = rows_of(part.views["text"], embeddings["text"])
        assert captions == [5 * picture + c for picture in pictures for c in range(5)]
        assert list(part.labels["image"]) == pictures
        assert list(part.labels["text"]) == [caption // 5 for caption in captions]
    pairs = dh.Pairs.from_labels(data.train.labels["image"], data.train.labels["text"])
    assert pairs.resolve(12, 60, caller="test").n_positive == 60


def test_one_file_each_with_labels(tmp_path, embeddings, rng):
    labels = rng.random((30, 8)) < 0.3
    np.save(tmp_path / "image.npy", embeddings["image"])
    np.save(tmp_path / "text.npy", embeddings["text"][:30])
    np.save(tmp_path / "labels.npy", labels)

    data = load_embeddings(
        tmp_path / "image.npy", tmp_path / "text.npy", labels=tmp_path / "labels.npy", n_test=5
    )

    rows = rows_of(data.test.views["image"], embeddings["image"])
    np.testing.assert_array_equal(data.test.labels["text"], labels[rows])
    assert data.train is data.database


def test_errors_name_the_bad_array(tmp_path, embeddings):
    np.savez(tmp_path / "odd.npz", image=embeddings["image"], text=embeddings["text"][:149])
    np.savez(tmp_path / "few.npz", image=embeddings["image"], text=embeddings["text"][:29])
    np.savez(tmp_path / "other.npz", a=embeddings["image"], b=embeddings["text"])
    np.savez(tmp_path / "good.npz", **embeddings)
    np.save(tmp_path / "labels.npy", np.arange(29))

    with pytest.raises(
        InputError, match="each of 30 pictures must have the same number of captions, got 149"
    ):
        load_embeddings(tmp_path / "odd.npz", n_test=5)
    with pytest.raises(InputError, match="got 29 captions"):
        load_embeddings(tmp_path / "few.npz", n_test=5)
    with pytest.raises(InputError, match=r"must have one of .*image.* it has a, b"):
        load_embeddings(tmp_path / "other.npz", n_test=5)
    with pytest.raises(InputError, match="29 rows of labels"):
        load_embeddings(tmp_path / "good.npz", labels=tmp_path / "labels.npy", n_test=5)
    with pytest.raises(InputError, match="n_test=5000"):
        load_embeddings(tmp_path / "good.npz")


@pytest.mark.parametrize("name", ["x" * 300 + ".npz", "x" * 300 + ".mat"])
def test_a_name_that_the_system_refuses_is_an_input_error(name, tmp_path):
    with pytest.raises(InputError, match="File name too long"):
        ArrayFile(tmp_path / name, caller="test")


def test_a_folder_in_place_of_a_file_is_an_input_error(tmp_path):
    (tmp_path / "a.mat").mkdir()
    with pytest.raises(InputError, match=r"a\.mat cannot be read"):
        ArrayFile(tmp_path / "a.mat", caller="test")
