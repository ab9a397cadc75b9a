"""Accuracy of all methods on all datasets; tables and plots.

``python -m benchmarks.accuracy`` measures what is not measured yet, then writes the tables and
the plots. ``--report`` only writes, ``--quick`` is a smoke run of one dataset and few methods.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..datasets import DATASETS, DEFAULT_FOLDER, ROOT
from .methods import METHODS
from .report import write_report
from .run import measure

RESULTS = ROOT / "benchmarks" / "results"
PLOTS = ROOT / "docs" / "_static" / "accuracy"
QUICK = {
    "datasets": ["digit-halves"],
    "methods": ["DiffHash", "CCA signs", "CCA + ITQ", "CCA, real-valued"],
    "bits": [16, 64],
}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.accuracy", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_FOLDER, help="folder of wiki.npz and uci_digits.npz"
    )
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--bits", nargs="+", type=int, default=[], help="default: 16 32 64 128")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder of the JSON files and accuracy.md"
    )
    parser.add_argument("--plots", type=Path, default=PLOTS)
    parser.add_argument("--report", action="store_true", help="only write tables and plots")
    parser.add_argument("--no-report", action="store_true", help="only measure")
    parser.add_argument("--quick", action="store_true", help="one dataset, few methods, one seed")
    options = parser.parse_args(arguments)
    if options.quick:
        vars(options).update(QUICK, seeds=1)
    return options


def measure_all(options: argparse.Namespace) -> None:
    methods = [METHODS[name] for name in options.methods]
    for key in options.datasets:
        dataset = DATASETS[key]
        if not dataset.available(options.data):
            print(f"{key}: skipped, no {dataset.file} in the data folder (--data)", file=sys.stderr)
            continue
        path = options.results / f"accuracy-{key}.json"
        measure(dataset, options.data, methods, options.seeds, path, tuple(options.bits))


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    if not options.report:
        measure_all(options)
    if not options.no_report:
        print(write_report(options.results, options.plots))


if __name__ == "__main__":
    main()
