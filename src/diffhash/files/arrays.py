"""NumPy files: ``.npy``, read in blocks or memory-mapped, and ``.npz``, read from its zip archive."""

from __future__ import annotations

import math
import os
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import InputFileError
from .features import BlockReader, FeatureFile, check_matrix
from .source import Source, listed

__all__ = [
    "NpyFeatures",
    "NpzFeatures",
    "load_array",
    "npz_names",
    "read_array_header",
    "read_header",
]

#: Size of one row of an array without rows.
_MOST_EMPTY_BYTES = 1 << 27
#: Deflate makes data at most this many times smaller.
_DEFLATE_RATIO = 1032

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


def read_header(file: IO[bytes], source: Source) -> Header:
    """Shape, Fortran order and type of the array in a file. Nothing is unpickled."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except Exception as error:  # NumPy parses the header as Python source: it can fail in many ways
        raise InputFileError(f"{source} is not an .npy array, or it is damaged ({error!s:.300}).") from error
    if dtype.hasobject:
        raise InputFileError(
            f"{source}: arrays of Python objects are not supported. Save numbers or strings."
        )
    if any(type(n) is not int or n < 0 for n in shape) or not dtype.itemsize:
        raise InputFileError(
            f"{source} is not an .npy array, or it is damaged (its shape is {shape}, its type {dtype})."
        )
    return shape, fortran, dtype


def _check_size(header: Header, start: int, size: int, source: Source) -> None:
    """Compare the header with the size of the file, before memory is allocated for the array."""
    shape, _, dtype = header
    needed = start + math.prod(shape) * dtype.itemsize
    if size < needed:
        raise InputFileError(
            f"{source} is truncated: its header describes {needed:,} bytes, the file has {size:,}. Copy it again."
        )
    # Rows that do not exist need no bytes, but whoever reads them may make room for their columns.
    if 0 in shape and math.prod(n or 1 for n in shape) * dtype.itemsize > _MOST_EMPTY_BYTES:
        raise InputFileError(f"{source} is damaged: it has no values, and its shape is {shape}.")


def _blocks(file: IO[bytes], header: Header, source: Source, step: int, keep: int) -> Iterator[NDArray[Any]]:
    """Read the rows of a C-ordered array, from the current position of a file, into buffers that are reused."""
    (n, width), _, dtype = header
    # Not memory-mapped, because mapped pages count as memory of the process.
    buffers = [np.empty((min(step, n), width), dtype=dtype) for _ in range(min(keep + 1, -(-n // step)))]
    for number, start in enumerate(range(0, n, step)):
        block = buffers[number % len(buffers)][: min(step, n - start)]
        _fill(file, memoryview(block.reshape(-1).view(np.uint8).data), source)
        yield block


def _fill(file: IO[bytes], view: memoryview, source: Source) -> None:
    done = 0
    while done < len(view):
        got = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            raise InputFileError(f"{source} is truncated: it ends before its last row.")
        done += got


class NpyFeatures(FeatureFile):
    """An ``.npy`` file of shape (n, n_features)."""

    def __init__(self, source: Source) -> None:
        if source.part is not None:
            raise InputFileError(f"{source.path}: an .npy file has no named parts. Remove '#{source.part}'.")
        self.source = source
        with source.path.open("rb") as file:
            self._header = read_header(file, source)
            self._start = file.tell()
        shape, self._fortran, self.dtype = self._header
        check_matrix(source, shape, self.dtype)
        self.n_rows: int
        self.n_rows, self.n_features = shape
        _check_size(self._header, self._start, source.path.stat().st_size, source)

    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:
        step = n_rows or self.block_rows(self.dtype.itemsize)
        if self._fortran:
            whole = self.array()
            yield from (np.ascontiguousarray(whole[i : i + step]) for i in range(0, len(whole), step))
            return
        with self.source.path.open("rb", buffering=0) as file:
            file.seek(self._start)
            yield from _blocks(file, self._header, self.source, step, keep)

    @contextmanager
    def block_readers(self, *, keep: int = 0) -> Iterator[Iterator[BlockReader]]:
        """As of every file. The thread that uses a block also reads it, so it finds the block in its cache."""
        # Windows cannot read at a place of its own in each thread.
        if self._fortran or not hasattr(os, "preadv"):
            with super().block_readers(keep=keep) as readers:
                yield readers
            return
        n_rows, own = self.n_rows, threading.local()
        step = self.block_rows(self.dtype.itemsize)
        with self.source.reading():
            file = self.source.path.open("rb", buffering=0)
        with file:
            yield (
                (start, partial(self._read_rows, file.fileno(), start, min(step, n_rows - start), own))
                for start in range(0, n_rows, step)
            )

    def _read_rows(self, handle: int, start: int, n_rows: int, own: threading.local) -> NDArray[Any]:
        """Some rows, in a buffer that belongs to the thread and is used again."""
        buffer = getattr(own, "buffer", None)
        if buffer is None or len(buffer) < n_rows:
            buffer = own.buffer = np.empty((n_rows, self.n_features), dtype=self.dtype)
        block: NDArray[Any] = buffer[:n_rows]
        view = memoryview(block.reshape(-1).view(np.uint8).data)
        place, done = self._start + start * block.strides[0], 0
        with self.source.reading():
            while done < len(view):
                got = os.preadv(handle, [view[done:]], place + done)
                if not got:
                    raise InputFileError(f"{self.source} is truncated: it ends before its last row.")
                done += got
        return block

    def array(self) -> NDArray[Any]:
        """All rows, memory-mapped."""
        if not self.n_rows:
            return np.empty((0, self.n_features), dtype=self.dtype)
        with self.source.reading():
            mapped: NDArray[Any] = np.load(self.source.path, mmap_mode="r", allow_pickle=False)
        return mapped


class NpzFeatures(FeatureFile):
    """One array of an ``.npz`` file, compressed or not."""

    def __init__(self, source: Source) -> None:
        self.source, self._member = source, npz_member(source)
        with zipfile.ZipFile(source.path) as archive, archive.open(self._member) as file:
            self._header = read_header(file, source)
            start, size = file.tell(), _member_size(archive, self._member, source)
        shape, self._fortran, self.dtype = self._header
        check_matrix(source, shape, self.dtype)
        self.n_rows, self.n_features = shape
        _check_size(self._header, start, size, source)

    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:
        step = n_rows or self.block_rows(self.dtype.itemsize)
        if self._fortran:
            whole = load_array(self.source)
            yield from (np.ascontiguousarray(whole[i : i + step]) for i in range(0, len(whole), step))
            return
        with zipfile.ZipFile(self.source.path) as archive, archive.open(self._member) as file:
            if read_header(file, self.source) != self._header:
                raise InputFileError(f"{self.source} was replaced while it was read. Read it again.")
            yield from _blocks(file, self._header, self.source, step, keep)

    def array(self) -> NDArray[Any]:
        """All rows, in memory."""
        return load_array(self.source)


def npz_names(source: Source) -> list[str]:
    """Names of the arrays in an ``.npz`` file."""
    with source.reading():
        try:
            with zipfile.ZipFile(source.path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        except zipfile.BadZipFile as error:
            raise InputFileError(f"{source.path} is not an .npz file, or it is damaged ({error}).") from error


def npz_member(source: Source) -> str:
    """Name, inside the zip archive, of the array that a source selects."""
    names = npz_names(source)
    if source.part is None and len(names) != 1:
        raise InputFileError(
            f"{source.path} has {len(names)} arrays: {listed(names)}. "
            f"Select one: {source.path.name}#{names[0] if names else 'NAME'}."
        )
    name = names[0] if source.part is None else source.part
    if name not in names:
        raise InputFileError(f"{source.path}: there is no array {name!r}. Arrays: {listed(names)}.")
    return f"{name}.npy"


def _member_size(archive: zipfile.ZipFile, member: str, source: Source) -> int:
    """Size of an unpacked array; an error if the packed bytes cannot give that many."""
    found = archive.getinfo(member)
    if found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputFileError(
            f"{source} is packed in a way that NumPy does not use. Save it with numpy.savez_compressed."
        )
    ratio = _DEFLATE_RATIO if found.compress_type == zipfile.ZIP_DEFLATED else 1
    packed = min(found.compress_size, source.path.stat().st_size)
    if found.file_size > ratio * packed:
        raise InputFileError(
            f"{source} is damaged: {found.compress_size:,} packed bytes cannot hold {found.file_size:,} bytes."
        )
    return found.file_size


def read_array_header(source: Source) -> Header:
    """Shape, Fortran order and type of the array that a source selects, compared with the size of the file."""
    with source.reading():
        if source.kind == ".npy":
            with source.path.open("rb") as file:
                header = read_header(file, source)
                _check_size(header, file.tell(), source.path.stat().st_size, source)
                return header
        member = npz_member(source)
        with zipfile.ZipFile(source.path) as archive, archive.open(member) as file:
            header = read_header(file, source)
            _check_size(header, file.tell(), _member_size(archive, member, source), source)
            return header


def load_array(source: Source) -> NDArray[Any]:
    """Read a whole array of any shape from an ``.npy`` or ``.npz`` file."""
    read_array_header(source)
    with source.reading():
        if source.kind == ".npy":
            return np.asarray(np.load(source.path, allow_pickle=False))
        with np.load(source.path, allow_pickle=False) as archive:
            return np.asarray(archive[npz_member(source).removesuffix(".npy")])
