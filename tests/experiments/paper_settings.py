"""Settings for an experiment of one second, for tests of the experiment, the report and the command line."""

from __future__ import annotations

import math

from diffhash.experiments.paper import Settings


def tiny_settings(n_seeds=None):
    """Few objects, classes and bits, but all parts of a full run."""
    return Settings(
        name="tiny",
        seeds=tuple(range(2 if n_seeds is None else n_seeds)),
        classes=(3, 6),
        roc_bits=(3, 6),
        bits=(2, 4, 8),
        n_train=150,
        n_test=40,
        n_positive=200,
        n_negative=400,
        n_landmarks=20,
        scales=(2.0, 5.0),
        gammas=(0.0, 10.0, 1000.0, math.inf),
        sweep_classes=3,
        sweep_bits=4,
    )
