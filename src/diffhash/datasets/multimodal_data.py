"""The form in which every data set is returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["MultimodalData", "Split"]


@dataclass(frozen=True)
class Split:
    """Features and labels of some objects, by modality. Row r of every view is one object.

    Attributes
    ----------
    views : dict by modality
        Float arrays of shape (n, n_features), or scipy sparse.
    labels : dict by modality
        Integers of shape (n,), or bool of shape (n, n_labels) if an object can have several labels.
    """

    views: dict[str, Any]
    labels: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class MultimodalData:
    """Objects to learn from, and unseen objects to test with.

    Attributes
    ----------
    train, test : Split
    database : Split or None
        All objects except the test objects, for data sets on which papers search more objects than they
        learn from. ``None`` for the other data sets.
    """

    train: Split
    test: Split
    database: Split | None = None
