"""Codes to search: random ones, and such as learning gives (clusters, masses of ties)."""

from __future__ import annotations

import functools

import numpy as np

import diffhash as dh


def random_codes(n: int, n_bits: int, n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (n + n_queries, n_bits // 8), dtype=np.uint8)
    return codes[:n], codes[n:]


def clustered_codes(
    n: int, n_bits: int, n_queries: int, n_clusters: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """Signs of random projections of a Gaussian mixture: correlated bits, tight clusters, shared codes."""
    rng = np.random.default_rng(1)
    centres = 3.0 * rng.normal(size=(n_clusters, 24)).astype(np.float32)
    weights = rng.normal(size=(24, n_bits)).astype(np.float32)
    codes = np.empty((n + n_queries, n_bits // 8), dtype=np.uint8)
    for start in range(0, len(codes), 100_000):
        rows = min(100_000, len(codes) - start)
        points = centres[rng.integers(0, n_clusters, rows)]
        points += 0.3 * rng.normal(size=points.shape).astype(np.float32)
        codes[start : start + rows] = np.packbits(points @ weights >= 0, axis=1, bitorder="little")
    return codes[:n], codes[n:]


@functools.cache
def learned_codes(n: int, n_bits: int, n_queries: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Codes of a hasher fitted on the paper's data, queries of the other modality.

    None where that makes no sense: the smaller modality has 64 features, so there are no more
    than 64 bits to learn, and 10M objects of the two modalities would take 15 GB.
    """
    if n_bits > 64 or n > 1_000_000:
        return None
    data = dh.datasets.make_paper_data(
        n_classes=100, n_train=10_000, n_test=n, center_scale=5.0, random_state=0
    )
    pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    hasher = dh.DiffHash(n_bits=n_bits).fit(data.train.views, pairs)
    return (
        hasher.encode(data.test.views["x"], modality="x"),
        hasher.encode(data.test.views["y"][:n_queries], modality="y"),
    )


SOURCES = {"random": random_codes, "clustered": clustered_codes, "learned": learned_codes}
