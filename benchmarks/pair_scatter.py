"""RefinedHash with few pairs and several seeds: how much of the scatter is between models, and how much is chance.

``python -m benchmarks.pair_scatter --data DIR [--datasets aligned]``. A seed draws the splits on which settings are
compared, the landmarks and the rotation. The models learn from 500 rows of the training part, by pairs alone, and
are measured on 600 other rows of it, by recall among the first ten. The recall of an object is the mean of both
directions. It is averaged over two halves of the objects. A model that is better than the others is better on both
halves, so the covariance of the two means over the seeds is the variance between the models. The rest of the scatter
is chance: which objects were asked for.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.evaluation import precision_recall_at
from diffhash.types import FloatArray, Views

from .datasets import DATASETS, data_folder

SETS = ("aligned", "scene15")
N_TRAIN, N_TEST, FIRST = 500, 600, 10


def object_recall(hasher: dh.RefinedHash, views: Views) -> FloatArray:
    """Recall of every object, mean of both directions."""
    codes = [hasher.encode(X, modality=m) for m, X in views.items()]
    objects = np.arange(len(codes[0]))
    both = [
        precision_recall_at(dh.evaluate(*sides, objects, objects).table, FIRST)[1]
        for sides in (codes, codes[::-1])
    ]
    return np.asarray(np.mean(both, axis=0))


def scatter(recall: FloatArray) -> tuple[float, float]:
    """Standard deviation over seeds: of the mean over all objects, and of the models (0 if the estimate is negative).

    Parameters
    ----------
    recall : array of shape (n_seeds, n_objects)

    Examples
    --------
    >>> better, worse = np.full(10, 0.7), np.full(10, 0.5)
    >>> [round(float(each), 4) for each in scatter(np.stack([better, worse]))]
    [0.1414, 0.1414]
    """
    halves = np.stack([recall[:, half::2].mean(axis=1) for half in (0, 1)])
    covariance = np.cov(halves)[0, 1]
    return float(recall.mean(axis=1).std(ddof=1)), float(np.sqrt(max(covariance, 0.0)))


def measure(key: str, folder: Path, n_bits: int, n_seeds: int) -> None:
    """Print the figures of one dataset."""
    task = DATASETS[key].load(0, folder)
    rows = np.random.default_rng(0).permutation(task.n_train)
    train, test = rows[:N_TRAIN], rows[N_TRAIN : N_TRAIN + N_TEST]
    found = []
    for seed in range(n_seeds):
        hasher = dh.RefinedHash(n_bits, random_state=seed)
        hasher.fit({m: X[train] for m, X in task.train.items()}, dh.Pairs.aligned(len(train)))
        found.append(object_recall(hasher, {m: X[test] for m, X in task.train.items()}))
        print(f"  {key} seed {seed}: {found[-1].mean():.3f}  {hasher.report_.chosen}", flush=True)
    recall = np.stack(found)
    of_figures, of_models = scatter(recall)
    error = recall.mean(axis=0).std(ddof=1) / np.sqrt(recall.shape[1])
    means = recall.mean(axis=1)
    print(
        f"{key}, {n_bits} bits, {len(train)} pairs, recall@{FIRST} of {len(test)} objects: mean of {n_seeds} seeds "
        f"{means.mean():.3f}, smallest {means.min():.3f}, largest {means.max():.3f}; "
        f"standard deviation of the figures {of_figures:.3f}, of the models {of_models:.3f}; "
        f"standard error over objects {error:.3f}",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.pair_scatter", description=__doc__)
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of the data files")
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for key in options.datasets:
        if DATASETS[key].available(options.data):
            measure(key, options.data or Path(), options.bits, options.seeds)
        else:
            print(f"{key}: skipped, no {DATASETS[key].file} in the data folder")


if __name__ == "__main__":
    main()
