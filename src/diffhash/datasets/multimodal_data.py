"""The form in which every data set is returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["MultimodalData", "Split"]


@dataclass(frozen=True)
class Split:
    """Some objects: their features and labels by modality; row r of every view is one object.

    Attributes
    ----------
    views : dict by modality
        Float arrays of shape (n, n_features), or scipy sparse.
    labels : dict by modality
        Whole numbers of shape (n,), or bool of shape (n, n_labels) where an object has several.
    """

    views: dict[str, Any]
    labels: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class MultimodalData:
    """Objects to learn from and unseen ones of the same kind.

    Attributes
    ----------
    train, test : Split
    database : Split or None
        Where the field searches in more objects than are learned from: everything but the test objects.
        ``None`` where the data set knows no such part.
    """

    train: Split
    test: Split
    database: Split | None = None
