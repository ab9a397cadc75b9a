"""Read embeddings of pictures and captions, such as those of an image–text model on COCO."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...types import IntArray
from ..multimodal_data import MultimodalData, Split
from .array_file import SINGLE, ArrayFile
from .splits import as_features, as_labels, draw_rows

__all__ = ["load_embeddings"]

_NAMES = {
    "image": (SINGLE, "image", "images", "image_embeddings", "img_embs"),
    "text": (SINGLE, "text", "texts", "captions", "text_embeddings", "cap_embs"),
}


def load_embeddings(
    image: str | os.PathLike[str],
    text: str | os.PathLike[str] | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    n_test: int = 5_000,
    n_train: int | None = None,
    random_state: int | None = 0,
) -> MultimodalData:
    """Read embeddings of pictures and their captions.

    Parameters
    ----------
    image, text : paths of .npy, .npz, .mat or HDF5 files
        Embeddings of shape (n, d) and (n · c, d'). Each picture has ``c`` captions, in consecutive rows
        (5 for COCO). Without ``text``, the first file has both arrays, named ``image`` and ``text``.
    labels : path, optional
        One row for each picture: a class, or zeros and ones for several categories (80 for COCO).
        Without labels, only its own captions are relevant to a picture; the labels are then the picture numbers.
    n_test : int
        Number of test pictures, drawn at random with all their captions. 5,000 is usual for COCO
        (A. Karpathy and L. Fei-Fei, "Deep visual-semantic alignments", CVPR 2015).
    n_train : int or None
        Number of training pictures; ``None`` for all others.
    random_state : int or None

    Returns
    -------
    MultimodalData
        Rows of ``"text"`` are captions. If a picture has several captions, the rows of ``"text"`` are not
        aligned with those of ``"image"``; use ``Pairs.from_labels`` to get the pairs.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "coco.npz"
    >>> rng = np.random.default_rng(0)
    >>> np.savez(path, image=rng.random((20, 4)), text=rng.random((100, 4)))
    >>> data = load_embeddings(path, n_test=5)
    >>> data.test.views["image"].shape, data.test.views["text"].shape
    ((5, 4), (25, 4))
    """
    caller = "load_embeddings"
    X = _read(image, "image", caller)
    Y = _read(image if text is None else text, "text", caller)
    n, captions = X.shape[0], Y.shape[0] // X.shape[0]
    if captions == 0 or Y.shape[0] != n * captions:
        raise InputError(
            f"{caller}: each of {n} pictures must have the same number of captions, got {Y.shape[0]} captions. "
            "Remove pictures with fewer or more captions."
        )
    classes = np.arange(n) if labels is None else _labels(labels, n, caller)
    drawn = draw_rows(n, n_test=n_test, n_train=n_train, random_state=random_state, caller=caller)
    test, train, database = (_part(X, Y, classes, rows, captions) for rows in drawn)
    return MultimodalData(database if n_train is None else train, test, database)


def _read(path: Any, modality: str, caller: str) -> Any:
    file = ArrayFile(path, caller=caller)
    array = next(iter(file.values())) if len(file) == 1 else file.first_of(*_NAMES[modality])
    return as_features(array, f"the {modality} embeddings", caller=caller)


def _labels(path: Any, n: int, caller: str) -> NDArray[Any]:
    file = ArrayFile(path, caller=caller)
    array = next(iter(file.values())) if len(file) == 1 else file.first_of("labels", "LAll", "categories")
    labels = as_labels(array, "the labels", caller=caller)
    if len(labels) != n:
        raise InputError(
            f"{caller}: there must be one row of labels for each of {n} pictures, got {len(labels)} rows of labels."
        )
    return labels


def _part(X: Any, Y: Any, classes: NDArray[Any], rows: IntArray, captions: int) -> Split:
    texts = (rows[:, None] * captions + np.arange(captions)).ravel()
    return Split(
        {"image": X[rows], "text": Y[texts]},
        {"image": classes[rows], "text": np.repeat(classes[rows], captions, axis=0)},
    )
