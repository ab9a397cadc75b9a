"""The stored state of featurizers, and errors for a state that was tampered with."""

import json

import numpy as np
import pytest

from diffhash.errors import DiffhashError, NotFittedError
from diffhash.featurizers import DrawingFeatures, Featurizer, HogFeatures, PictureFeatures, TfidfFeatures
from diffhash.featurizers.registry import featurizer_from_state

TEXTS = ["LATIN SMALL LETTER A", "BLACK STAR", "schöne Grüße", "数学", "a\nb\tc", "\x85 \x1c odd\u2028spaces"]


def pictures():
    return np.random.default_rng(0).integers(0, 256, (3, 20, 30), dtype=np.uint8)


CASES = [
    (TfidfFeatures().fit(TEXTS), TEXTS),
    (TfidfFeatures(char_ngrams=(1, 3), char_weight=0.5).fit([*TEXTS, "lone \ud800 surrogate"]), TEXTS),
    (HogFeatures(cells=4, signed=True, thumbnail=3), pictures()),
    (PictureFeatures(cells=3, hues=5), pictures()),
    (DrawingFeatures(cells=3, pen=0.1), pictures()),
]


@pytest.mark.parametrize(("featurizer", "raw"), CASES)
def test_a_featurizer_is_the_same_after_a_round_trip_of_its_state(featurizer, raw):
    parameters, arrays = featurizer.state()

    parameters = json.loads(json.dumps(parameters))
    again = featurizer_from_state(featurizer.kind, parameters, arrays)

    assert isinstance(again, Featurizer)
    assert type(again) is type(featurizer)
    assert again.get_params() == featurizer.get_params()
    assert again.n_features == featurizer.n_features == featurizer.transform(raw).shape[1]
    before, after = featurizer.transform(raw), again.transform(raw)
    assert (before != after).sum() == 0


def test_an_empty_vocabulary_stays_empty():
    fitted = TfidfFeatures(char_ngrams=None).fit(["word"])
    parameters, arrays = fitted.state()

    assert featurizer_from_state("tfidf", parameters, arrays).ngrams_ == []


def test_an_unfitted_featurizer_has_no_state():
    with pytest.raises(NotFittedError):
        TfidfFeatures().state()


def words(*entries):
    return np.frombuffer("\n".join(entries).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("changed", "arrays"),
    [
        ({"min_count": 0}, {}),
        ({"min_count": "1"}, {}),
        ({"char_weight": None}, {}),
        ({"char_ngrams": [3, 2]}, {}),
        ({"char_ngrams": [1, 10**9]}, {}),
        ({"char_ngrams": {}}, {}),
        ({"surplus": 1}, {}),
        ({}, {"idf": np.ones(2, dtype=np.float32)}),
        ({}, {"idf": np.ones(3)}),
        ({}, {"idf": np.full(3, np.nan, dtype=np.float32)}),
        ({}, {"idf": np.ones((3, 1), dtype=np.float32)}),
        ({}, {"words": words("a", "b", "b")}),
        ({}, {"words": words("a", "b")}),
        ({}, {"words": np.array([0xFF, 0xFE], dtype=np.uint8)}),
        ({}, {"words": np.zeros((3, 3), dtype=np.uint8)}),
        ({}, {"words": np.arange(3)}),
        ({}, {"words": words("a"), "ngrams": words("x", "y")}),
        ({}, {"surplus": np.zeros(1)}),
    ],
)
def test_a_tampered_vocabulary_is_refused(changed, arrays):
    parameters, state = TfidfFeatures().fit(["a b c"]).state()

    with pytest.raises(DiffhashError):
        TfidfFeatures.from_state({**parameters, **changed}, {**state, **arrays})


@pytest.mark.parametrize(
    ("featurizer", "changed"),
    [
        (HogFeatures(), {"cells": 0}),
        (HogFeatures(), {"cells": "8"}),
        (HogFeatures(), {"block": 9}),
        (HogFeatures(), {"size": 10**6}),
        (HogFeatures(), {"signed": 1}),
        (HogFeatures(), {"thumbnail_weight": "x"}),
        (PictureFeatures(), {"size": 10**6}),
        (PictureFeatures(), {"cells": [1]}),
        (PictureFeatures(), {"hues": True}),
        (PictureFeatures(), {"colour_weight": None}),
        (PictureFeatures(), {"surplus": 1}),
    ],
)
def test_tampered_parameters_are_refused(featurizer, changed):
    with pytest.raises(DiffhashError):
        type(featurizer).from_state({**featurizer.state()[0], **changed}, {})
