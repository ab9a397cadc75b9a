"""Small files in the format of MIRFlickr and NUS-WIDE: reading, splitting, and errors for bad files."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import diffhash as dh
from diffhash.datasets.files import (
    load_mirflickr,
    load_nuswide,
)
from diffhash.errors import InputError, MissingExtraError

from .rows import rows_of

SMALL = {"n_test": 10, "n_train": 25}


@pytest.fixture
def flickr(rng):
    return {
        "XAll": rng.random((60, 16)).astype(np.float32),
        "YAll": (rng.random((60, 50)) < 0.05).astype(np.uint8),
        "LAll": (rng.random((60, 6)) < 0.4).astype(np.uint8),
    }


def test_flickr_from_one_file(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "mirflickr.mat", flickr)

    data = load_mirflickr(tmp_path / "mirflickr.mat", **SMALL)

    test, train, database = (
        rows_of(part.views["image"], flickr["XAll"]) for part in (data.test, data.train, data.database)
    )
    assert (len(test), len(train), len(database)) == (10, 25, 50)
    assert sorted(test + database) == list(range(60))
    assert set(train) < set(database)
    np.testing.assert_array_equal(data.test.labels["text"], flickr["LAll"][test].astype(bool))
    np.testing.assert_array_equal(data.train.views["text"].toarray(), flickr["YAll"][train])
    assert scipy.sparse.issparse(data.train.views["text"])


def test_flickr_from_a_folder_of_files(tmp_path, flickr):
    """As published: one file per array, each in its own folder."""
    for name, array in flickr.items():
        (tmp_path / name).mkdir()
        scipy.io.savemat(tmp_path / name / f"mirflickr25k-{name.lower()}.mat", {name: array})

    one, again = (load_mirflickr(tmp_path, random_state=3, **SMALL) for _ in range(2))
    other = load_mirflickr(tmp_path, random_state=4, **SMALL)

    np.testing.assert_array_equal(one.test.views["image"], again.test.views["image"])
    assert (one.test.views["image"] != other.test.views["image"]).any()


def test_all_of_the_database_can_be_learned_from(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "m.mat", flickr)

    data = load_nuswide(tmp_path / "m.mat", n_test=10, n_train=None)

    assert data.train is data.database
    assert len(data.train.views["image"]) == 50


def test_pictures_instead_of_features_are_featurized(tmp_path, flickr, rng):
    """MATLAB's shape is (height, width, 3, n)."""
    pictures = rng.integers(0, 256, (20, 30, 3, 60), dtype=np.uint8)
    scipy.io.savemat(tmp_path / "m.mat", {"IAll": pictures, "YAll": flickr["YAll"], "LAll": flickr["LAll"]})

    data = load_mirflickr(tmp_path / "m.mat", **SMALL)

    expected = dh.featurizers.PictureFeatures().transform([pictures[..., i] for i in range(60)])
    rows = rows_of(data.test.views["image"], expected)
    np.testing.assert_array_equal(data.test.labels["image"], flickr["LAll"][rows])


def test_arrays_of_matlab_7_3_are_transposed(tmp_path, flickr, rng):
    """HDF5 stores the dimensions of a MATLAB array in reverse order."""
    h5py = pytest.importorskip("h5py")
    pictures = rng.integers(0, 256, (20, 30, 3, 60), dtype=np.uint8)
    with h5py.File(tmp_path / "iall.mat", "w", userblock_size=512) as file:
        file["IAll"] = pictures.T
    with (tmp_path / "iall.mat").open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    scipy.io.savemat(tmp_path / "rest.mat", {"YAll": flickr["YAll"], "LAll": flickr["LAll"]})
    scipy.io.savemat(tmp_path / "v5.mat", {"IAll": pictures})
    (tmp_path / "v5").mkdir()
    (tmp_path / "v5.mat").rename(tmp_path / "v5" / "iall.mat")
    scipy.io.savemat(tmp_path / "v5" / "rest.mat", {"YAll": flickr["YAll"], "LAll": flickr["LAll"]})
    (tmp_path / "v73").mkdir()
    for name in ("iall.mat", "rest.mat"):
        (tmp_path / name).rename(tmp_path / "v73" / name)

    new, old = (load_mirflickr(tmp_path / folder, **SMALL) for folder in ("v73", "v5"))

    np.testing.assert_array_equal(new.test.views["image"], old.test.views["image"])


def test_missing_h5py_prints_the_install_line(tmp_path, monkeypatch):
    (tmp_path / "iall.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512))
    monkeypatch.setitem(sys.modules, "h5py", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'diffhash\[hdf5\]'"):
        load_mirflickr(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"LAll": None}, "no file of .* has an array LAll"),
        ({"XAll": None}, "XAll or IAll or images"),
        ({"XAll": np.zeros((59, 4))}, "59 rows of image"),
        ({"LAll": np.full((60, 6), 0.5)}, "zeros and ones"),
        ({"XAll": np.zeros((4, 4, 3, 59), dtype=np.uint8)}, "must be uint8 of shape"),
        ({"XAll": np.array(["a", "b"], dtype=object)}, "numeric array"),
    ],
)
def test_errors_name_the_bad_array(tmp_path, flickr, change, words):
    scipy.io.savemat(tmp_path / "m.mat", {k: v for k, v in (flickr | change).items() if v is not None})

    with pytest.raises(InputError, match=words):
        load_mirflickr(tmp_path / "m.mat", **SMALL)


def test_too_few_objects_for_the_split_are_an_error(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "m.mat", flickr)

    with pytest.raises(InputError, match="there are 60 objects, fewer than n_test=2000 and n_train=10000"):
        load_mirflickr(tmp_path / "m.mat")


def test_two_data_sets_in_one_folder_are_an_error(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "a.mat", flickr)
    scipy.io.savemat(tmp_path / "b.mat", flickr)

    with pytest.raises(InputError, match=r"LAll is in .*a\.mat and in .*b\.mat"):
        load_mirflickr(tmp_path, **SMALL)
    with pytest.raises(InputError, match="does not exist"):
        load_mirflickr(tmp_path / "nowhere")
