"""Small files that the commands work on."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import PIL.Image
import pytest

import diffhash as dh
from tests.cli.process import QUICK, diffhash

WORDS = ["red square", "green square", "blue square", "red disc", "green disc", "blue disc"]
COLOURS = {"red": (220, 20, 20), "green": (20, 180, 20), "blue": (20, 20, 220)}


@pytest.fixture(scope="session")
def files(tmp_path_factory, small_data, small_pairs):
    """Feature files, labels, pairs and models of the small paper-like data."""
    folder = tmp_path_factory.mktemp("features")
    for part, name in ((small_data.train, "train"), (small_data.test, "test")):
        for m in ("x", "y"):
            np.save(folder / f"{name}_{m}.npy", part.views[m].astype(np.float32))
            lines = [f"{name}-{m}-{i},{label}" for i, label in enumerate(part.labels[m])]
            (folder / f"{name}_{m}.csv").write_text("\n".join(["id,class", *lines]) + "\n")
    np.savez(folder / "train.npz", x=small_data.train.views["x"], y=small_data.train.views["y"])
    i, j = small_pairs.positive
    rows = [f"{a},{b}" for a, b in zip(i, j, strict=True)]
    (folder / "pairs.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    named = [f"train-x-{a},train-y-{b}" for a, b in zip(i, j, strict=True)]
    (folder / "named_pairs.csv").write_text("\n".join(["x,y", *named]) + "\n")
    hasher = dh.DiffHash(n_bits=16).fit(small_data.train.views, small_pairs)
    hasher.save(folder / "model.dhm")
    return SimpleNamespace(folder=folder, hasher=hasher, data=small_data)


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """A folder of 60 coloured squares and discs in two folders, and their captions."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    rows = []
    for number in range(60):
        caption = WORDS[number % 6]
        colour, shape = caption.split()
        yy, xx = np.mgrid[:40, :40] - rng.integers(15, 25, 2)[:, None, None]
        inside = (np.maximum(abs(yy), abs(xx)) < 11) if shape == "square" else (yy**2 + xx**2 < 120)
        pixels = np.where(inside[..., None], COLOURS[colour], 255) + rng.integers(-12, 12, (40, 40, 3))
        name = f"{shape}s/{number:02}.png"
        path = folder / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path)
        rows.append([name, f"a {caption}", shape, number])
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file", "caption", "shape", "number"], *rows])
    return folder


@pytest.fixture(scope="session")
def shapes(photos, tmp_path_factory):
    """A collection built from the folder of pictures, by a process."""
    out = tmp_path_factory.mktemp("built") / "shapes.dh"
    built = diffhash(
        "build", "--images", photos / "pictures", "--captions", photos / "captions.csv", *QUICK, "-o", out
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert "objects" in built.stdout
    assert "60 pairs" in built.stdout
    return out
