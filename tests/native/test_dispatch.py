"""Which kernel runs."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash import native
from diffhash.errors import ParameterError
from diffhash.native import dispatch


def test_the_best_kernel_runs_by_default(monkeypatch):
    monkeypatch.delenv("DIFFHASH_KERNEL", raising=False)
    info = native.build_info()

    assert info.kernel == info.kernels[0] == native.available_kernels()[0]
    assert info.native == (info.kernel != "numpy")
    assert info.n_threads >= 1


def test_the_environment_chooses_the_kernel(kernel, monkeypatch):
    monkeypatch.setenv("DIFFHASH_KERNEL", kernel)

    assert native.build_info().kernel == kernel


def test_an_unknown_kernel_is_an_error(monkeypatch):
    monkeypatch.setenv("DIFFHASH_KERNEL", "abacus")
    with pytest.raises(ParameterError, match=r"DIFFHASH_KERNEL: expected one of .*numpy, got 'abacus'"):
        native.build_info()


def test_the_environment_sets_the_threads(monkeypatch):
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "3")
    assert native.build_info().n_threads == 3

    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "many")
    with pytest.raises(ParameterError, match="DIFFHASH_NUM_THREADS must be a whole number"):
        native.build_info()


def test_without_the_extension_numpy_answers(monkeypatch):
    """What happens where the package was installed without a compiler."""
    monkeypatch.delenv("DIFFHASH_KERNEL", raising=False)
    monkeypatch.setattr(dispatch, "_extension", None)

    assert native.build_info() == native.BuildInfo(False, "numpy", ("numpy",), native.build_info().n_threads)
    codes = np.eye(3, dtype=np.uint8)
    assert native.top_k(queries=codes, database=codes, k=1).ids.ravel().tolist() == [0, 1, 2]
