"""Which of the field's data sets a folder holds, and how each is read and split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffhash.datasets import MultimodalData, files
from diffhash.datasets.files.array_file import ArrayFile
from diffhash.errors import InputError

Load = Callable[..., MultimodalData]

_ARRAY_ENDINGS = (".mat", ".npz", ".h5", ".hdf5", ".h5py", ".he5")
#: Arrays that tell that a file is split already.
_SPLIT_ENDINGS = ("_tr", "_train", "Database")


@dataclass(frozen=True)
class DataSet:
    """A data set of the field.

    Attributes
    ----------
    key, title : str
    words : tuple of str
        Parts of file names, in lower case, by which its files are recognised.
    load : function or None
        Reads files with all objects; None if such files are not known.
    sizes : (int, int), or None
        Numbers of queries and training objects of the usual split.
    """

    key: str
    title: str
    words: tuple[str, ...]
    load: Load | None
    sizes: tuple[int, int] | None


DATA_SETS = (
    DataSet("wiki", "Wikipedia", ("wiki",), None, None),
    DataSet("mirflickr", "MIRFlickr-25K", ("flickr", "mir"), files.load_mirflickr, (2_000, 10_000)),
    DataSet("nuswide", "NUS-WIDE", ("nus",), files.load_nuswide, (2_100, 10_500)),
    DataSet("coco", "COCO", ("coco",), files.load_coco, (5_000, 10_000)),
)
#: NUS-WIDE with its 10 most frequent concepts is split in another way.
_TEN_CONCEPTS, _TEN_CONCEPTS_SIZES = "tc10", (2_000, 5_000)


@dataclass(frozen=True)
class Found:
    """A data set that was found, and the files that it is read from."""

    data_set: DataSet
    path: Path

    def read(self, seed: int, n_test: int | None, n_train: int | None) -> tuple[MultimodalData, str]:
        """The data, and how it was split."""
        own, path = self.data_set, self.path
        if path.is_dir() and (path / "raw_features.mat").is_file():
            return files.load_wiki(path), "the split of the files"
        if path.is_dir() and any(path.rglob("Train_Tags1k.dat")):
            return files.load_nuswide_features(path), "the split of the files, the 10 most frequent concepts"
        if (single := _split_file(path)) is not None:
            return files.load_split(single), "the split of the file"
        if own.load is None or own.sizes is None:
            raise InputError(f"protocol: {path} has no training and test arrays of {own.title}.")
        usual = _TEN_CONCEPTS_SIZES if _is_ten_concepts(path) else own.sizes
        queries, training = n_test or usual[0], n_train or usual[1]
        drawn = f"{queries:,} queries and {training:,} training objects drawn with seed {seed}"
        return own.load(path, n_test=queries, n_train=training, random_state=seed), drawn


def find_data(folder: Path) -> list[Found]:
    """The data sets in a folder: a folder or a file for each, or the folder itself is one.

    Raises
    ------
    InputError
        If there is none, or if the files of several lie side by side.
    """
    if not folder.is_dir():
        raise InputError(f"protocol: {folder} is not a folder.")
    if (folder / "raw_features.mat").is_file():
        return [Found(DATA_SETS[0], folder)]
    entries = [
        path for path in sorted(folder.iterdir()) if path.is_dir() or path.suffix.lower() in _ARRAY_ENDINGS
    ]
    by_set = {own: [path for path in entries if _matches(path.name, own)] for own in DATA_SETS}
    found = []
    for own, paths in by_set.items():
        if len(paths) == 1:
            found.append(Found(own, paths[0]))
        elif paths and len(paths) == len(entries):
            found.append(Found(own, folder))
        elif paths:
            raise InputError(
                f"protocol: {folder} has several files of {own.title} ({paths[0].name}, {paths[1].name}) beside "
                "other data. Put the files of each data set into a folder of its own."
            )
    if not found and (own := next((each for each in DATA_SETS if _matches(folder.name, each)), None)):
        found = [Found(own, folder)]
    if not found:
        raise InputError(
            f"protocol: {folder} has no files of {', '.join(each.title for each in DATA_SETS)}. The page about data "
            "sets says which files are read."
        )
    return found


def _matches(name: str, own: DataSet) -> bool:
    return any(word in name.lower() for word in own.words)


def _is_ten_concepts(path: Path) -> bool:
    names = [path.name, *(each.name for each in path.rglob("*"))] if path.is_dir() else [path.name]
    return any(_TEN_CONCEPTS in name.lower() for name in names)


def _split_file(path: Path) -> Path | None:
    """The only file of arrays, if it has training and test arrays."""
    if path.is_dir():
        inside = [each for each in sorted(path.rglob("*")) if each.suffix.lower() in _ARRAY_ENDINGS]
        if len(inside) != 1:
            return None
        path = inside[0]
    names: Any = ArrayFile(path, caller="protocol")
    return path if any(name.endswith(_SPLIT_ENDINGS) for name in names) else None
