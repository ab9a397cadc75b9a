"""Arguments that no kernel can use are refused with an error of ours, and never reach the C++."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash import native
from diffhash.errors import DiffhashError, InputError, ParameterError

CODES = np.zeros((3, 2), dtype=np.uint8)
BINS = {
    "bins_x": np.zeros((2, 5), int),
    "bins_y": np.ones((2, 4), int),
    "index": ([0, 4], [3, 1]),
    "n_bins": 2,
}


@pytest.mark.parametrize("kernel", [np.zeros(0), np.zeros(2), ["numpy"], 1, object()])
def test_a_kernel_that_is_not_a_name_is_refused(kernel):
    with pytest.raises(ParameterError, match="kernel: expected one of"):
        native.top_k(queries=CODES, database=CODES, k=1, kernel=kernel)


@pytest.mark.parametrize(
    "change",
    [
        {"index": (["", "a"], [0, 1])},
        {"index": ([0], [1], [2])},
        {"index": 3},
        {"index": np.array(3)},
        {"index": "ab"},
        {"index": (scipy.sparse.csr_array(np.eye(2)), [0])},
        {"index": (np.array([0.5, 1.0]), [0, 1])},
        {"n_bins": 2.0},
        {"n_bins": np.zeros(2)},
        {"n_bins": 0},
        {"bins_x": np.full((2, 5), "a")},
        {"bins_y": np.full((2, 4), 0.5)},
        {"weights": ["a", "b"]},
    ],
    ids=str,
)
def test_joint_counts_refuses_what_it_cannot_count(change):
    with pytest.raises(DiffhashError, match=r"^joint_counts: "):
        native.joint_counts(**BINS | change)


@pytest.mark.parametrize(
    "projections", [np.full((2, 3), "a"), np.full((2, 3), None), np.zeros((2, 3), complex)]
)
def test_signs_of_values_that_are_not_real_numbers_are_refused(projections):
    with pytest.raises(InputError, match="pack_signs: projections must be real numbers"):
        native.pack_signs(projections)


def test_empty_arrays_of_any_type_have_no_counts():
    empty = np.zeros((2, 0), dtype="S3")
    table = native.joint_counts(bins_x=empty, bins_y=empty, index=([], []), n_bins=2)

    assert table.shape == (2, 2, 2)
    assert not table.any()


def test_an_offset_that_is_not_real_numbers_is_refused():
    with pytest.raises(InputError, match="pack_signs: offset must be real numbers"):
        native.pack_signs(np.zeros((2, 3)), np.array(["a", "b", "c"]))


@pytest.mark.skipif(native.available_kernels() == ("numpy",), reason="built without a compiler")
def test_the_extension_itself_refuses_to_run_without_a_thread():
    """Python checks the number of threads before; without that check, zero threads never ended or divided by zero."""
    from diffhash.native import _kernels

    kernel, rows, distances = _kernels.kernels()[0], np.empty((3, 1), np.int64), np.empty((3, 1), np.uint16)
    x, i = np.zeros((2, 5), np.uint8), np.zeros(2, np.int64)
    calls = [
        lambda: _kernels.read_all(CODES.ravel(), True, 0),
        lambda: _kernels.joint_counts(x, x, i, i, None, 0, np.zeros((2, 2, 2), np.int64)),
        lambda: _kernels.top_k(CODES, CODES, None, None, 0, kernel, rows, distances),
        lambda: _kernels.within(CODES, CODES, 1, None, None, 0, kernel),
        lambda: _kernels.pack64(np.ones((3, 9)), np.zeros(9), 0, kernel, np.zeros((3, 2), np.uint8)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="at least one thread"):
            call()
