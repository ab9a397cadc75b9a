"""Files of packed codes: ``.npy`` of uint8, written row by row and put in place when whole."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.lib import format as npy

from ..errors import InputFileError
from ..types import CodeArray
from .arrays import load_array
from .source import Source

__all__ = ["CodesWriter", "read_codes"]


class CodesWriter:
    """Write codes whose number is not known before the last one.

    The file appears when the context is left without an error, and not before; one that was there
    is replaced.

    Parameters
    ----------
    path : path of the ``.npy`` file
    n_bytes : int
        Bytes of a code.

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
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"cannot write {self.path}: there is no folder {self.path.parent}. Make it first."
            )
        self._part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.part")
        self._file: IO[bytes] = self._part.open("xb")
        self._start = self._write_header()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._file.close()
            self._part.unlink(missing_ok=True)

    def _finish(self) -> None:
        if self._write_header() != self._start:
            raise InputFileError(f"{self.path}: {self.n_rows:,} rows do not fit the header.")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self.path)


def read_codes(source: str | os.PathLike[str] | Source) -> CodeArray:
    """Packed codes, in memory.

    Raises
    ------
    InputFileError
        If the file holds anything but uint8 of shape (n, n_bytes).
    """
    source = source if isinstance(source, Source) else Source.parse(source)
    source.check_kind((".npy", ".npz"), "codes")
    codes = load_array(source)
    if codes.dtype != np.uint8 or codes.ndim != 2:
        raise InputFileError(
            f"{source}: codes are uint8 of shape (n, n_bytes), got {codes.dtype} of shape {codes.shape}. "
            "Make codes of features with diffhash encode."
        )
    return codes
