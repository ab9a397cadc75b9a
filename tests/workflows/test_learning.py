"""The bar while a model is learned."""

from __future__ import annotations

import diffhash as dh
from diffhash.workflows import learning
from diffhash.workflows.relation import Relation


def test_the_bar_has_no_total_before_the_settings_are_chosen_and_starts_anew_with_each_fit(monkeypatch):
    seen = []

    class Bar:
        def __init__(self, title):
            seen.append(("title", title))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            seen.append(("end",))

        def begin(self, done, total):
            seen.append(("begin", done, total))

        def advance(self, _, what):
            seen.append(("advance", what))

    def fit(self, views, pairs):
        seen.append(("settings",))
        for iteration in (1, 2, 1):
            self.progress(iteration, 0.5)

    monkeypatch.setattr(learning, "Work", Bar)
    monkeypatch.setattr(dh.RefinedHash, "fit", fit)
    hasher = dh.RefinedHash(n_bits=4, max_iter=3)

    learning.learn(hasher, {}, Relation({"x": 5, "y": 5}), sample=0, seed=0)

    assert seen == [
        ("title", "choosing settings"),
        ("settings",),
        ("begin", 0, 6),
        ("advance", "iteration 1, loss 0.5000"),
        ("advance", "iteration 2, loss 0.5000"),
        ("begin", 0, 6),
        ("advance", "iteration 1, loss 0.5000, second target"),
        ("end",),
    ]
    assert hasher.progress is None
