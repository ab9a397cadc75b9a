"""Featurizers of texts and pictures that a user could have written."""

from __future__ import annotations

import numpy as np

from diffhash.featurizers import read_pictures

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class LetterCounts:
    """How often each letter occurs."""

    kind, takes, n_features = "letter-counts", "text", 26

    def __init__(self, weight=1.0):
        self.weight = weight

    def transform(self, texts):
        counts = [[text.lower().count(letter) for letter in LETTERS] for text in texts]
        return self.weight * np.array(counts, dtype=np.float32)

    def state(self):
        return {"weight": self.weight}, {}

    @classmethod
    def from_state(cls, parameters, _):
        return cls(**parameters)


class MeanColours:
    """The mean colours of a picture and of its quarter in the middle."""

    kind, takes, n_features = "mean-colours", "pictures", 6

    def transform(self, pictures):
        pixels = read_pictures(pictures, size=16, mode="RGB", caller="MeanColours").astype(np.float32)
        parts = [pixels.mean(axis=(1, 2)), pixels[:, 4:12, 4:12].mean(axis=(1, 2))]
        return np.hstack(parts) / 255

    def state(self):
        return {}, {}

    @classmethod
    def from_state(cls, *_):
        return cls()
