"""Time of RefinedHash with its search for settings: labels (wiki, 64 bits) and 10,000 pairs of embeddings (128 bits).

``python -m benchmarks.refined_time --data DIR`` prints seconds on the clock and of CPU, the best of ``--repeats`` runs.
Without the file of wiki only the pairs are timed. The embeddings are made up: a shared latent vector, a random layer of
rectified units for each view, and what only one view knows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.types import FloatArray, Views

from .datasets import DATASETS, data_folder

#: Pairs, features of the two views, dimensions that both views know, and those that one view alone knows.
N_PAIRS, N_FEATURES, N_SHARED, N_OWN = 10_000, {"image": 1280, "text": 384}, 96, 160
#: Standard deviation of the noise of each feature.
NOISE = 0.7


def make_embeddings(n: int, seed: int = 0) -> Views:
    """Two views of one latent vector. Partners are found often, but not always."""
    rng = np.random.default_rng(seed)
    spread = 1 / np.sqrt(np.arange(1, N_SHARED + 1))
    latent = rng.standard_normal((n, N_SHARED)) * spread

    def view(n_features: int) -> FloatArray:
        layer = rng.standard_normal((N_SHARED, n_features)) / np.sqrt(spread @ spread)
        own = rng.standard_normal((n, N_OWN)) @ rng.standard_normal((N_OWN, n_features)) / np.sqrt(N_OWN)
        noise = rng.standard_normal((n, n_features))
        return (np.maximum(latent @ layer, 0) + own + NOISE * noise).astype(np.float32)

    return {modality: view(d) for modality, d in N_FEATURES.items()}


def measure(name: str, hasher: dh.RefinedHash, views: Views, pairs: dh.Pairs, repeats: int) -> None:
    """Print the shortest times of several fits, and what was chosen."""
    wall, cpu = [], []
    for _ in range(repeats):
        started = time.perf_counter(), time.process_time()
        hasher.fit(views, pairs)
        wall.append(time.perf_counter() - started[0])
        cpu.append(time.process_time() - started[1])
    print(f"{name}: {min(wall):.2f} s on the clock, {min(cpu):.2f} s of CPU ({repeats} runs)")
    print(f"  {hasher.report_.chosen}; expected {hasher.report_.expected:.3f}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.refined_time", description=__doc__)
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of wiki.npz")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=N_PAIRS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.data is not None and (options.data / "wiki.npz").is_file():
        task = DATASETS["wiki"].load(0, options.data)
        pairs = dh.Pairs.from_labels(task.train_labels, task.train_labels)
        measure("wiki, labels, 64 bits", dh.RefinedHash(64), task.train, pairs, options.repeats)
    views = make_embeddings(options.pairs)
    name = (
        f"{options.pairs:,} pairs of {' + '.join(f'{d:,}' for d in N_FEATURES.values())} features, 128 bits"
    )
    measure(name, dh.RefinedHash(128), views, dh.Pairs.aligned(options.pairs), options.repeats)


if __name__ == "__main__":
    main()
