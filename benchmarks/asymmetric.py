"""What ranking by the query's real values gains: ``python -m benchmarks.asymmetric [--data DIR]``.

Each model learns from four fifths of the training rows. Search goes both ways between the modalities of
unseen objects, which are also the database; figures are means of the two. Scales are learned from the same
four fifths and compared on the last fifth (validation); the tables show the test rows. Codes are prefix-nested,
so one model of 64 bits gives all widths. ``--data`` names a folder with uci_digits.npz and wiki.npz.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import diffhash as dh
from diffhash.evaluation import bit_agreement, evaluate_distances
from diffhash.search.asymmetric import asymmetric_scale, asymmetric_scores

WIDTHS = (16, 32, 64)
METHODS = {
    "DiffHash": lambda n_bits, _: dh.DiffHash(n_bits),
    "KernelDiffHash": lambda n_bits, n: dh.KernelDiffHash(n_bits, n_landmarks=min(1000, n)),
    "BoostedHash": lambda n_bits, _: dh.BoostedHash(n_bits, n_directions=5),
}
# Hamming distance; the same with the weight of each bit, which needs no real values; real values as they
# are, over their root mean square, and over the scale learned from pairs.
RANKINGS = ("hamming", "weights", "none", "rms", "pairs")
N_QUERIES = 250


def jobs(folder):
    """Name, then views and labels of training and of test rows; labels None where rows are aligned."""
    for n_classes in (25, 50, 100):
        data = dh.datasets.make_paper_data(n_classes=n_classes, n_train=5000, n_test=2000, random_state=0)
        parts = [(part.views, part.labels) for part in (data.train, data.test)]
        yield f"paper, K = {n_classes}", *parts
    X, labels = load_digits(return_X_y=True)
    rows = train_test_split(np.arange(len(X)), test_size=0.35, random_state=0, stratify=labels)
    views = {"upper": X[:, :32], "lower": X[:, 32:]}
    yield "digits, halves", *(take(views, dict.fromkeys(views, labels), part) for part in rows)
    names = {"uci_digits": ("fourier", "karhunen"), "wiki": ("image", "text")} if folder else {}
    for name, modalities in names.items():
        file = np.load(folder / f"{name}.npz", allow_pickle=False)
        yield (
            name,
            *(
                (
                    {m: file[f"{m}_{part}"] for m in modalities},
                    dict.fromkeys(modalities, file[f"labels_{part}"]),
                )
                for part in ("train", "test")
            ),
        )
    symbols = dh.datasets.load_symbols()
    rows = symbols.split(600)
    views = symbols.fit_text(rows[0]).views
    own = dict.fromkeys(views, np.arange(len(symbols)))
    yield "symbols", *(take(views, own, part) for part in rows)


def take(views, labels, rows):
    return {m: v[rows] for m, v in views.items()}, {m: v[rows] for m, v in labels.items()}


def pairs_of(labels, aligned):
    first, second = labels.values()
    return dh.Pairs.aligned(len(first)) if aligned else dh.Pairs.from_labels(first, second)


def measure(hasher, n_bits, known, agreement, views, labels):
    """Figures by ranking, mean of both directions."""
    first, second = hasher.modalities_
    results = {}
    for query, item in ((first, second), (second, first)):
        values = hasher.project(views[query][:N_QUERIES], modality=query)[:, :n_bits]
        codes = dh.codes.pack(hasher.project(views[item], modality=item)[:, :n_bits] >= 0)
        wanted = labels[query][:N_QUERIES]
        found = {"hamming": dh.evaluate(dh.native.pack_signs(values), codes, wanted, labels[item])}
        scales = {
            "none": None,
            "rms": np.maximum(np.sqrt(np.mean(known[query][:, :n_bits] ** 2, axis=0)), 1e-9),
            "pairs": asymmetric_scale(known[query][:, :n_bits], agreement[:, :n_bits]),
        }
        signs = np.where(values >= 0, 1.0, -1.0)
        weights = asymmetric_scale(np.ones((1, n_bits)), agreement[:, :n_bits])
        scores = asymmetric_scores(codes, signs, scale=weights)
        found["weights"] = evaluate_distances(scores, wanted, labels[item], max_k=10)
        for name, scale in scales.items():
            scores = asymmetric_scores(codes, values, scale=scale)
            found[name] = evaluate_distances(scores, wanted, labels[item], max_k=10)
        for name, result in found.items():
            row = [result.mean_average_precision, result.precision_at(10), result.recall_at(10)]
            results.setdefault(name, []).append(row)
        few = dh.asymmetric_search(codes, values, 10, n_candidates=100, scale=scales["pairs"])
        hits = labels[item][few.ids] == wanted[:, None]
        results.setdefault("100 candidates", []).append([np.nan, hits.mean(), np.nan])
    return {name: np.mean(rows, axis=0) for name, rows in results.items()}


def run(folder, only):
    """Figures on validation and on test rows by (data, method, bits)."""
    for name, (views, labels), test in jobs(folder):
        if only and name not in only:
            continue
        n = len(next(iter(labels.values())))
        learn, check = train_test_split(np.arange(n), test_size=0.2, random_state=0)
        (views_in, labels_in), validation = take(views, labels, learn), take(views, labels, check)
        pairs = pairs_of(labels_in, name == "symbols")
        for method, make in METHODS.items():
            most = 64 if method == "BoostedHash" else min(64, *(v.shape[1] for v in views.values()))
            most = 64 if method == "KernelDiffHash" else most
            hasher = make(most, len(learn)).fit(views_in, pairs)
            known = {m: hasher.project(v, modality=m) for m, v in views_in.items()}
            codes = [dh.native.pack_signs(v) for v in known.values()]
            agreement = np.stack(bit_agreement(*codes, pairs, most))
            for n_bits in (m for m in WIDTHS if m <= most):
                parts = [measure(hasher, n_bits, known, agreement, *part) for part in (validation, test)]
                yield (name, method, n_bits), *parts


def overhead():
    """Time of a search with and without ranking again, and their ratio."""
    rng = np.random.default_rng(0)
    index = dh.HammingIndex(rng.integers(0, 256, size=(10**6, 8), dtype=np.uint8))
    values = rng.normal(size=(100, 64)).astype(np.float32)
    times = []
    calls = (
        lambda: index.search(dh.native.pack_signs(values), 10),
        lambda: index.search(dh.native.pack_signs(values), 1000),
        lambda: dh.asymmetric_search(index, values, 10, n_candidates=1000),
    )
    for call in calls:
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        times.append(best / len(values) * 1e3)
    print(
        f"\n10^6 codes of 64 bits, 100 queries, milliseconds a query: 10 nearest {times[0]:.2f}, 1,000 nearest "
        f"{times[1]:.2f}, 1,000 nearest ranked again {times[2]:.2f} ({times[2] / times[0]:.1f} times the first)."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with uci_digits.npz and wiki.npz")
    parser.add_argument("--only", nargs="+", help="names of the data, as in the table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", dh.errors.RankWarning)
    rows = []
    print("Test rows, Hamming → ranked again with the scale learned from pairs (change)\n")
    print("| data | method | bits | mAP | P@10 | R@10 | mAP, weights alone | P@10, 100 candidates |")
    print("|---" * 8 + "|")
    for key, validation, test in run(arguments.data, arguments.only):
        rows.append((key, validation, test))
        gains = [
            f"{before:.3f} → {after:.3f} ({after - before:+.3f})"
            for before, after in zip(test["hamming"], test["pairs"], strict=True)
        ]
        cells = [*map(str, key), *gains, f"{test['weights'][0]:.3f}", f"{test['100 candidates'][1]:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    print(
        "\nMean mAP over the rows above without the paper's data, and how often a ranking is best or worse\n"
    )
    print("| ranking | method | validation | test | best on validation | worse than Hamming on test |")
    print("|---" * 6 + "|")
    for method in METHODS:
        mine = [(v, t) for key, v, t in rows if key[1] == method and "paper" not in key[0]]
        for ranking in RANKINGS:
            means = [np.mean([part[ranking][0] for part in parts]) for parts in zip(*mine, strict=True)]
            best = sum(v[ranking][0] == max(v[r][0] for r in RANKINGS) for v, _ in mine)
            worse = sum(t[ranking][0] < t["hamming"][0] for _, t in mine)
            counts = f"{best} of {len(mine)} | {worse} of {len(mine)}"
            print(f"| {ranking} | {method} | {means[0]:.3f} | {means[1]:.3f} | {counts} |")
    overhead()


if __name__ == "__main__":
    main()
