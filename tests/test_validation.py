"""Checks of input arrays: values that are not finite, and objects that NumPy cannot read."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.codes import check_codes
from diffhash.errors import InputError, NonFiniteError
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


class Tensor:
    """Behaves as a torch tensor that NumPy cannot read."""

    shape = (3, 2)

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error

    def detach(self):
        return self

    def cpu(self):
        return self


@pytest.mark.parametrize(
    "error",
    [
        TypeError("can't convert cuda:0 device type tensor to numpy."),
        RuntimeError("Can't call numpy() on Tensor that requires grad."),
    ],
)
def test_a_tensor_on_a_gpu_or_with_grad_gets_an_error_that_says_what_to_call(error):
    with pytest.raises(
        InputError, match=r"encode: modality 'x' is a tensor .* Pass x\.detach\(\)\.cpu\(\) instead"
    ):
        check_view(Tensor(error), caller="encode", modality="x")
    with pytest.raises(
        InputError, match=r"search: queries is a tensor .* Pass x\.detach\(\)\.cpu\(\) instead"
    ):
        check_codes(Tensor(error), caller="search", name="queries")


def test_other_objects_that_cannot_be_converted_get_our_error():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("no array")

    with pytest.raises(InputError, match=r"modality 'x' cannot be converted to an array\. \(no array\)"):
        check_view(Broken(), caller="fit", modality="x")


def test_tensors_of_torch_itself():
    torch = pytest.importorskip("torch")
    tensor = torch.ones((3, 2))

    np.testing.assert_array_equal(check_view(tensor, caller="encode", modality="x"), np.ones((3, 2)))
    with pytest.raises(InputError, match=r"x\.detach\(\)\.cpu\(\)"):
        check_view(tensor.requires_grad_(), caller="encode", modality="x")
