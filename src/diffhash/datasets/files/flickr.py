"""MIRFlickr-25K and NUS-WIDE in the ``.mat`` forms of papers on cross-modal hashing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...featurizers import PictureFeatures
from ..multimodal_data import MultimodalData
from .array_file import ArrayFile, existing
from .splits import as_features, as_labels, split_rows

__all__ = ["load_mirflickr", "load_nuswide"]

_IMAGE = ("XAll", "IAll", "images")
_TEXT = ("YAll",)
_LABELS = ("LAll",)
_BLOCK = 512


def load_mirflickr(
    path: str | os.PathLike[str],
    *,
    n_test: int = 2_000,
    n_train: int | None = 10_000,
    random_state: int | None = 0,
) -> MultimodalData:
    """Read MIRFlickr-25K from ``.mat`` files with pictures, tags and labels of all objects.

    Parameters
    ----------
    path : path
        One file with the arrays, or a folder with one file for each, in whatever folders within: image features
        (``XAll``, or ``IAll`` or ``images``), tags (``YAll``), labels (``LAll``).
    n_test : int
        Queries, drawn at random. The rest is the database.
    n_train : int or None
        Objects to learn from, drawn from the database; ``None`` for all of it.
    random_state : int or None

    Returns
    -------
    MultimodalData
        Views ``"image"`` and ``"text"``; labels are bool of shape (n, n_labels), 24 for this data set.
        ``data.database`` is everything but the queries.

    Notes
    -----
    The form is that of the files published with Q.-Y. Jiang and W.-J. Li, "Deep cross-modal hashing" (CVPR 2017):
    20,015 objects, 1,386 tags, 24 labels; 2,000 queries and 10,000 training objects are theirs too, others train
    on 5,000. Which objects are meant is seldom published: figures of different papers are of different draws.

    Where there are pictures in place of features (``IAll`` of shape (224, 224, 3, n) in MATLAB), their
    :class:`~diffhash.featurizers.PictureFeatures` are taken, which needs Pillow. Files of MATLAB 7.3 need h5py.
    """
    return _load(path, n_test, n_train, random_state, "load_mirflickr")


def load_nuswide(
    path: str | os.PathLike[str],
    *,
    n_test: int = 2_100,
    n_train: int | None = 10_500,
    random_state: int | None = 0,
) -> MultimodalData:
    """Read NUS-WIDE (of the 10 or 21 most frequent concepts) from ``.mat`` files of the same form.

    Parameters
    ----------
    path : path
        As for :func:`load_mirflickr`.
    n_test, n_train, random_state
        As there. 2,100 and 10,500 are the sizes of Jiang and Li for 21 concepts; with 10 concepts, 2,000 queries and
        5,000 training objects are common too.

    Returns
    -------
    MultimodalData
        Views ``"image"`` and ``"text"`` (1,000 tags), several labels for each object.
    """
    return _load(path, n_test, n_train, random_state, "load_nuswide")


def _load(
    path: Any, n_test: int, n_train: int | None, random_state: int | None, caller: str
) -> MultimodalData:
    files = [ArrayFile(file, caller=caller) for file in _files(existing(path, caller), caller)]
    labels = as_labels(_find(files, _LABELS, path, caller), "the labels", caller=caller)
    text = as_features(_find(files, _TEXT, path, caller), "the tags", caller=caller)
    image = _find(files, _IMAGE, path, caller)
    if image.ndim == 4:
        image = PictureFeatures().fit().transform_blocks(_pictures(image, len(labels), caller))
    views = {"image": as_features(image, "the image features", caller=caller), "text": text}
    return split_rows(views, labels, n_test=n_test, n_train=n_train, random_state=random_state, caller=caller)


def _files(path: Path, caller: str) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*.mat") if file.is_file())
    if not found:
        raise InputError(f"{caller}: there is no .mat file in {path}.")
    return found


def _find(files: list[ArrayFile], names: tuple[str, ...], path: Any, caller: str) -> Any:
    """The array under the first of the names that any file has."""
    for name in names:
        holders = [file for file in files if name in file]
        if len(holders) > 1:
            raise InputError(
                f"{caller}: {name} is in {' and in '.join(str(file.path) for file in holders)}. Pass the path of "
                "one file, or a folder with one data set."
            )
        if holders:
            return holders[0][name]
    raise InputError(f"{caller}: no file of {path} holds {' or '.join(names)}.")


def _pictures(array: NDArray[Any], n: int, caller: str) -> Iterable[NDArray[np.uint8]]:
    """Blocks of pictures of shape (n, height, width, 3) from MATLAB's (height, width, 3, n)."""
    if array.shape[3] != n or array.shape[2] != 3 or array.dtype != np.uint8:
        raise InputError(
            f"{caller}: pictures must be uint8 of shape (height, width, 3, {n}), got {array.dtype} of shape "
            f"{array.shape}."
        )
    for start in range(0, n, _BLOCK):
        yield np.moveaxis(array[..., start : start + _BLOCK], 3, 0)
