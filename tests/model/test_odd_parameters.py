"""Parameters that a model file cannot keep."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import DiffhashError


@pytest.mark.parametrize("value", [[[1], [2, 3]], [["a"], 1], [{"a": 1}, 2], [None, [1]]], ids=str)
def test_a_parameter_that_cannot_be_saved_is_an_error_of_ours_and_leaves_no_file(tmp_path, value):
    views = {m: np.random.default_rng(seed).normal(size=(20, 4)) for seed, m in enumerate("xy")}
    hasher = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(20))
    hasher.model_.parameters["gamma"] = value

    with pytest.raises(DiffhashError, match="save: parameter/gamma"):
        hasher.model_.save(tmp_path / "model.dhm")
    assert list(tmp_path.iterdir()) == []
