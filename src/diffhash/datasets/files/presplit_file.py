"""Read one file that is already split into training and test arrays."""

from __future__ import annotations

import os
from typing import Any

from ...errors import InputError
from ..multimodal_data import MultimodalData, Split
from .array_file import ArrayFile
from .splits import as_features, as_labels, check_rows, select_rows

__all__ = ["load_split"]

#: Array names of each modality in the training and the test part, and array names of the labels. A third name is that
#: of the database, which not every file has.
_MATLAB_FORMS = (
    (
        {"image": ("I_tr", "I_te", "I_db"), "text": ("T_tr", "T_te", "T_db")},
        ("L_tr", "L_te", "L_db"),
    ),
    ({"image": ("XDatabase", "XTest"), "text": ("YDatabase", "YTest")}, ("databaseL", "testL")),
)


def load_split(path: str | os.PathLike[str], *, modalities: tuple[str, ...] | None = None) -> MultimodalData:
    """Read a file that has separate arrays for training and test objects.

    Parameters
    ----------
    path : path
        An ``.npz``, ``.mat`` or HDF5 file. It has arrays ``m_train`` and ``m_test`` for every modality ``m``, and
        ``labels_train`` and ``labels_test``. If there are arrays ``m_database`` and ``labels_database``, too, these are
        the objects to search. Names that are usual in MATLAB code are understood: ``I_tr``, ``T_tr``, ``L_tr``,
        ``I_te``, ``T_te``, ``L_te``, also with ``I_db``, ``T_db``, ``L_db``; or ``XDatabase``, ``YDatabase``,
        ``databaseL``, ``XTest``, ``YTest``, ``testL``.
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
    in_all = all(len(each) == 3 for each in (labels, *chosen.values()))
    return MultimodalData(*(_part(file, chosen, labels, part, caller) for part in range(3 if in_all else 2)))


def _names(file: ArrayFile, caller: str) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    found = {
        base: _present(file, name, f"{base}_test", f"{base}_database")
        for name in file
        if (base := name.removesuffix("_train")) != name and f"{base}_test" in file
    }
    if "labels" in found and len(found) > 1:
        return found, found.pop("labels")
    for names, labels in _MATLAB_FORMS:
        if all(name in file for each in (labels, *names.values()) for name in each[:2]):
            return {m: _present(file, *each) for m, each in names.items()}, _present(file, *labels)
    raise InputError(
        f"{caller}: {file.path} must have a training and a test array for each modality and for the labels, such as "
        f"image_train, image_test, labels_train, labels_test; it has {', '.join(file) or 'none'}."
    )


def _present(file: ArrayFile, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in file)


def _part(
    file: ArrayFile, names: dict[str, tuple[str, ...]], label_names: tuple[str, ...], part: int, caller: str
) -> Split:
    views: dict[str, Any] = {
        modality: as_features(file[each[part]], each[part], caller=caller) for modality, each in names.items()
    }
    labels = as_labels(file[label_names[part]], label_names[part], caller=caller)
    check_rows({**views, label_names[part]: labels}, caller=caller)
    return select_rows(views, labels)
