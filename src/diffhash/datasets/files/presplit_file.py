"""Read one file that is already split into training and test arrays."""

from __future__ import annotations

import os
from typing import Any

from ...errors import InputError
from ..multimodal_data import MultimodalData, Split
from .array_file import ArrayFile
from .splits import as_features, as_labels, check_rows, select_rows

__all__ = ["load_split"]

#: Array names of each modality in the training and the test part, and array names of the labels.
_MATLAB_FORMS = (
    ({"image": ("I_tr", "I_te"), "text": ("T_tr", "T_te")}, ("L_tr", "L_te")),
    ({"image": ("XDatabase", "XTest"), "text": ("YDatabase", "YTest")}, ("databaseL", "testL")),
)


def load_split(path: str | os.PathLike[str], *, modalities: tuple[str, ...] | None = None) -> MultimodalData:
    """Read a file that has separate arrays for training and test objects.

    Parameters
    ----------
    path : path
        An ``.npz``, ``.mat`` or HDF5 file. It has arrays ``m_train`` and ``m_test`` for every modality ``m``, and
        ``labels_train`` and ``labels_test``. Names that are usual in MATLAB code are understood too: ``I_tr``,
        ``T_tr``, ``L_tr``, ``I_te``, ``T_te``, ``L_te``; or ``XDatabase``, ``YDatabase``, ``databaseL``, ``XTest``,
        ``YTest``, ``testL``.
    modalities : tuple of str, optional
        The modalities to read, in this order; all by default.

    Returns
    -------
    MultimodalData

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.npz"
    >>> rng = np.random.default_rng(0)
    >>> parts = {f"{m}_{p}": rng.random((n, 3)) for m in ("sound", "text") for p, n in (("train", 8), ("test", 4))}
    >>> np.savez(path, **parts, labels_train=np.arange(8) % 2, labels_test=np.arange(4) % 2)
    >>> data = load_split(path)
    >>> data.train.views["sound"].shape, data.test.labels["text"]
    ((8, 3), array([0, 1, 0, 1]))
    """
    caller = "load_split"
    file = ArrayFile(path, caller=caller)
    names, labels = _names(file, caller)
    for modality in modalities or ():
        if modality not in names:
            raise InputError(f"{caller}: {path} has no modality {modality!r}; it has {', '.join(names)}.")
    chosen = {m: names[m] for m in modalities or names}
    return MultimodalData(*(_part(file, chosen, labels, half, caller) for half in (0, 1)))


def _names(file: ArrayFile, caller: str) -> tuple[dict[str, tuple[str, str]], tuple[str, str]]:
    found = {
        name.removesuffix("_train"): (name, f"{name.removesuffix('_train')}_test")
        for name in file
        if name.endswith("_train") and f"{name.removesuffix('_train')}_test" in file
    }
    if "labels" in found and len(found) > 1:
        return found, found.pop("labels")
    for names, labels in _MATLAB_FORMS:
        if all(name in file for name in (*labels, *(n for both in names.values() for n in both))):
            return dict(names), labels
    raise InputError(
        f"{caller}: {file.path} must have a training and a test array for each modality and for the labels, such as "
        f"image_train, image_test, labels_train, labels_test; it has {', '.join(file) or 'none'}."
    )


def _part(
    file: ArrayFile, names: dict[str, tuple[str, str]], label_names: tuple[str, str], half: int, caller: str
) -> Split:
    views: dict[str, Any] = {
        modality: as_features(file[both[half]], both[half], caller=caller) for modality, both in names.items()
    }
    labels = as_labels(file[label_names[half]], label_names[half], caller=caller)
    check_rows({**views, label_names[half]: labels}, caller=caller)
    return select_rows(views, labels)
