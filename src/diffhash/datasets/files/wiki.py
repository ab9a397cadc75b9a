"""Read the Wikipedia articles of Rasiwasia et al."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...types import IntArray
from ..multimodal_data import MultimodalData
from .array_file import ArrayFile, existing_path
from .splits import as_features, check_rows, select_rows

__all__ = ["load_wiki"]

_LISTS = {"tr": "trainset_txt_img_cat.list", "te": "testset_txt_img_cat.list"}


def load_wiki(folder: str | os.PathLike[str]) -> MultimodalData:
    """Read the Wikipedia data from ``raw_features.mat`` and the two lists of categories.

    Parameters
    ----------
    folder : path
        It must contain ``raw_features.mat`` (arrays ``I_tr``, ``T_tr``, ``I_te``, ``T_te``),
        ``trainset_txt_img_cat.list`` and ``testset_txt_img_cat.list``.

    Returns
    -------
    MultimodalData
        Views ``"image"`` (128 visual words) and ``"text"`` (10 topics) of 2,173 training and 693 test articles.
        The labels are the classes 1 to 10. The files define the split.

    Notes
    -----
    Data of N. Rasiwasia et al., "A new approach to cross-modal multimedia retrieval", ACM Multimedia 2010. Each
    line of a list has the name of a text, the name of a picture and a class number, separated by tabs.
    """
    caller = "load_wiki"
    folder = existing_path(folder, caller)
    file = ArrayFile(folder / "raw_features.mat", caller=caller)
    parts = []
    for ending, name in _LISTS.items():
        views = {
            modality: as_features(file.first_of(f"{letter}_{ending}"), f"{letter}_{ending}", caller=caller)
            for modality, letter in (("image", "I"), ("text", "T"))
        }
        labels = _read_classes(existing_path(folder / name, caller), caller)
        check_rows({**views, name: labels}, caller=caller)
        parts.append(select_rows(views, labels))
    return MultimodalData(*parts)


def _read_classes(path: Path, caller: str) -> IntArray:
    classes: list[Any] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.split()
            if not fields:
                continue
            if not fields[-1].isdecimal():
                raise InputError(
                    f"{caller}: line {number} of {path} must end with a class number, got {line.strip()[:80]!r}."
                )
            classes.append(int(fields[-1]))
    return np.array(classes, dtype=np.int64)
