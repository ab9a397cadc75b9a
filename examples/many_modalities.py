"""Three modalities with gaps: ``python examples/many_modalities.py [--picture FILE]``.

Handwritten digits have three views: the left half, the right half, and the strokes. More and more entries of the
training data are missing at random: an object keeps at least one view. One model learns from all that is left, by the
ids of the rows. It is compared with a model for each two of the views, and with a database of fused codes, which
use all that an object has. Unseen digits have all views; an item is right if it is the same digit.
"""

from __future__ import annotations

import argparse
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import diffhash as dh

N_BITS, N_TRAIN, SEEDS = 32, 1200, (0, 1, 2)
MISSING = (0.0, 0.25, 0.5, 0.65)


def digit_views() -> tuple[dict[str, Any], Any]:
    """Three views of every digit, and which digit it is."""
    digits = load_digits()
    pictures = digits.images.astype(np.float32)
    down, across = np.diff(pictures, axis=1), np.diff(pictures, axis=2)
    strokes = [np.abs(down), np.abs(across), pictures.sum(axis=1), pictures.sum(axis=2)]
    return {
        "left": pictures[:, :, :4].reshape(len(pictures), -1),
        "right": pictures[:, :, 4:].reshape(len(pictures), -1),
        "strokes": np.concatenate([part.reshape(len(pictures), -1) for part in strokes], axis=1),
    }, digits.target


def with_gaps(names: list[str], n: int, share: float, rng: np.random.Generator) -> dict[str, Any]:
    """For each view the rows that it keeps; every object keeps at least one view."""
    kept = rng.random((n, len(names))) >= share
    kept[np.arange(n), rng.integers(0, len(names), n)] |= ~kept.any(axis=1)
    return {name: np.flatnonzero(kept[:, column]) for column, name in enumerate(names)}


def fit(views: dict[str, Any], labels: Any, rows: dict[str, Any], *, calibrate: bool = False) -> Any:
    """Learn from the rows that each view has. Rows of the same digit belong together."""
    pairs = dh.Pairs.from_labels({name: labels[r] for name, r in rows.items()})
    hasher = dh.DiffHash(N_BITS, whiten=True, rotate=True, random_state=0)
    return hasher.fit({name: views[name][r] for name, r in rows.items()}, pairs, calibrate=calibrate)


def precision(queries: Any, database: Any, labels: Any) -> float:
    """Mean average precision; a query's own object is left out."""
    own = np.arange(len(labels))
    return dh.evaluate(queries, database, labels, labels, own=own).mean_average_precision


def measure(share: float, seed: int) -> dict[str, float]:
    """Mean average precision of unseen digits, over the directions between the views."""
    views, labels = digit_views()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    rows = {name: train[r] for name, r in with_gaps(list(views), N_TRAIN, share, rng).items()}
    unseen, truth = {name: X[test] for name, X in views.items()}, labels[test]

    together = fit(views, labels, rows, calibrate=True)
    codes = {name: together.encode(X, modality=name) for name, X in unseen.items()}
    fused, _ = together.encode_fused(unseen)
    apart = []
    for a, b in combinations(views, 2):
        couple = fit(views, labels, {name: rows[name] for name in (a, b)})
        x, y = (couple.encode(unseen[name], modality=name) for name in (a, b))
        apart += [precision(x, y, truth), precision(y, x, truth)]
    return {
        "couples, trained apart": float(np.mean(apart)),
        "all views, trained together": float(
            np.mean([precision(codes[a], codes[b], truth) for a, b in permutations(views, 2)])
        ),
        "the same, into fused codes": float(np.mean([precision(codes[a], fused, truth) for a in views])),
    }


def draw(path: Path, figures: dict[str, list[float]]) -> None:
    """Which views some objects have, and the figures."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 3.1), layout="constrained")
    gaps, curves = figure.subplots(1, 2, width_ratios=(2.4, 2))
    names = list(digit_views()[0])
    rows = with_gaps(names, 36, 0.5, np.random.default_rng(1))
    grid = np.array([np.isin(np.arange(36), rows[name]) for name in names])
    gaps.imshow(grid, cmap="Blues", vmin=0, vmax=1.3, aspect=1.6, interpolation="none")
    gaps.set_xticks(np.arange(-0.5, 36), minor=True)
    gaps.set_yticks(np.arange(-0.5, 3), minor=True)
    gaps.grid(which="minor", color="white", linewidth=1.2)
    gaps.tick_params(which="minor", length=0)
    gaps.set_xticks([])
    gaps.set_yticks(range(3), names)
    gaps.set_xlabel("36 of the training objects")
    gaps.set_title("Half of the entries missing", fontsize=10, loc="left")
    for spine in gaps.spines.values():
        spine.set_visible(False)
    styles = (("#6b7280", "s--"), ("#1a73b8", "o-"), ("#d1590a", "^-"))
    for (name, values), (color, style) in zip(figures.items(), styles, strict=True):
        curves.plot([100 * share for share in MISSING], values, style, color=color, label=name, markersize=5)
    curves.set(xlabel="entries missing in training (%)", ylabel="mAP of unseen digits", ylim=(0.4, 1))
    curves.legend(frameon=False, fontsize=8, loc="lower left")
    curves.grid(color="#e5e7eb")
    for side in ("top", "right"):
        curves.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--picture", type=Path, help="write a picture (.png or .svg); needs matplotlib")
    options = parser.parse_args()
    figures: dict[str, list[float]] = {}
    for share in MISSING:
        found = [measure(share, seed) for seed in SEEDS]
        for name in found[0]:
            figures.setdefault(name, []).append(float(np.mean([each[name] for each in found])))
    print(f"{'entries missing in training':<30}" + "".join(f"{share:>8.0%}" for share in MISSING))
    for name, values in figures.items():
        print(f"{name:<30}" + "".join(f"{value:>8.3f}" for value in values))
    if options.picture is not None:
        draw(options.picture, figures)


if __name__ == "__main__":
    main()
