"""Files of packed codes: ``.npy`` arrays of uint8, written block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy

from ..atomic_write import replacing
from ..errors import InputFileError
from ..input_files import open_input
from ..output_files import OutputKind
from ..types import CodeArray
from .arrays import load_array, read_header
from .source import Source

__all__ = ["CODES_FILE", "IDS_FILE", "CodesWriter", "is_codes_file", "is_ids_file", "read_codes"]


class CodesWriter:
    """Write codes to a file when their number is not known at the start.

    Use it as a context manager. The file is written atomically: it appears, or replaces the codes
    that were there, only when the block ends without an error.

    Parameters
    ----------
    path : path of the ``.npy`` file
    n_bytes : int
        Number of bytes of a code.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "codes.npy"
    >>> with CodesWriter(path, 2) as writer:
    ...     writer.write(np.zeros((3, 2), dtype=np.uint8))
    ...     writer.write(np.ones((1, 2), dtype=np.uint8))
    >>> np.load(path).shape
    (4, 2)
    """

    def __init__(self, path: str | os.PathLike[str], n_bytes: int) -> None:
        self.path = Path(path)
        self.n_rows = 0
        self._n_bytes = n_bytes

    def __enter__(self) -> Self:
        self._context = self._opened()
        return self._context.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.__exit__(kind, error, trace)

    @contextmanager
    def _opened(self) -> Iterator[Self]:
        with replacing(self.path, CODES_FILE) as part, part.open("xb") as self._file:
            start = self._write_header()
            yield self
            if self._write_header() != start:
                raise InputFileError(f"{self.path}: {self.n_rows:,} rows do not fit the header.")

    def _write_header(self) -> int:
        self._file.seek(0)
        # NumPy pads the header so that the number of rows can grow within it.
        described = {"descr": "|u1", "fortran_order": False, "shape": (self.n_rows, self._n_bytes)}
        npy.write_array_header_1_0(self._file, described)
        return self._file.tell()

    def write(self, codes: CodeArray) -> None:
        """Append codes."""
        self._file.write(np.ascontiguousarray(codes).data)
        self.n_rows += len(codes)


def read_codes(source: str | os.PathLike[str] | Source) -> CodeArray:
    """Read packed codes into memory.

    Raises
    ------
    InputFileError
        If the array is not uint8 of shape (n, n_bytes).
    """
    source = source if isinstance(source, Source) else Source.parse(source)
    source.check_kind((".npy", ".npz"), "codes")
    codes = load_array(source)
    if codes.dtype != np.uint8 or codes.ndim != 2:
        raise InputFileError(
            f"{source}: codes must be uint8 of shape (n, n_bytes), got {codes.dtype} of shape {codes.shape}. "
            "Use diffhash encode to make codes from features."
        )
    return codes


def is_codes_file(path: Path) -> bool:
    """Whether a file is an ``.npy`` file of packed codes."""
    found = _shape_and_type(path)
    return found is not None and found[1] == np.uint8 and len(found[0]) == 2


def is_ids_file(path: Path) -> bool:
    """Whether a file is an ``.npy`` file of ids: whole numbers or strings."""
    found = _shape_and_type(path)
    return found is not None and len(found[0]) == 1 and found[1].kind in "iuU"


def _shape_and_type(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    try:
        with open_input(path, InputFileError) as file:
            shape, _, dtype = read_header(file, Source(path))
    except InputFileError:
        return None
    return shape, dtype


#: What :class:`CodesWriter` writes, and may replace.
CODES_FILE = OutputKind("file of codes", is_codes_file)
#: The file of ids that an export writes beside codes, and may replace.
IDS_FILE = OutputKind("file of ids", is_ids_file)
