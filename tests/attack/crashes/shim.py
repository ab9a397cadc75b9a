"""The library that sees system calls: built with the C compiler, and called from the process it is loaded into."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["build_shim", "count_changes", "kill_at_change", "record_changes"]


@functools.cache
def build_shim() -> Path:
    """Compile the library; the path is for ``LD_PRELOAD``."""
    folder = Path(tempfile.mkdtemp(prefix="attack-shim-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source, library = Path(__file__).with_name("shim.c"), folder / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, "-ldl"], check=True)
    return library


def _loaded() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def record_changes(folder: Path, log: Path) -> None:
    """Record every change of a file in a folder, in this process."""
    _loaded().shim_record(os.fsencode(folder), os.fsencode(log))


def kill_at_change(folder: Path, number: int, *, torn: bool) -> None:
    """Kill this process before its n-th change of a file in a folder; if ``torn``, in the middle of it."""
    _loaded().shim_kill(os.fsencode(folder), ctypes.c_int64(number), int(torn))


def count_changes() -> int:
    """Number of changes since one of the functions above was called."""
    count = _loaded().shim_count
    count.restype = ctypes.c_int64
    return int(count())
