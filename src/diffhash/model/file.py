"""Model files: named arrays and a JSON header in the safetensors format.

Nothing in such a file is ever run: the header is plain JSON, everything else is numbers. A file is
written under a temporary name and then renamed, so that it is complete or absent.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from ..atomic_write import write_atomically
from ..errors import ModelFileError, ModelNotFoundError, NewerFormatError
from ..input_files import file_size, open_input
from ..output_files import OutputKind

__all__ = [
    "FORMAT_VERSION",
    "MODEL_FILE",
    "is_model_file",
    "pack_model",
    "read_model",
    "unpack_model",
    "write_model",
]

#: Goes up when older releases cannot read what this one writes. Version 2: more than two modalities, or weights
#: of couples. Version 3: a distance function of the user. A model without these is written as version 1, which older
#: releases read, too.
FORMAT_VERSION = 3
_KEY = "diffhash"
#: The limit of safetensors.
_MAX_HEADER = 100_000_000
_CHECKSUM = "sha256"
#: An array without values may have a row of this many, also in a small file.
_MOST_WITHOUT_BYTES = 1 << 20
#: The first bytes of every SQLite file, and so of every collection.
_SQLITE = b"SQLite f"


def write_model(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model; ``header`` must be plain JSON. Its ``format_version`` is the newest unless it names one."""
    write_atomically(path, pack_model(header, arrays), MODEL_FILE)


def pack_model(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Content of the file that :func:`write_model` writes."""
    text = json.dumps({"format_version": FORMAT_VERSION, **header}, sort_keys=True, allow_nan=False)
    # safetensors 0.8 writes the raw buffer of a Fortran-ordered array under its C-ordered shape.
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata = {_KEY: text, _CHECKSUM: _checksum(text, tensors)}
    return _ordered(safetensors.numpy.save(tensors, metadata))


def _ordered(data: bytes) -> bytes:
    """Sort the metadata, which safetensors writes in random order: equal models give equal bytes."""
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    ordered = {"__metadata__": dict(sorted(head.pop("__metadata__").items())), **head}
    text = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, memoryview(data)[8 + length :]])


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write_model` wrote.

    Raises
    ------
    ModelFileError
        See :func:`unpack_model`.
    """
    name = os.fspath(path)
    with open_input(path, ModelFileError, missing=ModelNotFoundError, who="load: ") as file:
        start = file.read(8)
        if start == _SQLITE:
            raise ModelFileError(
                f"load: {name} is a collection or another SQLite file, not a model. Use Collection.open."
            )
        length = int.from_bytes(start, "little")
        head = file.read(min(length, _MAX_HEADER))
        # A file of another program may be huge: the rest is read only if it is what the header describes.
        _read_header(name, length, head, file_size(file))
        file.seek(0)
        return unpack_model(file.read(), name=name)


def unpack_model(data: bytes, *, name: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a packed model.

    Parameters
    ----------
    data : bytes
    name : str
        Where the bytes come from, for error messages: "load: {name} is damaged".

    Raises
    ------
    ModelFileError
        If this is not a model, if it is damaged or was changed, or if it is newer than this diffhash.

    Examples
    --------
    >>> data = pack_model({"class": "Example"}, {"a": np.arange(3)})
    >>> header, arrays = unpack_model(data, name="an example")
    >>> header["class"], arrays["a"]
    ('Example', array([0, 1, 2]))
    """
    length = int.from_bytes(data[:8], "little")
    header = _read_header(name, length, data[8 : 8 + min(length, _MAX_HEADER)], len(data))
    try:
        tensors = safetensors.numpy.load(data)
        checksum = _checksum(header[_KEY], tensors)
    except Exception as error:  # a damaged file can raise anything in safetensors and NumPy
        raise ModelFileError(
            f"load: {name} is damaged or truncated ({error}). Copy or save it again."
        ) from error
    if header.get(_CHECKSUM) != checksum:
        raise ModelFileError(f"load: {name} was changed after it was saved: its checksum does not match.")
    return json.loads(header[_KEY]), tensors


def _read_header(name: str, length: int, head: bytes, size: int) -> dict[str, str]:
    """Metadata of a safetensors file of ``size`` bytes; an error unless it is a model that this release can read."""
    not_a_model = f"load: {name} is not a model saved by diffhash"
    if head[:1] != b"{" or length > _MAX_HEADER:
        raise ModelFileError(f"{not_a_model} (it is not a safetensors file).")
    if length > len(head):
        raise ModelFileError(f"load: {name} is truncated in its header. Copy or save it again.")
    try:
        described = json.loads(head)
        metadata = described.pop("__metadata__", {})
        header = json.loads(metadata[_KEY])
        version = header["format_version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{not_a_model} (it has no header of diffhash).") from error
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{not_a_model} (format version {version!r:.50}).")
    if version > FORMAT_VERSION:
        raise NewerFormatError(
            f"load: {name} has format version {version}; this diffhash reads up to {FORMAT_VERSION}. Upgrade diffhash."
        )
    _check_sizes(name, described, 8 + length, size)
    return dict(metadata)


def _check_sizes(name: str, described: Mapping[str, Any], start: int, size: int) -> None:
    """Compare what the header describes with the size of the file, before memory is allocated for it."""
    try:
        end = start + max((array["data_offsets"][1] for array in described.values()), default=0)
        shapes = [array["shape"] for array in described.values()]
        # A side that is a list would be repeated by the product, up to any length.
        whole = all(type(side) is int for shape in shapes for side in shape)
        # Sides of 0 count as 1: (0, 10 ** 9) has no bytes, but its mean would have 8 GB.
        largest = (
            max((math.prod(side or 1 for side in shape) for shape in shapes), default=0) if whole else -1
        )
        fits = end == size and 0 <= largest <= max(size, _MOST_WITHOUT_BYTES)
    except (KeyError, TypeError, IndexError, OverflowError):
        fits = False
    if not fits:
        raise ModelFileError(
            f"load: {name} is damaged or truncated: it has {size:,} bytes, and its header describes arrays of "
            "another size. Copy or save it again."
        )


def _checksum(text: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"\n{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(tensor.view(np.uint8).data if tensor.size else b"")
    return digest.hexdigest()


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file can be read and has the header of a model, of any version."""
    try:
        with open_input(path, ModelFileError) as file:
            length = int.from_bytes(file.read(8), "little")
            head = file.read(length) if length <= _MAX_HEADER else b""
        return _KEY in json.loads(head)["__metadata__"]
    except (ModelFileError, ValueError, KeyError, TypeError, RecursionError):
        return False


#: What ``save`` of a model writes, and may replace.
MODEL_FILE = OutputKind("model", is_model_file)
