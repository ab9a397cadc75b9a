"""A featurizer that a user could have written."""

from __future__ import annotations

import numpy as np


class CapitalCounts:
    """A featurizer that a user wrote, with parameters and an array."""

    kind = "capital-counts"
    n_features = 2

    def __init__(self, scale=1.0, offset=(0.0, 0.0)):
        self.scale, self.offset = scale, np.asarray(offset)

    def transform(self, raw):
        counts = [[sum(map(str.isupper, text)), len(text)] for text in raw]
        return np.array(counts, dtype=np.float64) * self.scale + self.offset

    def state(self):
        return {"scale": self.scale}, {"offset": self.offset}

    @classmethod
    def from_state(cls, parameters, arrays):
        return cls(parameters["scale"], arrays["offset"])
