"""Folders of shards: feature files of one modality, which together are its rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FeatureCountError, InputFileError
from ..files import FeatureFile, open_features
from ..files.arrays import NpyFeatures
from ..files.source import Source
from ..files.zarr_array import ZarrFeatures, is_zarr
from ..paths import check_not_address
from ..types import IntArray
from .blocks import Places, starts_of

__all__ = ["SHARD_KINDS", "Shard", "ShardBlocks", "open_shards"]

#: Endings of files that can be shards.
SHARD_KINDS = (".npy", ".parquet", ".zarr")


@dataclass(frozen=True)
class Shard:
    """One file of a folder of shards.

    Attributes
    ----------
    name : str
        The file, with ``#`` and a column if one was chosen.
    n_rows, n_features : int
    dtype : dtype
    """

    name: str
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.name) if is_zarr(self.name) else Source.parse(self.name).path

    @property
    def modified_ns(self) -> int:
        """When the file was changed; of a Zarr array, the last change of its chunks."""
        parts = self.path.rglob("*") if is_zarr(self.name) else ()
        return max([self.path.stat().st_mtime_ns, *(part.stat().st_mtime_ns for part in parts)])

    def open(self) -> FeatureFile:
        """Open the file again, where its rows are needed; it must not have changed."""
        file = _open(self.name)
        if (file.n_rows, file.n_features) != (self.n_rows, self.n_features):
            raise InputFileError(
                f"{self.name} has changed: it had {self.n_rows:,} rows of {self.n_features} features, now "
                f"{file.count():,} of {file.n_features}. Start again."
            )
        return file


@dataclass(frozen=True)
class _Ranges:
    """Argument of a task: rows of one or more shards, which are read there."""

    parts: tuple[tuple[Shard, int, int], ...]
    n_features: int

    def read(self) -> NDArray[Any]:
        """The rows."""
        found = [_read_range(*part) for part in self.parts]
        if len(found) == 1:
            return found[0]
        return np.concatenate(found) if found else np.zeros((0, self.n_features), np.float32)


@dataclass(frozen=True)
class _Rows:
    """Argument of a task: some rows of shards, by their numbers within each."""

    parts: tuple[tuple[Shard, IntArray], ...]

    def read(self) -> NDArray[Any]:
        """The rows."""
        return np.concatenate([np.array(shard.open().array()[rows]) for shard, rows in self.parts])


class ShardBlocks:
    """The rows of all shards of a folder, as blocks for :class:`~diffhash.cluster.dask_source.DaskSource`.

    Parameters
    ----------
    shards : list of Shard
    step : int
        Largest number of rows of a block. Parquet shards are not divided, because their rows cannot be read without the
        rows before them.
    sizes : tuple of int, optional
        Numbers of rows of the blocks, in place of ``step``.
    """

    def __init__(
        self, shards: Sequence[Shard], step: int = 1 << 62, sizes: tuple[int, ...] | None = None
    ) -> None:
        self._shards = list(shards)
        self._starts = starts_of([shard.n_rows for shard in shards])
        # A Parquet file without rows does not say how long its lists are.
        self.shape = sum(shard.n_rows for shard in shards), max(shard.n_features for shard in shards)
        self.dtype: np.dtype[Any] = np.result_type(*(shard.dtype for shard in shards))
        self.sparse = False
        self.sizes = tuple(_block_sizes(shards, step)) if sizes is None else sizes
        self.places = Places(self._starts, "shard", tuple(shard.name for shard in shards))
        self._blocks = starts_of(self.sizes)

    def split(self, sizes: tuple[int, ...]) -> ShardBlocks:
        """The same rows in other blocks."""
        return self if sizes == self.sizes else ShardBlocks(self._shards, sizes=sizes)

    def block(self, number: int) -> _Ranges:
        """The rows of a block."""
        start = self._blocks[number]
        stop, parts = start + self.sizes[number], []
        for shard, first in zip(self._shards, self._starts, strict=True):
            low, high = max(start - first, 0), min(stop - first, shard.n_rows)
            if low < high:
                parts.append((shard, low, high))
        return _Ranges(tuple(parts), self.shape[1])

    def take(self, rows: IntArray) -> _Rows:
        """Any rows, by their numbers, which are sorted."""
        ends = np.searchsorted(rows, [*self._starts[1:], self.shape[0]])
        begins = np.concatenate([[0], ends[:-1]])
        parts = [
            (shard, rows[low:high] - first)
            for shard, first, low, high in zip(self._shards, self._starts, begins, ends, strict=True)
            if low < high
        ]
        return _Rows(tuple(parts))


def open_shards(folder: str | os.PathLike[str], *, what: str) -> list[Shard]:
    """The shards of a folder, sorted by name.

    Parameters
    ----------
    folder : folder, optionally with ``#`` and the columns of Parquet files
        A folder whose name ends in ``.zarr`` is one Zarr array.
    what : str
        What the shards are, for messages.

    Raises
    ------
    InputFileError
        If there is no shard, one is missing in the middle, or one cannot be read.
    FeatureCountError
        If shards have different numbers of features.
    """
    check_not_address(folder, who=f"{what}: ")
    path, _, part = os.fspath(folder).partition("#")
    if not Path(path).is_dir():
        raise InputFileError(
            f"{what}: {path} is not a folder. With a scheduler, features are folders of {' or '.join(SHARD_KINDS)} "
            "files."
        )
    files = sorted(
        file
        for file in Path(path).iterdir()
        if file.suffix.lower() in SHARD_KINDS and file.name[0] not in "._"
    )
    if is_zarr(path):
        # The folder is one array.
        files = [Path(path)]
    if not files:
        raise InputFileError(f"{what}: there are no {' or '.join(SHARD_KINDS)} files in {path}.")
    _check_numbers([file.name for file in files], path, what)
    shards = [_open_shard(f"{file}#{part}" if part else str(file)) for file in files]
    # A shard without rows says nothing about lists of numbers.
    known = next((shard for shard in shards if shard.n_rows), shards[0])
    for shard in shards:
        if shard.n_features != known.n_features and (shard.n_rows or shard.n_features):
            raise FeatureCountError(
                f"{what}: {shard.name} has {shard.n_features} features, but {known.name} has {known.n_features}. All "
                "shards of a modality need the same features."
            )
    if not known.n_rows:
        raise InputFileError(f"{what}: the files in {path} have no rows.")
    return shards


def _open_shard(name: str) -> Shard:
    if name.partition("#")[0].lower().endswith(".parquet") and _is_empty_parquet(name):
        return Shard(name, 0, 0, np.dtype(np.float32))
    file = _open(name)
    first = next(file.blocks(1), None)
    return Shard(name, file.count(), file.n_features, np.dtype(np.float32) if first is None else first.dtype)


def _open(name: str) -> FeatureFile:
    return ZarrFeatures(Path(name)) if is_zarr(name) else open_features(name)


def _is_empty_parquet(name: str) -> bool:
    from ..files.parquet import open_parquet

    with open_parquet(Source.parse(name)) as file:
        return int(file.metadata.num_rows) == 0


def _check_numbers(names: Sequence[str], folder: str, what: str) -> None:
    """Raise if the files are numbered and a number is missing between the first and the last."""
    found = [re.fullmatch(r"(.*?)(\d+)(\D*)", name) for name in names]
    if not all(found) or len({(m[1], m[3]) for m in found if m}) != 1:
        return
    numbers = {int(m[2]): m for m in found if m}
    missing = [n for n in range(min(numbers), max(numbers)) if n not in numbers]
    # Names such as days or hours have gaps everywhere; a lost file leaves a small one.
    if missing and len(missing) < len(numbers):
        like = numbers[min(numbers)]
        name = f"{like[1]}{missing[0]:0{len(like[2])}}{like[3]}"
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputFileError(
            f"{what}: {Path(folder) / name}{more} is missing; the shards are numbered from {min(numbers)} to "
            f"{max(numbers)}. Restore it, or rename the others so that no number is left out."
        )


def _block_sizes(shards: Sequence[Shard], step: int) -> Iterator[int]:
    for shard in shards:
        if shard.n_rows > step and not shard.name.partition("#")[0].lower().endswith(".parquet"):
            n_blocks = -(-shard.n_rows // step)
            edges = np.linspace(0, shard.n_rows, n_blocks + 1).astype(int)
            yield from (int(size) for size in np.diff(edges))
        else:
            yield shard.n_rows


def _read_range(shard: Shard, start: int, stop: int) -> NDArray[Any]:
    file = shard.open()
    if isinstance(file, NpyFeatures):
        # A copy: mapped pages count as memory of the worker, and a file that is cut later would end the process.
        return np.array(file.array()[start:stop])
    if isinstance(file, ZarrFeatures):
        return file.rows(start, stop)
    found = file.array()
    return found if (start, stop) == (0, len(found)) else found[start:stop]
