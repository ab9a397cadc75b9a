"""The choice of landmarks."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.errors import ParameterError
from diffhash.maps.landmarks import choose_landmarks


def test_too_few_different_centres_of_k_means_are_an_error():
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 40, axis=0)
    with pytest.raises(ParameterError, match="different centres"):
        choose_landmarks(X, 10, "kmeans", 0, caller="test", modality="x")
