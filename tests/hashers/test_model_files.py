"""Model files with a correct checksum and wrong contents; saving kernels and parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import ModelFileError, NotFittedError, ParameterError
from diffhash.model import HashModel, model_of
from diffhash.model.file import read_model, write_model


@pytest.fixture
def saved(small_data, small_pairs, tmp_path):
    path = tmp_path / "model.dhm"
    dh.KernelDiffHash(n_bits=3, n_landmarks=20).fit(small_data.train.views, small_pairs).save(path)
    return path


def changed_header(key, value):
    def change(header, arrays):
        header[key] = value

    return change


def changed_array(key, value):
    def change(header, arrays):
        arrays[key] = value(arrays[key])

    return change


def changed_map(key, value):
    def change(header, arrays):
        header["maps"][0]["parameters"][key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        changed_header("n_features", [1, 64]),
        changed_header("n_features", ["a", 64]),
        changed_header("modalities", ["x", "x"]),
        changed_header("modalities", ["x"]),
        changed_header("class", "Popen"),
        changed_header("parameters", {"n_bits": "boo"}),
        changed_header("parameters", {"n_bits": 3, "gamma": {"float": "abc"}}),
        changed_header("parameters", {"n_bits": 3, "gamma": {"code": "1"}}),
        changed_header("parameters", {"n_bits": 3, "nonsense": 1}),
        changed_header("parameters", {"n_bits": 3, "couple_weights": {"couples": [[["x", 7], 1.0]]}}),
        changed_header("maps", [{"kind": "shell", "parameters": {}}] * 2),
        changed_map("bandwidth", 0.0),
        changed_map("bandwidth", "a"),
        changed_array("projection/0", lambda a: a * np.nan),
        changed_array("projection/1", lambda a: a[:2]),
        changed_array("threshold/0", lambda a: np.ones((3, 3))),
        changed_array("map/0/landmarks", lambda a: a[0]),
        changed_array("map/0/scale", lambda a: a[:5]),
        changed_array("map/0/landmarks", lambda a: a.astype(np.int64)),
    ],
)
def test_load_refuses_contents_that_are_not_consistent(saved, change):
    header, arrays = read_model(saved)
    change(header, arrays)
    write_model(saved, header, arrays)
    with pytest.raises(ModelFileError):
        dh.load(saved)


def test_an_unchanged_copy_loads(saved):
    header, arrays = read_model(saved)
    write_model(saved, header, arrays)
    assert repr(dh.load(saved)).startswith("KernelDiffHash")


def test_a_deeply_nested_header_is_refused(tmp_path):
    path = tmp_path / "m"
    nested = b'{"__metadata__":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    path.write_bytes(len(nested).to_bytes(8, "little") + nested)
    with pytest.raises(ModelFileError):
        dh.load(path)


def linear(X, landmarks):
    return X @ landmarks.T


@pytest.mark.parametrize("given", [linear, {"x": linear}])
def test_load_uses_a_kernel_only_for_the_modality_that_had_one(small_data, small_pairs, tmp_path, given):
    hasher = dh.KernelDiffHash(n_bits=3, n_landmarks=20, kernel={"x": linear, "y": "gaussian"})
    hasher.fit(small_data.train.views, small_pairs).save(tmp_path / "m")
    loaded = dh.load(tmp_path / "m", kernel=given)
    for modality in ("x", "y"):
        X = small_data.test.views[modality]
        np.testing.assert_array_equal(
            loaded.encode(X, modality=modality), hasher.encode(X, modality=modality)
        )
    loaded.fit(small_data.train.views, small_pairs)
    with pytest.raises(ModelFileError, match="kernel function of your own"):
        dh.load(tmp_path / "m")


def test_load_refuses_a_kernel_that_the_model_does_not_need(saved):
    with pytest.raises(ParameterError, match="Leave kernel out"):
        dh.load(saved, kernel=linear)


@pytest.mark.parametrize(
    "landmarks",
    [
        lambda X: scipy.sparse.csr_array(X[:20]),
        lambda X: X[:20].astype(">f4"),
        lambda X: X[:20].astype(np.longdouble).astype(np.float64),
        lambda X: np.asfortranarray(X[:20]),
    ],
)
def test_landmarks_of_any_array_form_can_be_saved(small_data, small_pairs, tmp_path, landmarks):
    given = {m: landmarks(X) for m, X in small_data.train.views.items()}
    hasher = dh.KernelDiffHash(n_bits=3, landmarks=given).fit(small_data.train.views, small_pairs)
    hasher.save(tmp_path / "m")
    loaded = dh.load(tmp_path / "m")
    X = small_data.test.views["x"]
    np.testing.assert_array_equal(loaded.encode(X, modality="x"), hasher.encode(X, modality="x"))


def test_a_progress_callback_is_not_saved(small_data, tmp_path):
    labels = small_data.train.labels
    hasher = dh.RefinedHash(
        n_bits=4,
        features="linear",
        ridge=0.01,
        penalty=0.01,
        negative_target=-1.0,
        progress=lambda i, loss: None,
    )
    hasher.fit(small_data.train.views, dh.Pairs.from_labels(labels["x"], labels["y"])).save(tmp_path / "m")
    assert dh.load(tmp_path / "m").progress is None


def test_to_bytes_gives_the_bytes_of_the_file(saved, small_data):
    hasher = dh.load(saved)
    assert hasher.model_.to_bytes() == saved.read_bytes()
    loaded = HashModel.from_bytes(saved.read_bytes(), name="the model in a collection")
    X = small_data.test.views["x"]
    np.testing.assert_array_equal(loaded.encode(X, modality="x"), hasher.encode(X, modality="x"))


def test_an_unfitted_hasher_has_no_model():
    with pytest.raises(NotFittedError, match="Call fit first"):
        model_of(dh.DiffHash(), caller="save")


@pytest.mark.parametrize("spoil", [lambda d: d[:-1], lambda d: d[:20], lambda d: b"", lambda d: b"x" * 99])
def test_the_error_about_bad_bytes_has_their_name(saved, spoil):
    with pytest.raises(ModelFileError, match="the model in a collection"):
        HashModel.from_bytes(spoil(saved.read_bytes()), name="the model in a collection")
