"""Featurizers by name: package:Name, entry points, and files of settings."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import FeaturizerMismatchError, InputFileError, ParameterError
from diffhash.featurizers import PictureFeatures, load_featurizer
from diffhash.featurizers.base import recognized, state_hash, takes_texts
from tests.own_featurizer import CapitalCounts

NAME = "tests.own_featurizer:CapitalCounts"


def test_a_class_is_found_by_package_and_name():
    assert isinstance(load_featurizer(NAME), CapitalCounts)
    assert isinstance(load_featurizer("picture"), PictureFeatures)


def test_a_file_of_settings_has_the_arguments(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"featurizer": NAME, "scale": 3.0}))

    assert load_featurizer(path).scale == 3.0


def test_a_module_in_the_current_folder_is_found(tmp_path, monkeypatch):
    source = "from tests.own_featurizer import CapitalCounts\nclass Mine(CapitalCounts):\n    kind = 'mine'\n"
    (tmp_path / "features_beside_me.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)

    assert load_featurizer("features_beside_me:Mine").kind == "mine"
    assert sys.path == before


def test_an_entry_point_is_found(tmp_path, monkeypatch):
    """An installed package registers its featurizers under names."""
    info = tmp_path / "loud-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[diffhash.featurizers]\ncapitals = {NAME}\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert isinstance(load_featurizer("capitals"), CapitalCounts)
    with pytest.raises(ParameterError, match=r"'small'.*Known are .*capitals"):
        load_featurizer("small")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_package:Name", "cannot be imported"),
        ("tests.own_featurizer:Nothing", "cannot be imported"),
        ("subprocess:Popen", r"Popen is not a featurizer, it has no kind, transform"),
        (":Name", "cannot be imported"),
        ("diffhash.featurizers:OnnxTexts", "cannot be made with no arguments"),
        ("unheard-of", "no installed package has one of this name"),
    ],
)
def test_what_is_no_featurizer_is_refused(name, message):
    with pytest.raises(ParameterError, match=message):
        load_featurizer(name)


@pytest.mark.parametrize("text", ["[1]", "{", '{"scale": 1}', ""])
def test_a_file_that_has_no_settings_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputFileError, match=r"x\.json"):
        load_featurizer(path)


@pytest.mark.parametrize("setting", [{"cells": 1e300}, {"size": "x"}, {"no_such": 1}, {"cells": -1}])
def test_settings_of_ours_are_checked(tmp_path, setting):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"featurizer": "hog", **setting}))
    with pytest.raises(ParameterError, match="Hog"):
        load_featurizer(path)


def test_settings_name_only_featurizers(tmp_path):
    """A file from elsewhere cannot call what is not a featurizer."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"featurizer": "os:mkdir", "path": str(tmp_path / "made")}))
    with pytest.raises(ParameterError, match="is not a featurizer"):
        load_featurizer(path)
    assert not (tmp_path / "made").exists()


@pytest.fixture
def saved(tmp_path):
    texts = ["AB", "ab", "Ab c", "QUITE LOUD", "rather quiet", "x"]
    own = CapitalCounts(2.0, (1.0, -1.0))
    views = {"text": own.transform(texts), "other": np.arange(12.0).reshape(6, 2) ** 2}
    hasher = dh.DiffHash(n_bits=1).fit(views, dh.Pairs.aligned(6)).set_featurizers({"text": own})
    hasher.save(tmp_path / "m.dhm")
    return tmp_path / "m.dhm"


def test_a_model_opens_with_the_same_featurizer_only(saved):
    """The hash of the state tells it; the error says what differs."""
    for same in (CapitalCounts(2.0, (1.0, -1.0)), CapitalCounts, NAME):
        assert dh.load(saved, featurizers={"text": same}).featurizers_["text"].scale == 2.0
    with pytest.raises(FeaturizerMismatchError, match=r"scale \(the model has 2.0, got 3.0\)"):
        dh.load(saved, featurizers={"text": CapitalCounts(3.0, (1.0, -1.0))})
    with pytest.raises(FeaturizerMismatchError, match="What differs: offset"):
        dh.load(saved, featurizers={"text": CapitalCounts(2.0, (1.0, 0.0))})


def test_a_built_in_featurizer_is_not_replaced_by_another(tmp_path):
    text = dh.featurizers.TfidfFeatures().fit(["white star", "black star"])
    views = {"text": text.transform(["white star", "black star"] * 4).toarray(), "x": np.eye(8)[:, :3]}
    hasher = dh.DiffHash(n_bits=1).fit(views, dh.Pairs.aligned(8)).set_featurizers({"text": text})
    hasher.save(tmp_path / "m.dhm")
    other = dh.featurizers.TfidfFeatures().fit(["white moon", "black moon"])
    with pytest.raises(FeaturizerMismatchError, match="words"):
        dh.load(tmp_path / "m.dhm", featurizers={"text": other})


def test_the_hash_covers_names_types_and_values():
    state = state_hash("k", {"a": 1}, {"x": np.arange(3)})
    assert state == state_hash("k", {"a": 1}, {"x": np.arange(3)})
    others = [
        state_hash("l", {"a": 1}, {"x": np.arange(3)}),
        state_hash("k", {"a": 2}, {"x": np.arange(3)}),
        state_hash("k", {"a": 1}, {"y": np.arange(3)}),
        state_hash("k", {"a": 1}, {"x": np.arange(3.0)}),
        state_hash("k", {"a": 1}, {"x": np.arange(3)[:, None]}),
    ]
    assert len({state, *others}) == 6


def test_featurizers_without_recognizes_know_all_texts():
    class Texts(CapitalCounts):
        takes = "text"

    assert takes_texts(Texts())
    assert not takes_texts(CapitalCounts())
    assert recognized(Texts(), ["a", "b"]).tolist() == [True, True]
