"""Model files: named arrays and a JSON header in the safetensors format.

Nothing in such a file is ever run: the header is plain JSON, everything else is numbers. A file is
written under a temporary name and then renamed, so that it is complete or absent.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from ..atomic_write import write_atomically
from ..errors import ModelFileError, NewerFormatError

__all__ = [
    "FORMAT_VERSION",
    "is_model_file",
    "pack_model",
    "read_model",
    "unpack_model",
    "write_model",
]

#: Goes up when older releases cannot read what this one writes. Version 2: more than two modalities, or weights
#: of couples. A model without these is written as version 1, which older releases read, too.
FORMAT_VERSION = 2
_KEY = "diffhash"
#: The limit of safetensors.
_MAX_HEADER = 100_000_000
_CHECKSUM = "sha256"
#: The first bytes of every SQLite file, and so of every collection.
_SQLITE = b"SQLite f"


def write_model(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model; ``header`` must be plain JSON. Its ``format_version`` is the newest unless it names one."""
    write_atomically(path, pack_model(header, arrays))


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
    path = Path(path)
    # A file of another program may be huge: only its header is read before it is known to be a model.
    with path.open("rb") as file:
        start = file.read(8)
        if start == _SQLITE:
            raise ModelFileError(
                f"load: {path} is a collection or another SQLite file, not a model. Use Collection.open."
            )
        length = int.from_bytes(start, "little")
        head = file.read(min(length, _MAX_HEADER))
    _read_header(str(path), length, head)
    return unpack_model(path.read_bytes(), name=str(path))


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
    header = _read_header(name, length, data[8 : 8 + min(length, _MAX_HEADER)])
    try:
        tensors = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(
            f"load: {name} is damaged or truncated ({error}). Copy or save it again."
        ) from error
    if header.get(_CHECKSUM) != _checksum(header[_KEY], tensors):
        raise ModelFileError(f"load: {name} was changed after it was saved: its checksum does not match.")
    return json.loads(header[_KEY]), tensors


def _read_header(name: str, length: int, head: bytes) -> dict[str, str]:
    """Metadata of a safetensors file; an error unless it is a model that this release can read."""
    not_a_model = f"load: {name} is not a model saved by diffhash"
    if head[:1] != b"{" or length > _MAX_HEADER:
        raise ModelFileError(f"{not_a_model} (it is not a safetensors file).")
    if length > len(head):
        raise ModelFileError(f"load: {name} is truncated in its header. Copy or save it again.")
    try:
        metadata = json.loads(head).get("__metadata__", {})
        header = json.loads(metadata[_KEY])
        version = header["format_version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{not_a_model} (it has no header of diffhash).") from error
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{not_a_model} (format version {version!r}).")
    if version > FORMAT_VERSION:
        raise NewerFormatError(
            f"load: {name} has format version {version}; this diffhash reads up to {FORMAT_VERSION}. Upgrade diffhash."
        )
    return dict(metadata)


def _checksum(text: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"\n{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(tensor.view(np.uint8).data if tensor.size else b"")
    return digest.hexdigest()


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file has the header of a model, of any version."""
    with Path(path).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = file.read(length) if length <= _MAX_HEADER else b""
    try:
        return _KEY in json.loads(head)["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
