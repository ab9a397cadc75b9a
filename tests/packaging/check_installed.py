"""Does an installed diffhash work? Runs with what a user has: no pytest, and not from the working copy.

``--native`` asks for the compiled kernels, ``--fallback`` for their absence, ``--bare`` for the core without extras.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import diffhash as dh


def check_core(folder: Path) -> None:
    data = dh.datasets.make_paper_data(n_classes=5, n_train=300, n_test=60, random_state=0)
    pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    hasher = dh.DiffHash(n_bits=4).fit(data.train.views, pairs)
    hasher.save(folder / "model.dhm")
    codes = {m: dh.load(folder / "model.dhm").encode(X, modality=m) for m, X in data.test.views.items()}
    found = dh.HammingIndex(codes["x"]).search(codes["y"], 5)
    expected = np.sort(np.bitwise_count(codes["y"][:, None] ^ codes["x"]).sum(axis=2), axis=1)[:, :5]
    np.testing.assert_array_equal(found.distances, expected)
    labels = data.test.labels
    assert dh.evaluate(codes["y"], codes["x"], labels["y"], labels["x"]).mean_average_precision > 0.5
    with dh.Collection.create(folder / "items.dh", hasher) as collection:
        collection.add(data.test.views["x"], modality="x")
        hits = collection.search(data.test.views["y"][:2], modality="y", into="x", k=3)
    assert [len(found) for found in hits] == [3, 3]
    text = dh.featurizers.TfidfFeatures().fit(["white star", "black star"])
    assert text.transform(["star"]).shape == (1, 3)


def message_of(function: Callable[[], object]) -> str:
    """What a function that lacks an extra says."""
    try:
        function()
    except dh.errors.MissingExtraError as error:
        return str(error)
    raise AssertionError("it worked without its extra")


def check_command_line(*, bare: bool) -> None:
    result = subprocess.run([sys.executable, "-m", "diffhash.cli", "--help"], capture_output=True, text=True)
    if bare:
        assert result.returncode == 1
        assert "pip install 'diffhash[cli]'" in result.stderr, result.stderr
        assert "pip install 'diffhash[report]'" in message_of(dh.datasets.load_symbols)
        picture = np.zeros((1, 9, 9), dtype=np.uint8)
        assert "pip install 'diffhash[pictures]'" in message_of(
            lambda: dh.featurizers.PictureFeatures().transform(picture)
        )
        return
    assert result.returncode == 0, result.stderr
    assert "demo" in result.stdout


def main(flags: list[str]) -> None:
    kernels = dh.native.build_info().kernel
    print(f"diffhash {dh.__version__}, Python {sys.version.split()[0]}, kernels: {kernels}")
    assert not ("--native" in flags and kernels == "numpy"), "the compiled kernels are missing"
    assert not ("--fallback" in flags and kernels != "numpy"), f"there should be no kernels, got {kernels}"
    with tempfile.TemporaryDirectory() as folder:
        check_core(Path(folder))
    check_command_line(bare="--bare" in flags)
    print("works")


if __name__ == "__main__":
    main(sys.argv[1:])
