"""Files of a HammingIndex: codes and ids in the safetensors format, read by memory mapping.

A file has, in this order: the length of the header (8 bytes, little endian), the header (JSON,
filled up with spaces to a multiple of 8 bytes), the ids (int64, little endian; absent if the ids
are the row numbers) and the codes (uint8). The header describes both arrays as ``ids`` and
``codes``. Its ``__metadata__`` has the key ``diffhash_index`` with a JSON text that holds
``format_version`` and ``n_bits``. Any safetensors reader can read such a file.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_write import replacing
from ..errors import IndexFileError, IndexNotFoundError
from ..input_files import file_size, open_input, reading
from ..native.argument_checks import MAX_BITS
from ..native.search import IndexedCodes
from ..output_files import OutputKind
from ..types import CodeArray

__all__ = ["FORMAT_VERSION", "INDEX_FILE", "read_index", "write_index"]

#: Increased when older releases cannot read what this one writes.
FORMAT_VERSION = 1
_KEY = "diffhash_index"
_LARGEST_HEADER = 1 << 20
#: Name in safetensors, dtype and number of dimensions.
_TYPES: dict[str, tuple[str, np.dtype[Any], int]] = {
    "ids": ("I64", np.dtype("<i8"), 1),
    "codes": ("U8", np.dtype(np.uint8), 2),
}


def write_index(path: str | os.PathLike[str], stored: IndexedCodes) -> None:
    """Write codes and ids to a file, atomically."""
    arrays: dict[str, NDArray[Any]] = (
        {} if stored.ids is None else {"ids": stored.ids.astype("<i8", copy=False)}
    )
    arrays["codes"] = stored.codes
    described = json.dumps({"format_version": FORMAT_VERSION, "n_bits": stored.n_bits})
    header: dict[str, Any] = {"__metadata__": {_KEY: described}}
    start = 0
    for name, array in arrays.items():
        end = start + array.nbytes
        header[name] = {"dtype": _TYPES[name][0], "shape": array.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path, INDEX_FILE) as part, part.open("xb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            np.ascontiguousarray(array).tofile(file)


def read_index(path: str | os.PathLike[str]) -> tuple[CodeArray, NDArray[np.int64] | None, int]:
    """Codes and ids (None: the row numbers), both memory-mapped, and the number of bits.

    Raises
    ------
    IndexFileError
        If the file is not an index, is damaged, or was written by a later version.
    """
    path = Path(path)
    with open_input(path, IndexFileError, missing=IndexNotFoundError) as file:
        header, start = _read_header(path, file)
        size = file_size(file)
    version, n_bits = _read_metadata(path, header)
    if version > FORMAT_VERSION:
        raise IndexFileError(
            f"{path} has index format {version}, this release of diffhash reads up to {FORMAT_VERSION}. "
            "Install a newer release."
        )
    with reading(path, IndexFileError):
        arrays = {name: _mapped(path, name, header[name], start, size) for name in _TYPES if name in header}
    described = start + sum(array.nbytes for array in arrays.values())
    if "codes" not in arrays or size != described:
        raise _damaged(path, f"it has {size:,} bytes, its header describes {described:,}")
    return arrays["codes"], arrays.get("ids"), n_bits


def _read_header(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """The header, and the place of the first byte after it."""
    length = int.from_bytes(file.read(8), "little")
    text = file.read(length) if length <= _LARGEST_HEADER else b""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if len(text) != length or not isinstance(header, dict):
        raise _damaged(path, "its header cannot be read")
    return header, 8 + length


def _read_metadata(path: Path, header: dict[str, Any]) -> tuple[int, int]:
    try:
        described = json.loads(header["__metadata__"][_KEY])
        version, n_bits = described["format_version"], described["n_bits"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path, "its header does not describe an index") from None
    if type(version) is not int or type(n_bits) is not int or version < 1:
        raise _damaged(path, "its header does not describe an index")
    return version, n_bits


def _mapped(path: Path, name: str, described: Any, start: int, size: int) -> NDArray[Any]:
    """One of the arrays, mapped from a file of ``size`` bytes once its description is checked."""
    code, dtype, n_sides = _TYPES[name]
    try:
        found, shape = described["dtype"], tuple(described["shape"])
        first, last = described["data_offsets"]
        numbers = (*shape, first, last)
    except (KeyError, TypeError, ValueError):
        raise _damaged(path, f"its header does not describe {name}") from None
    # An empty index may have wider codes than its file has bytes.
    limit = max(size, MAX_BITS // 8)
    whole = all(type(number) is int and 0 <= number <= limit for number in numbers)
    if found != code or len(shape) != n_sides or not whole:
        raise _damaged(path, f"its header does not describe {name}")
    nbytes = math.prod(shape) * dtype.itemsize
    if last - first != nbytes or start + last > size:
        raise _damaged(path, f"it does not hold all {name}")
    if not nbytes:
        return np.empty(shape, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=start + first, shape=shape)


def _is_index_file(path: Path) -> bool:
    """Whether a file has the header of an index, of any version."""
    try:
        with open_input(path, IndexFileError) as file:
            header, _ = _read_header(path, file)
        _read_metadata(path, header)
    except IndexFileError:
        return False
    return True


#: What ``HammingIndex.save`` writes, and may replace.
INDEX_FILE = OutputKind("saved index", _is_index_file)


def _damaged(path: Path, reason: str) -> IndexFileError:
    return IndexFileError(f"{path} is not an index saved by diffhash, or it is damaged: {reason}.")
