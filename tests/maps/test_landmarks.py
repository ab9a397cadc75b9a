"""The choice of landmarks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash.maps.landmarks import choose_landmarks


@pytest.mark.parametrize("how", ["random", "kmeans"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_there_are_at_most_as_many_landmarks_as_different_objects(rng, how, sparse):
    distinct = rng.normal(size=(5, 3))
    X = np.repeat(distinct, 40, axis=0)

    found = choose_landmarks(
        scipy.sparse.csr_array(X) if sparse else X, 10, how, 0, caller="test", modality="x"
    )

    assert len(np.unique(found.round(9), axis=0)) == len(found) <= 5
    if how == "random":
        np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(distinct, axis=0))


def test_fewer_objects_than_landmarks_are_all_landmarks(rng):
    X = rng.normal(size=(7, 2))
    found = choose_landmarks(X, 1000, "random", 0, caller="test", modality="x")
    np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(X, axis=0))
