"""Finding what is not finite, whatever the type and the order of an array."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.errors import NonFiniteError
from diffhash.validation import check_view

ORDERS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_value_is_found_and_named(order, dtype, bad, rng):
    X = rng.standard_normal((50, 7)).astype(dtype)
    X[31, 4] = bad

    with pytest.raises(NonFiniteError, match="row 31, feature 4"):
        check_view(order(X), caller="test", modality="x")


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_values_are_finite_though_their_squares_are_not(order, dtype):
    X = order(np.full((50, 7), np.finfo(dtype).max, dtype=dtype))

    np.testing.assert_array_equal(check_view(X, caller="test", modality="x"), X)
