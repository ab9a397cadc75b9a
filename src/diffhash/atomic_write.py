"""Write files atomically: a reader sees the old file or the new one, never half of one.

The content goes to a temporary file in the same folder. When it is complete it is synced to the
disk and renamed. After an error or a power cut the old file is still there. A file of another kind
is never replaced: each writer says what it writes, see :mod:`.output_files`.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import DiffhashError
from .output_files import OutputKind, check_replaceable, write_error
from .paths import check_path

__all__ = ["remove_stale_parts", "replacing", "write_atomically"]

_DIGITS = "[0-9a-f]{8}"


def write_atomically(path: str | os.PathLike[str], data: bytes, kind: OutputKind) -> None:
    """Write ``data`` to a file. It replaces the file that was there, if that one is of the same kind.

    Raises
    ------
    OutputFileError
        See :func:`replacing`.

    Examples
    --------
    >>> import tempfile
    >>> from diffhash.output_files import text_file
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_atomically(path, b"text", OutputKind("text", text_file(".txt")))
    >>> path.read_bytes()
    b'text'
    """
    with replacing(path, kind) as part:
        part.write_bytes(data)


@contextmanager
def replacing(path: str | os.PathLike[str], kind: OutputKind) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block ends, the file there is moved to ``path``.

    If the block raises, nothing is moved. In both cases the temporary file is removed, and also
    files that the writer put beside it (names that begin with the temporary name, as SQLite's).

    Parameters
    ----------
    path : file to write
    kind : OutputKind
        What is written. An existing file of another kind is not replaced.

    Raises
    ------
    OutputFileError
        If another kind of file is there, the folder does not exist (:class:`~diffhash.errors.OutputFolderError`),
        the disk is full, or the block did not write the temporary file.

    Examples
    --------
    >>> import tempfile
    >>> from diffhash.output_files import text_file
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(path, OutputKind("text", text_file(".txt"))) as part:
    ...     _ = part.write_text("text")
    >>> path.read_text()
    'text'
    """
    path = check_path(path, caller=f"writing a {kind.name}")
    check_replaceable(path, kind)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _own_errors(path, part):
            yield part
            # Opened for writing: Windows syncs no other files.
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            # The work may have taken long: another program may have put its file there.
            check_replaceable(path, kind)
            part.replace(path)
    finally:
        _remove_matching(path.parent, re.escape(part.name))
    with _own_errors(path, part):
        _sync_folder(path.parent)


@contextmanager
def _own_errors(path: Path, part: Path) -> Iterator[None]:
    """Turn an OSError about the file that is written into an error of diffhash.

    The block of a writer may also read files. An error that names another file is not changed.
    """
    try:
        yield
    except OSError as error:
        about = None if error.filename is None else Path(os.fsdecode(error.filename))
        if isinstance(error, DiffhashError) or about not in (None, path, part, path.parent):
            raise
        raise write_error(path, error) from error


def remove_stale_parts(path: str | os.PathLike[str]) -> None:
    """Remove temporary files that interrupted writes to ``path`` left behind.

    The caller holds a lock, so that no other process is writing to ``path``: its temporary file
    would be removed too.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".a.txt.0123abcd.part").touch()
    >>> remove_stale_parts(folder / "a.txt")
    >>> list(folder.iterdir())
    []
    """
    path = Path(path)
    # The eight digits are matched exactly: parts of "a.txt" are not those of "a.txt.gz".
    part = rf"\.{re.escape(path.name)}\.{_DIGITS}\.part"
    # A writer that itself writes atomically to the temporary file leaves a part of the part.
    _remove_matching(path.parent, rf"{part}|\.{part}\.{_DIGITS}\.part")


def _remove_matching(folder: Path, start: str) -> None:
    """Remove the files in a folder whose names begin with this pattern.

    What cannot be removed stays: an error here would hide the error of the writer.
    """
    pattern = re.compile(start)
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if pattern.match(path.name):
                with suppress(OSError):
                    path.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
