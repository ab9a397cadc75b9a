"""Progress while a model is learned."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.workflows import Step
from diffhash.workflows.learn_model import learn
from diffhash.workflows.row_relation import RowRelation

VIEWS = {"x": np.zeros((5, 2)), "y": np.zeros((5, 2))}


def learn_aligned(hasher, progress):
    return learn(
        hasher, VIEWS, RowRelation({"x": 5, "y": 5}), sample=0, seed=0, calibrate=False, progress=progress
    )


def test_steps_count_percent_and_say_what_is_being_done(monkeypatch):
    seen = []

    def fit(self, views, pairs):
        for done, message in ((0.0, "comparing"), (0.504, "refining"), (1.0, "done")):
            self.progress(done, message)
        self.model_ = None

    monkeypatch.setattr(dh.RefinedHash, "fit", fit)
    hasher = dh.RefinedHash(n_bits=4, max_iter=3)

    learn_aligned(hasher, seen.append)

    assert seen == [
        Step("learning", 0, 100, "percent", "comparing"),
        Step("learning", 50, 100, "percent", "refining"),
        Step("learning", 100, 100, "percent", "done"),
    ]
    assert hasher.progress is None


def test_an_exception_from_the_callback_ends_the_learning(monkeypatch):
    def fit(self, views, pairs):
        self.progress(0.5, "refining")
        pytest.fail("it went on")

    def cancel(step):
        if step.done:
            raise KeyboardInterrupt

    monkeypatch.setattr(dh.RefinedHash, "fit", fit)
    hasher = dh.RefinedHash(n_bits=4, max_iter=3)

    with pytest.raises(KeyboardInterrupt):
        learn_aligned(hasher, cancel)

    assert hasher.progress is None
