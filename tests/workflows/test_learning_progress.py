"""Progress while a model is learned."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.workflows import Step
from diffhash.workflows.learning import learn

VIEWS = {"x": np.zeros((5, 2)), "y": np.zeros((5, 2))}


def learn_aligned(hasher, progress):
    return learn(hasher, VIEWS, dh.Pairs.aligned(5), sample=0, seed=0, progress=progress)


def test_there_is_no_total_before_the_settings_are_chosen_and_each_fit_counts_from_1(monkeypatch):
    seen = []

    def fit(self, views, pairs):
        seen.append("settings")
        for iteration in (1, 2, 1):
            self.progress(iteration, 0.5)
        self.model_ = None

    monkeypatch.setattr(dh.RefinedHash, "fit", fit)
    hasher = dh.RefinedHash(n_bits=4, max_iter=3)

    learn_aligned(hasher, seen.append)

    assert seen == [
        Step("choosing settings", 0, None, "iterations"),
        "settings",
        Step("learning", 1, 6, "iterations", "iteration 1, loss 0.5000"),
        Step("learning", 2, 6, "iterations", "iteration 2, loss 0.5000"),
        Step("learning, second target", 1, 6, "iterations", "iteration 1, loss 0.5000"),
    ]
    assert hasher.progress is None


def test_an_exception_from_the_callback_ends_the_learning(monkeypatch):
    def fit(self, views, pairs):
        self.progress(1, 0.5)
        pytest.fail("it went on")

    def cancel(step):
        if step.done:
            raise KeyboardInterrupt

    monkeypatch.setattr(dh.RefinedHash, "fit", fit)
    hasher = dh.RefinedHash(n_bits=4, max_iter=3)

    with pytest.raises(KeyboardInterrupt):
        learn_aligned(hasher, cancel)

    assert hasher.progress is None
