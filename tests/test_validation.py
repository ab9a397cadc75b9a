"""Checks of input arrays: values that are not finite, and objects that NumPy cannot read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

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
@pytest.mark.parametrize("value", [np.finfo(np.float32).max, 1e13, 1e-13, 1e-45])
def test_float32_becomes_float64_if_its_squares_leave_the_range(order, value):
    X = order(np.full((50, 7), value, dtype=np.float32))

    checked = check_view(X, caller="test", modality="x")

    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, X)


@pytest.mark.parametrize("value", [0.0, 1e-10, 1.0, 1e10])
def test_values_of_usual_size_stay_float32(value):
    X = np.full((50, 7), value, dtype=np.float32)

    assert check_view(X, caller="test", modality="x") is X


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
@pytest.mark.parametrize("sparse", [False, True])
def test_a_value_whose_square_overflows_is_named(order, sparse):
    X = np.ones((50, 7))
    X[31, 4] = -1e300
    X = scipy.sparse.csr_array(X) if sparse else order(X)

    with pytest.raises(InputError, match=r"'x' has -1e\+300 in row 31, feature 4.*Divide"):
        check_view(X, caller="test", modality="x")


def damaged(change, X=None):
    X = scipy.sparse.csr_array(np.eye(5)) if X is None else X
    change(X)
    return X


def set_item(name, place, value):
    return lambda X: getattr(X, name).__setitem__(place, value)


def set_array(name, value):
    return lambda X: setattr(X, name, np.array(value))


DAMAGED = {
    "column": (damaged(set_item("indices", 2, 5)), "the index 5 is not in the range 0 to 4"),
    "far column": (damaged(set_item("indices", 2, 2**31 - 1)), "the index 2147483647"),
    "negative column": (damaged(set_item("indices", 0, -1)), "the index -1"),
    "negative row end": (damaged(set_item("indptr", 1, -1)), "row ends"),
    "decreasing row ends": (damaged(set_item("indptr", 2, 0)), "row ends"),
    "far row end": (damaged(set_item("indptr", 5, 1000)), "row ends"),
    "first row end": (damaged(set_item("indptr", 0, 1)), "row ends"),
    "too few row ends": (damaged(set_array("indptr", [0, 1, 2])), "5 rows and 3 row ends"),
    "float indices": (damaged(set_array("indices", [0.0, 1, 2, 3, 4])), "indices"),
    "too few values": (damaged(set_array("data", [1.0])), "row ends"),
    "csc": (damaged(set_item("indices", 2, 9), scipy.sparse.csc_array(np.eye(5))), "the index 9"),
    "bsr": (
        damaged(set_item("indices", 1, 9), scipy.sparse.bsr_array(np.eye(6), blocksize=(2, 3))),
        "the index 9",
    ),
    "coo": (damaged(lambda X: X.coords[1].__setitem__(2, 9), scipy.sparse.coo_array(np.eye(5))), "index 9"),
}


@pytest.mark.parametrize(("X", "words"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_sparse_array_is_refused_before_scipy_reads_it(X, words):
    with pytest.raises(InputError, match=f"modality 'x' is a damaged sparse array.*{words}"):
        check_view(X, caller="test", modality="x")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sparse_arrays_of_every_format_are_accepted(kind, rng):
    X = rng.random((6, 4)) * (rng.random((6, 4)) < 0.5)

    checked = check_view(scipy.sparse.coo_array(X).asformat(kind), caller="test", modality="x")

    np.testing.assert_array_equal(checked.toarray(), X)
    assert checked.format == "csr"


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
    half = torch.rand((3, 2)).to(torch.bfloat16).requires_grad_()
    found = check_view(half, caller="encode", modality="x")
    np.testing.assert_array_equal(found, half.detach().float().numpy())
    tensor.requires_grad_()
    assert check_view(tensor, caller="encode", modality="x").ctypes.data == tensor.data_ptr()
    with pytest.raises(InputError, match=r"to_dense\(\)"):
        check_view(tensor.detach().to_sparse(), caller="encode", modality="x")


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
    with pytest.raises(NonFiniteError, match=r"NaN in row 1, feature 0 \(the only such value\)"):
        check_view(X, caller="f", modality="x")
    X[2] = np.inf
    with pytest.raises(NonFiniteError, match=r"\(3 such values in all\)"):
        check_view(X, caller="f", modality="x")
