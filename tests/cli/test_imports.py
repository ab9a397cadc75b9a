"""Commands import only what they use, so that they start fast."""

from __future__ import annotations

import subprocess
import sys

import pytest

import diffhash as dh
from diffhash.native.argument_checks import MAX_BITS as LARGEST
from diffhash.workflows.options import MAX_BITS

RUN = """
import sys
from diffhash.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print("modules:", *sys.modules)
"""
LEARNING = {"sklearn", "scipy.stats", "matplotlib", "pandas", "diffhash.hashers"}


def modules_of(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    return set(done.stdout.rpartition("modules:")[2].split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["build", "--help"], ["search", "--help"], ["demo", "--help"]]
)
def test_help_and_version_import_no_numpy(arguments):
    modules = modules_of(*arguments)

    assert not {"numpy", "scipy", "sklearn", "diffhash.stores"} & modules
    assert "diffhash.cli.app" in modules


def test_info_and_search_import_nothing_that_learns(shapes, files, tmp_path):
    with dh.Collection.create(tmp_path / "c.dh", files.hasher) as c:
        c.add(files.data.test.views["x"][:20], modality="x")

    for arguments in (
        ["info", shapes],
        ["info", files.folder / "model.dhm"],
        ["search", shapes, "red square"],
        ["search", tmp_path / "c.dh", "--item", "3", "--into", "x"],
        ["search", tmp_path / "c.dh", "--vector", files.folder / "test_y.npy", "--json"],
    ):
        modules = modules_of(*arguments)
        assert not (LEARNING | {"rich"}) & modules, (arguments, (LEARNING | {"rich"}) & modules)


def test_encode_evaluate_and_build_with_a_model_import_nothing_that_learns(files, tmp_path):
    model, x = files.folder / "model.dhm", files.folder / "test_x.npy"
    for arguments in (
        ["encode", model, x, "--modality", "x", "-o", tmp_path / "c.npy"],
        ["evaluate", "--codes", f"x={tmp_path / 'c.npy'}", "--codes", f"y={tmp_path / 'c.npy'}"],
        ["build", "--model", model, "--view", f"x={x}", "-o", tmp_path / "c.dh"],
        ["verify", tmp_path / "c.dh"],
        ["export", tmp_path / "c.dh", "-o", tmp_path / "e.npy"],
    ):
        modules = modules_of(*arguments)
        assert not (LEARNING | {"rich"}) & modules, (arguments, (LEARNING | {"rich"}) & modules)


def test_the_number_of_bits_that_help_shows_is_that_of_the_kernels():
    assert MAX_BITS == LARGEST
