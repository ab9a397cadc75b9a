"""Synthetic data as in the experiment of the paper."""

from __future__ import annotations

import numpy as np

from ..validation import check_count, check_number
from .multimodal_data import MultimodalData, Split

__all__ = ["make_paper_data"]

_DIMENSIONS = {"x": 128, "y": 64}
_NOISE = (3.0, 6.0)


def make_paper_data(
    n_classes: int = 25,
    n_train: int = 10_000,
    n_test: int = 5_000,
    center_scale: float = 5.0,
    random_state: int | None = 0,
) -> MultimodalData:
    """Draw the data of section 6 of the paper: modality "x" with 128 features and "y" with 64.

    Each class has a random centre in each modality. An object is the centre of its class plus
    Gaussian noise; each feature has its own standard deviation between 3 and 6.

    Parameters
    ----------
    n_classes : int
        The paper uses 25, 50 and 100.
    n_train, n_test : int
        Number of objects, each with both modalities. Training and test data have the same centres.
    center_scale : float
        Standard deviation of the coordinates of the centres. The paper does not state it. With 5, the
        classes overlap little if all 128 features are used, but much in any single feature.
    random_state : int or None

    Returns
    -------
    MultimodalData
        ``data.train.views["x"]`` is float32 of shape (n_train, 128); ``data.train.labels["x"]`` has the
        classes of its rows.

    Examples
    --------
    >>> data = make_paper_data(n_classes=25, n_train=1000, n_test=100)
    >>> data.train.views["x"].shape, data.test.views["y"].shape
    ((1000, 128), (100, 64))
    """
    caller = "make_paper_data"
    for name, value in (("n_classes", n_classes), ("n_train", n_train), ("n_test", n_test)):
        check_count(value, name, caller=caller)
    check_number(center_scale, "center_scale", caller=caller, high=1e6)
    rng = np.random.default_rng(random_state)
    centers = {m: rng.normal(scale=center_scale, size=(n_classes, d)) for m, d in _DIMENSIONS.items()}
    noise = {m: rng.uniform(*_NOISE, size=d) for m, d in _DIMENSIONS.items()}

    def draw(n: int) -> Split:
        labels = rng.integers(0, n_classes, size=n)
        views = {
            m: (centers[m][labels] + noise[m] * rng.standard_normal((n, d))).astype(np.float32)
            for m, d in _DIMENSIONS.items()
        }
        return Split(views, dict.fromkeys(_DIMENSIONS, labels))

    return MultimodalData(draw(n_train), draw(n_test))
