"""What a result was measured on."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> dict[str, str]:
    packages = ("diffhash", "numpy", "scipy", "scikit-learn")
    return {
        "cpu": cpu_name(),
        "cores": str(os.cpu_count()),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
