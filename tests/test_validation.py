"""Checks of input arrays: values that are not finite, and objects that NumPy cannot read."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash import HammingIndex, codes, evaluate, native
from diffhash.codes import check_codes
from diffhash.errors import InputError, NonFiniteError
from diffhash.evaluation import euclidean_distances, evaluate_distances
from diffhash.search import asymmetric_scale, asymmetric_search
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


CODES = np.arange(3, dtype=np.uint8)[:, None]
ROWS = np.arange(3)
VALUES = np.ones((3, 8))

CALLS = {
    "pack: bits": lambda tensor: codes.pack(tensor),
    "unpack: codes": lambda tensor: codes.unpack(tensor, 8),
    "pack_signs: projections": lambda tensor: native.pack_signs(tensor),
    "pack_signs: offset": lambda tensor: native.pack_signs(VALUES, tensor),
    "top_k: queries": lambda tensor: native.top_k(queries=tensor, database=CODES, k=1),
    "top_k: database": lambda tensor: native.top_k(queries=CODES, database=tensor, k=1),
    "top_k: ids": lambda tensor: native.top_k(queries=CODES, database=CODES, k=1, ids=tensor),
    "top_k: allowed": lambda tensor: native.top_k(queries=CODES, database=CODES, k=1, allowed=tensor),
    "distance_table: query_labels": lambda tensor: native.distance_table(
        queries=CODES, database=CODES, query_labels=tensor, database_labels=ROWS
    ),
    "distance_table: database_labels": lambda tensor: native.distance_table(
        queries=CODES, database=CODES, query_labels=ROWS, database_labels=tensor
    ),
    "joint_counts: bins_x": lambda tensor: native.joint_counts(
        bins_x=tensor, bins_y=CODES, index=(ROWS, ROWS), n_bins=3
    ),
    "joint_counts: index": lambda tensor: native.joint_counts(
        bins_x=CODES, bins_y=CODES, index=(tensor, ROWS), n_bins=3
    ),
    "HammingIndex: codes": lambda tensor: HammingIndex(tensor),
    "HammingIndex: ids": lambda tensor: HammingIndex(CODES, tensor),
    "HammingIndex.search: queries": lambda tensor: HammingIndex(CODES).search(tensor, 1),
    "HammingIndex.search: ids": lambda tensor: HammingIndex(CODES).search(CODES, 1, ids=tensor),
    "HammingIndex.within: ids": lambda tensor: HammingIndex(CODES).within(CODES, 1, ids=tensor),
    "HammingIndex.add: ids": lambda tensor: HammingIndex(CODES).add(CODES, tensor),
    "HammingIndex.get: ids": lambda tensor: HammingIndex(CODES).get(tensor),
    "HammingIndex.remove: ids": lambda tensor: HammingIndex(CODES).remove(tensor),
    "asymmetric_search: query_values": lambda tensor: asymmetric_search(CODES, tensor, 1),
    "asymmetric_search: scale": lambda tensor: asymmetric_search(CODES, VALUES, 1, scale=tensor),
    "asymmetric_scale: agreement": lambda tensor: asymmetric_scale(VALUES, tensor),
    "euclidean_distances: queries": lambda tensor: euclidean_distances(tensor, VALUES),
    "euclidean_distances: database": lambda tensor: euclidean_distances(VALUES, tensor),
    "evaluate_distances: distances": lambda tensor: evaluate_distances(tensor, ROWS, ROWS),
    "evaluate_distances: distances, by a function": lambda tensor: evaluate_distances(
        lambda rows: tensor, ROWS, ROWS
    ),
    "evaluate: own": lambda tensor: evaluate(CODES, CODES, ROWS, ROWS, own=tensor),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_of_arrays_says_what_to_call_for_a_tensor_that_numpy_cannot_read(name):
    who = name.partition(",")[0]
    with pytest.raises(InputError, match=rf"^{who} is a tensor .* Pass x\.detach\(\)\.cpu\(\) instead"):
        CALLS[name](Tensor(RuntimeError("Can't call numpy() on Tensor that requires grad.")))


def test_ids_of_a_search_may_be_any_object_that_numpy_can_read():
    """Tensors of torch have a method ``size``, arrays of NumPy an attribute."""

    class ReadableTensor:
        def __array__(self, dtype=None, copy=None):
            return np.array([0, 2])

        def size(self):
            return (2,)

    found = HammingIndex(CODES).search(CODES, 3, ids=ReadableTensor())

    assert set(found.ids[0]) == {0, 2}


def test_one_value_that_is_not_finite_is_not_counted_as_several():
    X = np.zeros((3, 2))
    X[1, 0] = np.nan
    with pytest.raises(NonFiniteError, match=r"nan in row 1, feature 0 \(the only such value\)"):
        check_view(X, caller="f", modality="x")
    X[2] = np.inf
    with pytest.raises(NonFiniteError, match=r"\(3 such values in all\)"):
        check_view(X, caller="f", modality="x")
