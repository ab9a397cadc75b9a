"""Write the feature files that docs/measurements/compare.md compares methods on: stamps, cora and symbols.

python -m benchmarks.compare_data OUT --data FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .datasets import DATASETS
from .loaders import Task


def write(task: Task, path: Path) -> None:
    """All rows of a task in one .npz file: both views, the rows to hold out, and labels if there are any."""
    views = {m: np.concatenate([_dense(task.train[m]), _dense(task.test[m])]) for m in task.train}
    more = {"test": np.repeat([False, True], [task.n_train, task.n_test])}
    if task.train_labels is not None and task.test_labels is not None:
        more["labels"] = np.concatenate([task.train_labels, task.test_labels])
    np.savez(path, **views, **more)


def _dense(view: Any) -> Any:
    return np.asarray(view.toarray() if sparse.issparse(view) else view, dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data files")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in ("stamps", "cora", "symbols"):
        write(DATASETS[name].load(0, arguments.data), arguments.out / f"{name}.npz")


if __name__ == "__main__":
    main()
