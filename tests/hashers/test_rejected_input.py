"""Bad seeds, arrays, kernels and weights raise one clear error."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError, ParameterError


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
def test_seeds_are_checked(small_data, small_pairs, seed):
    for make in (dh.DiffHash, dh.BoostedHash, dh.RefinedHash, dh.KernelDiffHash):
        with pytest.raises(ParameterError, match="random_state"):
            make(n_bits=2, random_state=seed).fit(small_data.train.views, small_pairs)
    with pytest.raises(ParameterError, match="random_state"):
        dh.Pairs.from_labels([0, 1], [0, 1], 1, 1, random_state=seed)
    with pytest.raises(ParameterError, match="random_state"):
        dh.Pairs.aligned(3).sample(1, 1, random_state=seed)


def test_ragged_rows_masked_arrays_nan_kernels_and_huge_gammas_raise_one_clear_error(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    with pytest.raises(InputError, match="differ in length"):
        hasher.encode([[1.0, 2.0], [1.0]], modality="x")
    masked = np.ma.masked_greater(small_data.test.views["x"], 0)
    with pytest.raises(InputError, match="masked"):
        hasher.encode(masked, modality="x")
    with pytest.raises(ParameterError, match="NaN or infinity"):
        dh.KernelDiffHash(n_bits=2, n_landmarks=5, kernel=lambda X, z: np.full((len(X), len(z)), np.nan)).fit(
            small_data.train.views, small_pairs
        )
    with pytest.raises(ParameterError, match="gamma"):
        dh.DiffHash(n_bits=2, gamma=1e45).fit(small_data.train.views, small_pairs)
