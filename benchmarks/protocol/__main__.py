"""The field's data sets and splits in protocols A, B and C; a table in the form of its papers.

``diffhash bench protocol --data DIR`` looks for the files of Wikipedia, MIRFlickr-25K, NUS-WIDE and COCO in DIR (the
page about data sets says which), splits each as papers do, and prints mean average precision by bits and direction.
What differs from papers stands above the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from diffhash.datasets import MultimodalData
from diffhash.errors import DiffhashError

from ..datasets import DATA_VARIABLE, data_folder
from .files import DATA_SETS, find_data
from .measure import METHODS, PROTOCOLS, Figure, measure
from .table import notes, table

BITS = [16, 32, 64, 128]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.protocol", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=data_folder(),
        help=f"folder of the data sets; default: what the environment variable {DATA_VARIABLE} says",
    )
    parser.add_argument(
        "--datasets",
        nargs="+",
        choices=[each.key for each in DATA_SETS],
        help="only these; default: all that are found",
    )
    parser.add_argument("--bits", nargs="+", type=int, default=BITS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=["RefinedHash"])
    parser.add_argument("--protocols", nargs="+", choices=list(PROTOCOLS), default=list(PROTOCOLS))
    parser.add_argument("--seed", type=int, default=0, help="of drawn splits and of the methods")
    parser.add_argument(
        "--n-test", type=int, help="number of queries of drawn splits, instead of the usual one"
    )
    parser.add_argument("--n-train", type=int, help="number of training objects of drawn splits")
    parser.add_argument("--top", type=int, help="also mAP of the first so many ranks, such as 50")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error(f"give --data DIR, or set {DATA_VARIABLE}")
    return options


def sizes_of(data: MultimodalData) -> str:
    """Numbers of objects, features and labels, for people."""
    searched = data.database or data.train
    counts = [len(next(iter(part.labels.values()))) for part in (data.test, data.train, searched)]
    features = ", ".join(f"{m} {X.shape[1]:,}" for m, X in data.train.views.items())
    labels = next(iter(data.train.labels.values()))
    kinds = f"{labels.shape[1]} labels" if labels.ndim == 2 else f"{len(set(labels.tolist()))} classes"
    among = "the training objects" if data.database is None else f"{counts[2]:,} objects"
    return f"features {features}; {kinds}; {counts[0]:,} queries, {counts[1]:,} training objects, database {among}"


def run(options: argparse.Namespace) -> None:
    found = find_data(options.data)
    if options.datasets:
        found = [each for each in found if each.data_set.key in options.datasets]
    figures: list[Figure] = []
    splits, sizes = {}, {}
    for each in found:
        title = each.data_set.title
        data, splits[title] = each.read(options.seed, options.n_test, options.n_train)
        sizes[title] = sizes_of(data)
        figures += measure(
            title, data, options.methods, options.bits, options.protocols, seed=options.seed, top=options.top
        )
    if not figures:
        raise DiffhashError(f"protocol: none of {', '.join(options.datasets)} is in {options.data}.")
    for line in notes(splits, sizes, options.protocols, options.top):
        print(f"- {line}")
    print(f"\n{table(figures)}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=1), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        run(options)
    except DiffhashError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
