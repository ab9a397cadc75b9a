"""Featurizers that run a model file with ONNX Runtime."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

import diffhash as dh
from diffhash.errors import FeaturizerMismatchError, InputError, InputFileError, ParameterError
from diffhash.featurizers import OnnxPictures, OnnxTexts, load_featurizer, read_pictures

WORDS = {"[UNK]": 0, "red": 1, "green": 2, "blue": 3, "square": 4, "disc": 5}
VECTORS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def save_graph(path, nodes, inputs, output, constants):
    graph = helper.make_graph(
        nodes, "g", inputs, [output], [numpy_helper.from_array(v, name) for name, v in constants.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


@pytest.fixture
def texts(tmp_path):
    """A model that looks up the vector of each word, and its tokenizer."""
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_graph(
        tmp_path / "words.onnx",
        [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])],
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])],
        helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", "t", 4]),
        {"table": VECTORS},
    )
    return tmp_path / "words.onnx"


@pytest.fixture
def pictures(tmp_path):
    """A model that gives the mean colour and some mixtures of it, for pictures of 8 × 8."""
    mix = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    save_graph(
        tmp_path / "colours.onnx",
        [
            helper.make_node("ReduceMean", ["pixels"], ["mean"], axes=[2, 3], keepdims=0),
            helper.make_node("MatMul", ["mean", "mix"], ["vectors"]),
        ],
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["n", 3, 8, 8])],
        helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["n", 5]),
        {"mix": mix},
    )
    return tmp_path / "colours.onnx", mix


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_texts_are_the_mean_of_their_tokens(texts):
    """Padding of batches, and of the tokenizer's own settings, takes no part."""
    made = OnnxTexts(texts, batch_size=2).transform(["red square", "blue", "green disc disc"])

    wanted = [VECTORS[[1, 4]].mean(0), VECTORS[3], VECTORS[[2, 5, 5]].mean(0)]
    assert np.allclose(made, unit(np.stack(wanted)), atol=1e-6)
    assert np.allclose(
        OnnxTexts(texts, pooling="first", normalize=False).transform(["red square"]), VECTORS[1]
    )
    assert np.allclose(OnnxTexts(texts, max_tokens=1, normalize=False).transform(["red square"]), VECTORS[1])
    assert OnnxTexts(texts).transform([]).shape == (0, 4)


def test_an_empty_text_has_a_row_of_zeros(texts):
    assert not OnnxTexts(texts).transform([""]).any()


def test_pictures_are_scaled_and_batched(pictures):
    path, mix = pictures
    rng = np.random.default_rng(0)
    raw = [rng.integers(0, 256, (20, 30, 3), dtype=np.uint8) for _ in range(5)]

    made = OnnxPictures(path, mean=(0.5, 0.4, 0.3), std=(0.5, 0.25, 0.2), batch_size=2).transform(raw)

    pixels = read_pictures(raw, size=8, mode="RGB", caller="test").astype(np.float64) / 255
    colours = ((pixels - [0.5, 0.4, 0.3]) / [0.5, 0.25, 0.2]).mean(axis=(1, 2))
    assert np.allclose(made, unit(colours @ mix), atol=1e-5)


def test_crop_sees_the_middle_only(pictures):
    path, _ = pictures
    picture = np.zeros((40, 80, 3), np.uint8)
    picture[10:30, 30:50] = (255, 0, 0)

    cropped = OnnxPictures(path, crop=0.5).transform([picture])

    assert np.allclose(cropped, OnnxPictures(path).transform([picture[10:30, 30:50]]), atol=1e-6)
    assert not np.allclose(cropped, OnnxPictures(path).transform([picture]), atol=1e-2)


def test_a_model_is_refused_with_another_file(texts, tmp_path):
    """The state has hashes of the files; a changed weight is noticed."""
    own = OnnxTexts(texts)
    names = ["red square", "green square", "blue disc", "red disc", "blue square", "green disc"]
    views = {"text": own.transform(names), "x": np.arange(12.0).reshape(6, 2) ** 2}
    hasher = dh.DiffHash(n_bits=1).fit(views, dh.Pairs.aligned(6)).set_featurizers({"text": own})
    hasher.save(tmp_path / "m.dhm")
    settings = tmp_path / "words.json"
    settings.write_text(json.dumps({"featurizer": "onnx-texts", "model": "words.onnx"}))

    for same in (OnnxTexts(texts, batch_size=1), settings):
        assert (
            dh.load(tmp_path / "m.dhm", featurizers={"text": same}).encode_raw(names, modality="text").any()
        )
    with pytest.raises(FeaturizerMismatchError, match=r"max_tokens \(the model has 256, got 5\)"):
        dh.load(tmp_path / "m.dhm", featurizers={"text": OnnxTexts(texts, max_tokens=5)})
    with pytest.raises(ParameterError, match="has only the hash"):
        dh.load(tmp_path / "m.dhm", featurizers={"text": OnnxTexts})

    model = onnx.load(texts)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(VECTORS * 2, "table"))
    onnx.save(model, texts)
    with pytest.raises(FeaturizerMismatchError, match=r"model_sha256 \(the model has"):
        dh.load(tmp_path / "m.dhm", featurizers={"text": settings})


def test_files_that_cannot_be_run_are_refused(texts, pictures, tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(InputFileError, match=r"bad\.onnx cannot be run"):
        OnnxPictures(tmp_path / "bad.onnx")
    with pytest.raises(InputFileError, match="no such file"):
        OnnxPictures(tmp_path / "missing.onnx")
    with pytest.raises(InputFileError, match="must take input_ids"):
        OnnxTexts(pictures[0])
    with pytest.raises(InputFileError, match="must be float32 pictures"):
        OnnxPictures(texts)
    with pytest.raises(ParameterError, match="takes pictures of 8 × 8, got size=16"):
        OnnxPictures(pictures[0], size=16)
    with pytest.raises(ParameterError, match=r"has no output 'other'\. It has vectors"):
        OnnxPictures(pictures[0], output="other")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputFileError, match=r"is not a tokenizer\.json"):
        OnnxTexts(texts, tmp_path / "other.json")


def test_weights_in_a_file_of_their_own_are_refused(pictures, tmp_path):
    """The hash of the model file would not cover them."""
    outside = tmp_path / "outside.onnx"
    model = onnx.load(pictures[0])
    onnx.save(model, outside, save_as_external_data=True, location="weights.bin", size_threshold=0)
    with pytest.raises(InputFileError, match="save the model with all weights in one file"):
        OnnxPictures(outside)


@pytest.mark.parametrize("raw", ["red", [1], None])
def test_other_things_than_texts_are_refused(texts, raw):
    with pytest.raises(InputError, match=r"OnnxTexts\.transform"):
        OnnxTexts(texts).transform(raw)


@pytest.mark.parametrize("setting", [{"mean": (1, 2)}, {"std": (0, 1, 1)}, {"crop": 2.0}, {"batch_size": 0}])
def test_wrong_settings_are_refused(pictures, setting):
    with pytest.raises(ParameterError, match="OnnxPictures"):
        OnnxPictures(pictures[0], **setting)


def test_settings_are_relative_to_their_file(pictures, tmp_path, monkeypatch):
    (tmp_path / "c.json").write_text(json.dumps({"featurizer": "onnx-pictures", "model": "colours.onnx"}))
    monkeypatch.chdir("/")
    assert load_featurizer(tmp_path / "c.json").n_features == 5
