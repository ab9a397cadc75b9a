"""Small files that are already split: reading them, and errors for bad files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.io

from diffhash.datasets.files import load_split
from diffhash.errors import InputError


@pytest.fixture
def parts(rng):
    return {
        "fourier_train": rng.random((12, 5)).astype(np.float32),
        "fourier_test": rng.random((4, 5)).astype(np.float32),
        "pixel_train": rng.integers(1, 7, (12, 9)).astype(np.uint8),
        "pixel_test": rng.integers(1, 7, (4, 9)).astype(np.uint8),
        "labels_train": np.arange(12) % 3,
        "labels_test": np.arange(4) % 3,
    }


@pytest.mark.parametrize("ending", ["npz", "mat", "h5"])
def test_names_with_train_and_test(tmp_path, parts, ending):
    path = tmp_path / f"digits.{ending}"
    if ending == "npz":
        np.savez(path, **parts)
    elif ending == "mat":
        scipy.io.savemat(path, parts)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            for name, array in parts.items():
                file[name] = array

    data = load_split(path)

    assert sorted(data.train.views) == ["fourier", "pixel"]
    np.testing.assert_array_equal(data.train.views["pixel"], parts["pixel_train"])
    np.testing.assert_array_equal(data.test.labels["fourier"], parts["labels_test"])
    assert data.train.views["pixel"].dtype == np.float32
    assert list(load_split(path, modalities=("pixel",)).train.views) == ["pixel"]


@pytest.mark.parametrize(
    "names",
    [
        ("I_tr", "T_tr", "L_tr", "I_te", "T_te", "L_te"),
        ("XDatabase", "YDatabase", "databaseL", "XTest", "YTest", "testL"),
    ],
)
def test_names_of_matlab_code(tmp_path, parts, names):
    ours = ("fourier_train", "pixel_train", "labels_train", "fourier_test", "pixel_test", "labels_test")
    scipy.io.savemat(tmp_path / "m.mat", {name: parts[our] for name, our in zip(names, ours, strict=True)})

    data = load_split(tmp_path / "m.mat")

    np.testing.assert_array_equal(data.train.views["image"], parts["fourier_train"])
    np.testing.assert_array_equal(data.test.labels["text"], parts["labels_test"])


def test_errors_name_the_bad_array(tmp_path, parts):
    np.savez(tmp_path / "no.npz", a=np.zeros(3))
    np.savez(tmp_path / "yes.npz", **parts)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "yes.npz").read_bytes()[:300])
    with (tmp_path / "pickled.npy").open("wb") as file:
        pickle.dump({"a": 1}, file)
    (tmp_path / "notes.txt").write_text("no")

    for name, words in {
        "no.npz": "image_train, image_test, labels_train",
        "cut.npz": "cut.npz is damaged or cannot be read",
        "pickled.npy": "pickled.npy is damaged or cannot be read",
        "notes.txt": "must be a .npy, .npz, .mat",
        "none.npz": "none.npz does not exist",
    }.items():
        with pytest.raises(InputError, match=words):
            load_split(tmp_path / name)
    with pytest.raises(InputError, match="no modality 'sound'; it has fourier, pixel"):
        load_split(tmp_path / "yes.npz", modalities=("sound",))
