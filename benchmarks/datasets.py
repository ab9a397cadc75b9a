"""The data that the accuracy benchmark runs on, each as a training and a test part of two views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import diffhash as dh
from diffhash.types import FloatArray, IntArray

from .peers.itq import random_rotation

ROOT = Path(__file__).parent.parent
#: Where downloaded data are looked for unless a folder is given.
DEFAULT_FOLDER = ROOT.parent / "shared" / "data"


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


@dataclass(frozen=True)
class Dataset:
    """How a task is made.

    Attributes
    ----------
    load : function of a seed and a folder
    redrawn : bool
        Whether another seed draws other data; otherwise the split is one for all seeds.
    file : str or None
        What the folder must hold.
    labelled : bool
        Whether there are labels, or pairs alone.
    one_space : bool
        Whether both views are embeddings in one space, so that raw signs make sense.
    """

    key: str
    title: str
    about: str
    load: Callable[[int, Path], Task]
    redrawn: bool = False
    file: str | None = None
    labelled: bool = True
    one_space: bool = False

    def available(self, folder: Path) -> bool:
        return self.file is None or (folder / self.file).is_file()


def paper(n_classes: int) -> Dataset:
    def load(seed: int, folder: Path) -> Task:  # noqa: ARG001 - made, not read
        data = dh.datasets.make_paper_data(n_classes=n_classes, center_scale=5.0, random_state=seed)
        return Task(data.train.views, data.test.views, data.train.labels["x"], data.test.labels["x"])

    about = (
        f"{n_classes} classes, centres of scale 5, views of 128 and 64 features, 10,000 training and "
        "5,000 test objects (`make_paper_data`)."
    )
    return Dataset(f"paper-{n_classes}", f"The paper's data, K = {n_classes}", about, load, redrawn=True)


def read_split(name: str, first: str, second: str) -> Callable[[int, Path], Task]:
    """Two views of a file that holds its own split."""

    def load(seed: int, folder: Path) -> Task:  # noqa: ARG001 - the split is the file's
        with np.load(folder / name) as file:
            train, test = ({m: file[f"{m}_{part}"] for m in (first, second)} for part in ("train", "test"))
            return Task(train, test, file["labels_train"], file["labels_test"])

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


DATASETS = {
    dataset.key: dataset
    for dataset in (
        Dataset(
            "wiki",
            "Wikipedia articles",
            "Pictures (128 SIFT words) and texts (10 topics) of 2,866 articles of 10 classes, split 2,173 to 693. "
            "With 10 features on one side, linear methods have at most 10 bits.",
            read_split("wiki.npz", "image", "text"),
            file="wiki.npz",
        ),
        Dataset(
            "uci-digits",
            "UCI multiple features",
            "Handwritten digits by 76 Fourier and 64 Karhunen-Loève coefficients, 1,500 training and 500 test "
            "objects of 10 classes.",
            read_split("uci_digits.npz", "fourier", "karhunen"),
            file="uci_digits.npz",
        ),
        Dataset(
            "digit-halves",
            "Halves of digits",
            "scikit-learn's 8 × 8 digits: the left and the right four columns (32 pixels each) are the two views; "
            "1,200 training and 597 test objects of 10 classes.",
            load_digit_halves,
        ),
        Dataset(
            "symbols",
            "Symbols",
            "Pictures and Unicode names of 5,749 characters (`load_symbols`), 600 of them held out. No labels: "
            "methods learn from pairs, and only an item's own partner is relevant.",
            load_symbols_task,
            labelled=False,
        ),
        Dataset(
            "aligned",
            "Aligned embeddings",
            "Made up: one latent vector in 128 dimensions, standard deviations falling with the root of the rank, "
            "randomly rotated; each view adds an offset of its own and isotropic noise and is scaled to unit "
            "length, as vectors of one image–text model are. 4,000 training and 1,000 test pairs, no labels. "
            "Not the output of any real model.",
            make_aligned_embeddings,
            redrawn=True,
            labelled=False,
            one_space=True,
        ),
        paper(25),
        paper(50),
        paper(100),
    )
}
