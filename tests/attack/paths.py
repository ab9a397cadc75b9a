"""Folders of the repository."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["FOLDER", "GOLDEN", "ROOT", "new_folder"]

ROOT = Path(__file__).parent.parent.parent
#: A file of every format that was ever released.
GOLDEN = ROOT / "tests" / "golden"
#: The environment variable with the folder of a worker.
FOLDER = "DIFFHASH_ATTACK_FOLDER"


def new_folder() -> Path:
    """An empty folder for files that are written and synced very often: in memory, where there is room.

    In a worker it is below the folder that the worker's other end removes.
    """
    if FOLDER in os.environ:
        return Path(tempfile.mkdtemp(dir=os.environ[FOLDER]))
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**29
    return Path(tempfile.mkdtemp(prefix="attack-", dir=memory if roomy else None))
