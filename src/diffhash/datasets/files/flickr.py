"""Read MIRFlickr-25K, NUS-WIDE and COCO from the files of all objects that papers on cross-modal hashing use."""

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
from .array_file import HDF5_ENDINGS, ArrayFile, existing_path
from .splits import as_features, as_labels, split_rows

__all__ = ["load_coco", "load_mirflickr", "load_nuswide"]

_IMAGE = ("XAll", "IAll", "images")
_TEXT = ("YAll",)
_LABELS = ("LAll",)
#: Other names, of arrays that are published in two parts.
_PARTS = {
    _IMAGE: [("train_imgs_deep", "test_imgs_deep")],
    _TEXT: [("train_text", "test_text")],
    _LABELS: [("train_imgs_labels", "test_imgs_labels")],
}
_BLOCK = 512


def load_mirflickr(
    path: str | os.PathLike[str],
    *,
    n_test: int = 2_000,
    n_train: int | None = 10_000,
    random_state: int | None = 0,
) -> MultimodalData:
    """Read MIRFlickr-25K from ``.mat`` files with the pictures, tags and labels of all objects.

    Parameters
    ----------
    path : path
        A file with all arrays, or a folder with one file per array, in subfolders if you like: image features
        (``XAll``, ``IAll`` or ``images``), tags (``YAll``), labels (``LAll``).
    n_test : int
        Number of queries, drawn at random. The other objects are the database.
    n_train : int or None
        Number of training objects, drawn from the database; ``None`` for the whole database.
    random_state : int or None

    Returns
    -------
    MultimodalData
        Views ``"image"`` and ``"text"``. Labels are bool of shape (n, n_labels); this data set has 24 labels.
        ``data.database`` has all objects except the queries.

    Notes
    -----
    These are the files published with Q.-Y. Jiang and W.-J. Li, "Deep cross-modal hashing" (CVPR 2017):
    20,015 objects, 1,386 tags, 24 labels. They use 2,000 queries and 10,000 training objects; other papers train
    on 5,000. Few papers publish which objects they drew, so their results are for different splits.

    If the file has pictures instead of features (``IAll`` of shape (224, 224, 3, n) in MATLAB),
    :class:`~diffhash.featurizers.PictureFeatures` are computed, which needs Pillow. Files of MATLAB 7.3 need h5py.
    """
    return _load(path, n_test, n_train, random_state, "load_mirflickr")


def load_nuswide(
    path: str | os.PathLike[str],
    *,
    n_test: int = 2_100,
    n_train: int | None = 10_500,
    random_state: int | None = 0,
) -> MultimodalData:
    """Read NUS-WIDE (with the 10 or 21 most frequent concepts) from ``.mat`` files in the same format.

    Parameters
    ----------
    path : path
        As for :func:`load_mirflickr`.
    n_test, n_train, random_state
        As for :func:`load_mirflickr`. Jiang and Li use 2,100 queries and 10,500 training objects with 21 concepts;
        with 10 concepts, 2,000 queries and 5,000 training objects are common too.

    Returns
    -------
    MultimodalData
        Views ``"image"`` and ``"text"`` (1,000 tags), several labels for each object.
    """
    return _load(path, n_test, n_train, random_state, "load_nuswide")


def load_coco(
    path: str | os.PathLike[str],
    *,
    n_test: int = 5_000,
    n_train: int | None = 10_000,
    random_state: int | None = 0,
) -> MultimodalData:
    """Read COCO, one caption vector for each picture, from files in the same format.

    Parameters
    ----------
    path : path
        As for :func:`load_mirflickr`: arrays ``XAll``, ``YAll`` and ``LAll`` (80 categories), also in an HDF5 file. The
        form with ``train_imgs_deep``, ``train_text``, ``train_imgs_labels`` and the same with ``test`` is read, too;
        both parts are joined, because papers draw their own split of them.
    n_test, n_train, random_state
        As for :func:`load_mirflickr`. 5,000 queries and 10,000 training objects are usual.

    Returns
    -------
    MultimodalData
        Views ``"image"`` and ``"text"``, several labels for each object.

    See Also
    --------
    load_embeddings : several captions for each picture.
    """
    return _load(path, n_test, n_train, random_state, "load_coco")


def _load(
    path: Any, n_test: int, n_train: int | None, random_state: int | None, caller: str
) -> MultimodalData:
    files = [ArrayFile(file, caller=caller) for file in _files(existing_path(path, caller), caller)]
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
    found = sorted(
        file for file in path.rglob("*") if file.suffix.lower() in (".mat", *HDF5_ENDINGS) and file.is_file()
    )
    if not found:
        raise InputError(f"{caller}: there is no .mat or HDF5 file in {path}.")
    return found


def _find(files: list[ArrayFile], names: tuple[str, ...], path: Any, caller: str) -> Any:
    """Return the array with the first of these names that any file has."""
    for name in names:
        holders = [file for file in files if name in file]
        if len(holders) > 1:
            raise InputError(
                f"{caller}: {name} is in {' and in '.join(str(file.path) for file in holders)}. Pass the path of "
                "one file, or a folder with one data set."
            )
        if holders:
            return holders[0][name]
    for parts in _PARTS.get(names, ()):
        for file in files:
            if all(name in file for name in parts):
                return np.concatenate([file[name] for name in parts])
    raise InputError(f"{caller}: no file of {path} has an array {' or '.join(names)}.")


def _pictures(array: NDArray[Any], n: int, caller: str) -> Iterable[NDArray[np.uint8]]:
    """Yield blocks of pictures of shape (n, height, width, 3) from an array of shape (height, width, 3, n)."""
    if array.shape[3] != n or array.shape[2] != 3 or array.dtype != np.uint8:
        raise InputError(
            f"{caller}: pictures must be uint8 of shape (height, width, 3, {n}), got {array.dtype} of shape "
            f"{array.shape}."
        )
    for start in range(0, n, _BLOCK):
        yield np.moveaxis(array[..., start : start + _BLOCK], 3, 0)
