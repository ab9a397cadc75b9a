"""Accuracy of all methods on all datasets; tables and plots.

``python -m benchmarks.accuracy`` measures what is not measured yet, then writes the tables and
the plots. ``--role development`` runs the development sets only, ``--report`` only writes,
``--quick`` is a smoke run of one made-up dataset and few methods.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..datasets import DATA_VARIABLE, DATASETS, DEVELOPMENT, REPORT, ROOT, data_folder
from .jobs import Wanted, run_jobs
from .methods import METHODS
from .report import write_report

RESULTS = ROOT / "benchmarks" / "results"
PLOTS = ROOT / "docs" / "_static" / "accuracy"
QUICK = {
    "datasets": ["aligned"],
    "methods": ["DiffHash", "CCA signs", "CCA + ITQ", "raw signs", "CCA, real-valued"],
    "bits": [16, 64],
}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.accuracy", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=data_folder(),
        help=f"folder of the data files; default: what the environment variable {DATA_VARIABLE} says",
    )
    parser.add_argument("--role", choices=[DEVELOPMENT, REPORT], help="only datasets of this role")
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--bits", nargs="+", type=int, default=[], help="only these of each method's widths")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with a dataset of its own")
    parser.add_argument(
        "--again", action="store_true", help="measure the selected cells again, not only what is missing"
    )
    parser.add_argument(
        "--intervals",
        action="store_true",
        help="also measure again the cells whose paired intervals cannot be computed from what is at hand",
    )
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
    if options.role:
        options.datasets = [key for key in options.datasets if DATASETS[key].role == options.role]
    return options


def measure_all(options: argparse.Namespace) -> None:
    available = []
    for key in options.datasets:
        if DATASETS[key].available(options.data):
            available.append(key)
        else:
            where = "the data folder" if options.data else f"any folder (--data or {DATA_VARIABLE})"
            print(f"{key}: skipped, no {DATASETS[key].file} in {where}", file=sys.stderr)
    wanted = Wanted(
        options.data,
        tuple(options.methods),
        tuple(options.bits),
        options.seeds,
        again=options.again,
        intervals=options.intervals,
    )
    run_jobs(available, wanted, options.results, options.jobs)


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    if not options.report:
        measure_all(options)
    if not options.no_report:
        print(write_report(options.results, options.plots))


if __name__ == "__main__":
    main()
