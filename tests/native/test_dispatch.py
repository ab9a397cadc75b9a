"""Which kernel runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import diffhash
from diffhash import native
from diffhash.errors import DiffhashWarning, ParameterError
from diffhash.native import dispatch, fallback


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


@pytest.mark.parametrize("interface", [None, dispatch.INTERFACE - 1, dispatch.INTERFACE + 1])
def test_kernels_of_another_release_are_not_used_and_the_warning_says_what_to_do(interface):
    stale = ModuleType("_kernels")
    stale.__file__ = "_kernels.so"
    if interface is not None:
        stale.interface = interface

    with pytest.warns(DiffhashWarning, match=r"_kernels\.so.* another release.*pip install"):
        assert dispatch.current(stale) is None


def test_kernels_of_this_release_are_used():
    fresh = ModuleType("_kernels")
    fresh.interface = dispatch.INTERFACE

    assert dispatch.current(fresh) is fresh
    assert dispatch.current(None) is None


def test_the_sources_have_one_interface_number():
    bindings = Path(diffhash.__file__).parent / "native" / "cpp" / "bindings.cpp"
    if not bindings.exists():
        pytest.skip("an installed package has no sources")
    (number,) = re.findall(r'm\.attr\("interface"\) = (\d+);', bindings.read_text(encoding="utf-8"))
    assert int(number) == dispatch.INTERFACE


@pytest.mark.skipif(native.available_kernels() == ("numpy",), reason="built without a compiler")
def test_the_extension_has_every_function_of_the_numpy_kernels():
    own = {
        name
        for name, value in vars(fallback).items()
        if inspect.isfunction(value) and value.__module__ == fallback.__name__ and not name.startswith("_")
    }
    assert own <= set(dir(dispatch._extension)), "new functions need a new interface number"
