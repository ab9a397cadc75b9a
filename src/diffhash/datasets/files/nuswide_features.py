"""Read NUS-WIDE as its authors published it: text files with low-level features, tags and labels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ...errors import InputError
from ..multimodal_data import MultimodalData, Split
from .array_file import existing_path
from .splits import check_rows

__all__ = ["load_nuswide_features"]

_FEATURES = ("CH", "CM55", "CORR", "EDH", "WT")


def load_nuswide_features(
    folder: str | os.PathLike[str],
    *,
    concepts: Sequence[str] | int = 10,
    features: Sequence[str] = _FEATURES,
) -> MultimodalData:
    """Read the text files that the authors of NUS-WIDE published.

    Parameters
    ----------
    folder : path
        It must contain, in any subfolder, ``Train_Normalized_CH.dat`` and so on, ``Train_Tags1k.dat``,
        ``Labels_sky_Train.txt`` and so on (from ``TrainTestLabels``), and the same files with ``Test``.
    concepts : list of names, or int
        The labels to use. A number selects the most frequent ones. Objects without any of them are left out.
    features : sequence of str
        Image features, joined side by side: CH (64 numbers), CM55 (225), CORR (144), EDH (73), WT (128).

    Returns
    -------
    MultimodalData
        Views ``"image"`` and ``"text"`` (1,000 tags, sparse); labels are bool of shape (n, n_concepts). The
        files define the split into training and test objects.

    Notes
    -----
    Data of T.-S. Chua et al., "NUS-WIDE: a real-world web image database from National University of Singapore",
    CIVR 2009. Reading the text files takes minutes: save the arrays that you need as ``.npz``.
    """
    caller = "load_nuswide_features"
    folder = existing_path(folder, caller)
    names = _concepts(folder, concepts, caller)
    parts = []
    for half in ("Train", "Test"):
        labels = np.column_stack([_labels(folder, name, half, caller) for name in names])
        kept = np.flatnonzero(labels.any(axis=1))
        blocks = [
            _numbers(_find(folder, f"{half}_Normalized_{name}.dat", caller), caller) for name in features
        ]
        tags = _tags(_find(folder, f"{half}_Tags1k.dat", caller), caller)
        named = {f"{half}_Normalized_{name}": block for name, block in zip(features, blocks, strict=True)}
        check_rows({"labels": labels, f"{half}_Tags1k": tags, **named}, caller=caller)
        views = {"image": np.hstack([block[kept] for block in blocks]), "text": tags[kept]}
        parts.append(Split(views, dict.fromkeys(views, labels[kept])))
    return MultimodalData(*parts)


def _find(folder: Path, name: str, caller: str) -> Path:
    found = sorted(folder.rglob(name))
    if not found:
        raise InputError(f"{caller}: there is no file {name} in {folder} or its subfolders.")
    return found[0]


def _concepts(folder: Path, wanted: Sequence[str] | int, caller: str) -> list[str]:
    if not isinstance(wanted, int):
        if isinstance(wanted, str) or not wanted:
            raise InputError(f"{caller}: concepts must be a list of names or a number, got {wanted!r}.")
        return list(wanted)
    known = sorted(
        path.name.removeprefix("Labels_").removesuffix("_Train.txt")
        for path in folder.rglob("Labels_*_Train.txt")
    )
    if not 1 <= wanted <= len(known):
        raise InputError(
            f"{caller}: cannot select {wanted} concepts, {folder} has {len(known)} files Labels_*_Train.txt."
        )
    counts = {name: int(_labels(folder, name, "Train", caller).sum()) for name in known}
    return sorted(known, key=lambda name: -counts[name])[:wanted]


def _labels(folder: Path, concept: str, half: str, caller: str) -> NDArray[np.bool_]:
    values = _numbers(_find(folder, f"Labels_{concept}_{half}.txt", caller), caller)
    if values.shape[1] != 1 or not np.isin(values, (0, 1)).all():
        raise InputError(f"{caller}: every line of Labels_{concept}_{half}.txt must be 0 or 1.")
    return values[:, 0] > 0


def _numbers(path: Path, caller: str) -> NDArray[np.float32]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns about an empty file
            return np.loadtxt(path, dtype=np.float32, ndmin=2)
    except (ValueError, UserWarning) as error:
        raise InputError(f"{caller}: {path} is not a table of numbers ({error}).") from error


def _tags(path: Path, caller: str) -> scipy.sparse.csr_array:
    """Read the tags line by line into a sparse array; a dense one would take gigabytes."""
    rows: list[NDArray[Any]] = []
    width: int | None = None
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                values = np.array(line.split(), dtype=np.float32)
            except ValueError as error:
                raise InputError(
                    f"{caller}: line {number} of {path} has a value that is not a number ({error})."
                ) from error
            width = len(values) if width is None else width
            if len(values) != width or width == 0:
                raise InputError(
                    f"{caller}: line {number} of {path} has {len(values)} numbers, the first has {width}."
                )
            rows.append(np.flatnonzero(values))
    if width is None:
        raise InputError(f"{caller}: {path} is empty.")
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows)
    ones = np.ones(len(columns), dtype=np.float32)
    return scipy.sparse.csr_array((ones, columns, ends), shape=(len(rows), width))
