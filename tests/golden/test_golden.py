"""Model files of every format version can be loaded and encode the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.model.file import FORMAT_VERSION

from .make import inputs, models, raw_inputs

FILES = sorted(Path(__file__).parent.glob("*.dhm"))
RAW = [path for path in FILES if path.stem.startswith("raw-")]


@pytest.mark.parametrize("path", [path for path in FILES if path not in RAW], ids=lambda path: path.stem)
def test_golden_file_encodes_the_same_bits(path):
    hasher = dh.load(path)
    expected = np.load(path.with_suffix(".npz"))
    for modality, X in inputs(path.stem.split("-")[0])[0].items():
        # On another machine, rounding may change the bit of a value that is very close to its threshold.
        clear = (np.abs(hasher.project(X, modality=modality)) > 1e-6).all(axis=1)
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(hasher.encode(X, modality=modality)[clear], expected[modality][clear])


@pytest.mark.parametrize("path", RAW, ids=lambda path: path.stem)
def test_golden_file_with_featurizers_encodes_raw_objects(path):
    hasher = dh.load(path)
    expected = np.load(path.with_suffix(".npz"))
    for modality, raw in raw_inputs().items():
        values = hasher.project(hasher.featurize(raw, modality=modality), modality=modality)
        clear = (np.abs(values) > 1e-5).all(axis=1)
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(
            hasher.encode_raw(raw, modality=modality)[clear], expected[modality][clear]
        )


def test_every_method_has_a_golden_file_of_the_current_format():
    assert {path.stem for path in FILES} >= {f"{name}-v{FORMAT_VERSION}" for name in (*models(), "raw")}
