"""Makes the golden model files of the present format version: ``python -m tests.golden.make``.

Files of an earlier version are kept for ever and never made again: every later release must load
them and encode the same bits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.storage.model_file import FORMAT_VERSION

FOLDER = Path(__file__).parent


def inputs(name):
    """Whole numbers, so that every machine reads the very same features; never negative for "refined"."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, size=60)
    x = (rng.integers(-3, 4, size=(3, 6)) * 2)[labels] + rng.integers(-1, 2, size=(60, 6))
    y = (rng.integers(-3, 4, size=(3, 5)) * 2)[labels] + rng.integers(-1, 2, size=(60, 5))
    views = {"x": x.astype(np.float64), "y": y.astype(np.float64)}
    return ({m: np.abs(X) for m, X in views.items()} if name == "refined" else views), labels


def models():
    return {
        "diff": dh.DiffHash(n_bits=2, gamma=np.inf, standardize={"x": True, "y": False}),
        "kernel": dh.KernelDiffHash(n_bits=2, n_landmarks={"x": 12, "y": 9}, center=True),
        "refined": dh.RefinedHash(
            n_bits=9,
            features="kernel",
            metric="hellinger",
            width=1.5,
            ridge=0.03,
            penalty=0.003,
            n_landmarks=20,
        ),
        "boosted": dh.BoostedHash(n_bits=9, n_directions=2, sample_size=(200, 400)),
    }


def main():
    labels = inputs("")[1]
    for name, hasher in models().items():
        if (FOLDER / f"{name}-v{FORMAT_VERSION}.dh").exists():
            continue
        hasher.fit(views := inputs(name)[0], dh.Pairs.from_labels(labels, labels))
        hasher.save(FOLDER / f"{name}-v{FORMAT_VERSION}.dh")
        codes = {m: hasher.encode(X, modality=m) for m, X in views.items()}
        np.savez(FOLDER / f"{name}-v{FORMAT_VERSION}.npz", **codes)


if __name__ == "__main__":
    main()
