"""Loaders of the benchmark's data, on small files made here. No file of real data is read."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.datasets import DATASETS, DEVELOPMENT, REPORT, data_folder
from benchmarks.loaders import redrawn_mask

FILES = {
    "wiki": ("wiki.npz", "image", "text"),
    "uci-digits": ("uci_digits.npz", "fourier", "karhunen"),
    "cora": ("cora.npz", "words", "links"),
    "scene15": ("scene15.npz", "a", "b"),
    "leaves": ("leaves.npz", "shape", "texture"),
    "ngs": ("ngs.npz", "a", "b"),
}


def write_split(folder, name, first, second, n=(14, 6)):
    """Row r of each view holds r, so that rows can be told apart; classes 0 and 1 in turn."""
    rows = {"train": np.arange(n[0]), "test": np.arange(n[0], sum(n))}
    arrays = {f"{m}_{part}": r[:, None].astype("f2") for m in (first, second) for part, r in rows.items()}
    np.savez(folder / name, **arrays, **{f"labels_{part}": (r % 2).astype("i2") for part, r in rows.items()})


def rows_of(view):
    return np.asarray(view.toarray() if sparse.issparse(view) else view).ravel().astype(int)


@pytest.mark.parametrize("key", FILES)
def test_seed_zero_is_the_split_of_the_file(key, tmp_path):
    write_split(tmp_path, *FILES[key])
    task = DATASETS[key].load(0, tmp_path)

    assert list(task.train) == list(FILES[key][1:])
    for modality in task.train:
        np.testing.assert_array_equal(rows_of(task.train[modality]), np.arange(14))
        np.testing.assert_array_equal(rows_of(task.test[modality]), np.arange(14, 20))
    np.testing.assert_array_equal(task.test_labels, np.arange(14, 20) % 2)
    assert sparse.issparse(task.train[FILES[key][1]]) == (key == "cora")


@pytest.mark.parametrize("key", FILES)
def test_other_seeds_redraw_the_split_of_small_sets_only(key, tmp_path):
    write_split(tmp_path, *FILES[key])
    first, again, other = (DATASETS[key].load(seed, tmp_path) for seed in (1, 1, 2))
    one, two = first.test.values()

    np.testing.assert_array_equal(rows_of(one), rows_of(two))
    np.testing.assert_array_equal(rows_of(one), rows_of(next(iter(again.test.values()))))
    assert (first.n_train, first.n_test) == (14, 6)
    if DATASETS[key].redrawn:
        assert not np.array_equal(rows_of(one), rows_of(next(iter(other.test.values()))))
        np.testing.assert_array_equal(first.test_labels, rows_of(one) % 2)
        assert set(rows_of(one)) | set(rows_of(next(iter(first.train.values())))) == set(range(20))
    else:
        np.testing.assert_array_equal(rows_of(one), np.arange(14, 20))


def test_a_redrawn_split_has_each_class_in_proportion():
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    for seed in range(5):
        mask = redrawn_mask(100, 30, labels, seed)
        assert mask.sum() == 30
        assert np.all(np.abs(np.bincount(labels[mask]) - [18, 9, 3]) <= 1)


def test_stamps_keep_the_first_object_of_each_caption(tmp_path):
    n = 40
    caption = np.arange(n) // 2
    test = np.arange(n) >= 30
    image, text = (np.arange(n)[:, None].astype("f2") + shift for shift in (0, 100))
    np.savez(tmp_path / "stamps.npz", image=image, text_en=text, caption=caption, test=test)

    task = DATASETS["stamps"].load(0, tmp_path)

    np.testing.assert_array_equal(rows_of(task.train["image"]), np.arange(0, 30, 2))
    np.testing.assert_array_equal(rows_of(task.test["text"]), 100 + np.arange(30, 40, 2))
    assert task.train_labels is None
    redrawn = DATASETS["stamps"].load(1, tmp_path)
    assert (redrawn.n_train, redrawn.n_test) == (15, 5)
    np.testing.assert_array_equal(rows_of(redrawn.test["image"]) + 100, rows_of(redrawn.test["text"]))


def test_every_dataset_says_what_it_may_be_used_for():
    roles = {key: dataset.role for key, dataset in DATASETS.items()}

    assert {key for key, role in roles.items() if role == DEVELOPMENT} == {
        "wiki",
        "uci-digits",
        "cora",
        "scene15",
        "aligned",
    }
    assert set(roles.values()) == {DEVELOPMENT, REPORT}


def test_the_folder_is_what_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("DIFFHASH_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("DIFFHASH_DATA")
    assert data_folder() is None
    assert DATASETS["aligned"].available(None)
    assert not DATASETS["wiki"].available(None)


def test_aligned_embeddings_are_of_one_space_and_unit_length(tmp_path):
    task = DATASETS["aligned"].load(0, tmp_path)

    assert {X.shape[1] for X in task.test.values()} == {128}
    np.testing.assert_allclose(np.linalg.norm(task.test["text"], axis=1), 1, rtol=1e-5)
    assert not np.array_equal(task.test["text"], DATASETS["aligned"].load(1, tmp_path).test["text"])
