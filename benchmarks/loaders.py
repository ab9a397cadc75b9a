"""Reading or making the data of :mod:`benchmarks.datasets`: a training and a test part of two views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

import diffhash as dh
from diffhash.comparison.linear_algebra import random_rotation
from diffhash.types import BoolArray, FloatArray, IntArray

#: From a seed and the folder of the data files to a task.
Load = Callable[[int, Path], "Task"]


@dataclass(frozen=True)
class Task:
    """Aligned rows of two views. Without labels, an item's own partner alone is relevant to it."""

    train: dict[str, Any]
    test: dict[str, Any]
    train_labels: IntArray | None = None
    test_labels: IntArray | None = None

    @property
    def n_train(self) -> int:
        return next(iter(self.train.values())).shape[0]

    @property
    def n_test(self) -> int:
        return next(iter(self.test.values())).shape[0]


def split_task(views: dict[str, Any], test: BoolArray, labels: IntArray | None = None) -> Task:
    """A task from all rows of the views and a mask of the test rows."""
    train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
    return Task(
        {m: X[train_rows] for m, X in views.items()},
        {m: X[test_rows] for m, X in views.items()},
        None if labels is None else labels[train_rows],
        None if labels is None else labels[test_rows],
    )


def redrawn_mask(n: int, n_test: int, labels: IntArray | None, seed: int) -> BoolArray:
    """Mask of ``n_test`` of ``n`` rows drawn at random, each class in proportion if there are labels.

    Rows are put in a random order, then sorted by class, and every ``n / n_test``-th one is taken, from
    a random offset: each class gets its share, rounded up or down.
    """
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(n)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    steps = (np.arange(n_test) + rng.uniform()) * n / n_test
    mask = np.zeros(n, dtype=bool)
    mask[order[steps.astype(int)]] = True
    return mask


def read_split(name: str, first: str, second: str, *, redraw: bool = False, as_sparse: bool = False) -> Load:
    """Two views of a file that has its own split.

    With ``redraw`` the file's split is that of seed 0 only: other seeds draw a split of the same sizes.
    """

    def load(seed: int, folder: Path) -> Task:
        with np.load(folder / name, allow_pickle=False) as file:
            parts = [{m: file[f"{m}_{part}"] for m in (first, second)} for part in ("train", "test")]
            labels = np.concatenate([file["labels_train"], file["labels_test"]]).astype(np.int64)
        sizes = [len(part[first]) for part in parts]
        views = {m: np.concatenate([part[m] for part in parts]).astype(np.float32) for m in (first, second)}
        test = np.arange(sum(sizes)) >= sizes[0]
        if redraw and seed:
            test = redrawn_mask(sum(sizes), sizes[1], labels, seed)
        return split_task(sparse_views(views) if as_sparse else views, test, labels)

    return load


def sparse_views(views: dict[str, Any]) -> dict[str, Any]:
    return {m: sparse.csr_array(X) for m, X in views.items()}


def load_stamps(seed: int, folder: Path) -> Task:
    """Pictures and English captions, the first object of each caption; seeds above 0 redraw the split."""
    with np.load(folder / "stamps.npz", allow_pickle=False) as file:
        rows = np.sort(np.unique(file["caption"], return_index=True)[1])
        test = file["test"][rows].astype(bool)
        views = {"image": file["image"], "text": file["text_en"]}
        views = {m: X[rows].astype(np.float32) for m, X in views.items()}
    if seed:
        test = redrawn_mask(len(rows), int(test.sum()), None, seed)
    return split_task(views, test)


def paper_data(n_classes: int) -> Load:
    def load(seed: int, folder: Path) -> Task:  # noqa: ARG001 - made, not read
        data = dh.datasets.make_paper_data(n_classes=n_classes, center_scale=5.0, random_state=seed)
        return Task(data.train.views, data.test.views, data.train.labels["x"], data.test.labels["x"])

    return load


def load_symbols_task(seed: int, folder: Path) -> Task:  # noqa: ARG001 - one split for all seeds
    symbols = dh.datasets.load_symbols()
    train, test = symbols.split(n_test=600, random_state=0)
    views = symbols.fit_text(train).views
    return Task({m: X[train] for m, X in views.items()}, {m: X[test] for m, X in views.items()})


def load_digit_halves(seed: int, folder: Path) -> Task:  # noqa: ARG001 - one split for all seeds
    digits = load_digits()
    pictures = digits.images.astype(np.float32)
    views = {"left": pictures[:, :, :4].reshape(-1, 32), "right": pictures[:, :, 4:].reshape(-1, 32)}
    order = np.random.default_rng(0).permutation(len(pictures))
    train, test = order[:1200], order[1200:]
    return Task(
        {m: X[train] for m, X in views.items()},
        {m: X[test] for m, X in views.items()},
        digits.target[train],
        digits.target[test],
    )


def make_aligned_embeddings(seed: int, folder: Path) -> Task:  # noqa: ARG001 - made, not read
    """Two noisy views of one latent vector in one space of 128 dimensions, of unit length."""
    n_train, n_test, d, noise, gap = 4000, 1000, 128, 0.11, 0.5
    # Not the stream of a method with the same seed: its random rotation would be the data's own.
    rng = np.random.default_rng([seed, 1])
    spread = 1 / np.sqrt(np.arange(1, d + 1))
    spread /= np.linalg.norm(spread)
    rotation = random_rotation(d, rng)
    latent = (rng.standard_normal((n_train + n_test, d)) * spread) @ rotation

    def view() -> FloatArray:
        offset = gap * rng.standard_normal(d) / np.sqrt(d)
        X = latent + offset + noise * rng.standard_normal(latent.shape)
        return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)

    views = {"image": view(), "text": view()}
    return Task({m: X[:n_train] for m, X in views.items()}, {m: X[n_train:] for m, X in views.items()})
