"""Write feature files, ids and pairs to try things on: ``python examples/feature_files.py halves``.

Every handwritten digit of scikit-learn's dataset is cut into its left and its right half: two modalities
of 32 features each that show the same thing and cannot be compared directly. A third one, the strokes of the
whole digit, is there for about half of the digits only.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from diffhash.types import FloatArray, IntArray

N_TEST = 400


def write_table(path: Path, header: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def write_strokes(folder: Path, pictures: FloatArray, rows: IntArray, n: int) -> None:
    """The third view: differences of neighbouring pixels, of some training digits and of all test digits."""
    steps = [np.abs(np.diff(pictures, axis=axis)).reshape(len(pictures), -1) for axis in (1, 2)]
    strokes = np.concatenate(steps, axis=1)
    np.save(folder / "strokes.npy", strokes[rows])
    write_table(folder / "strokes.csv", ["object"], [[r] for r in rows])
    np.save(folder / "test_strokes.npy", strokes[n:])
    np.save(folder / "query_strokes.npy", strokes[n])


def write_files(folder: Path) -> None:
    digits = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(digits.images))
    pictures, labels = digits.images[order].astype(np.float32), digits.target[order]
    halves = {
        "left": pictures[:, :, :4].reshape(len(pictures), -1),
        "right": pictures[:, :, 4:].reshape(len(pictures), -1),
    }
    folder.mkdir(parents=True, exist_ok=True)
    n = len(pictures) - N_TEST
    for name, features in halves.items():
        # Each file has an order of its own, as files of two systems would have.
        rows = rng.permutation(n)
        np.save(folder / f"{name}.npy", features[:n][rows])
        table = [[f"{name[0]}{r:04}", labels[r], r] for r in rows]
        write_table(folder / f"{name}.csv", ["id", "digit", "object"], table)
        np.save(folder / f"test_{name}.npy", features[n:])
    write_strokes(folder, pictures, rng.permutation(n)[: n // 2], n)
    write_table(folder / "pairs.csv", ["left", "right"], [[f"l{r:04}", f"r{r:04}"] for r in range(n)])
    write_table(folder / "test.csv", ["number", "digit"], [[r, labels[n + r]] for r in range(N_TEST)])
    np.save(folder / "query.npy", halves["left"][n])
    print(f"{n} digits to learn from and {N_TEST} to test with, in {folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    write_files(parser.parse_args().folder)


if __name__ == "__main__":
    main()
