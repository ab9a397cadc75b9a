"""Many modalities: RefinedHash for all of them together, beside one model for each couple.

``python -m benchmarks.modalities --data DIR [--development SEED] [--part together]``. The measure is the mean over all
directions between different modalities, on objects that no model was fitted to.

- uci_digits, three views, labels: mean average precision; also with half of the training entries missing at random.
- stamps, six modalities with gaps, pairs by object: recall among the first ten. Of objects with the same
  caption only the first is used.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash.evaluation import precision_recall_at
from diffhash.types import FloatArray, IntArray

FIRST = 10
DIGITS = ("fourier", "karhunen", "pixel")
PARTS = ("together", "apart")
STAMPS = ("image", "text_en", "text_es", "text_fr", "speech_es", "speech_fr")


@dataclass(frozen=True)
class Part:
    """Views of objects, with the class or the object of each row."""

    views: dict[str, FloatArray]
    names: dict[str, IntArray]

    def couple(self, *modalities: str) -> Part:
        """Only two of the modalities."""
        return Part({m: self.views[m] for m in modalities}, {m: self.names[m] for m in modalities})

    def rows(self, chosen: Mapping[str, Any]) -> Part:
        """Some rows of each modality."""
        return Part(
            {m: X[chosen[m]] for m, X in self.views.items()},
            {m: each[chosen[m]] for m, each in self.names.items()},
        )


@dataclass(frozen=True)
class Problem:
    """What to learn from, and what to search in."""

    train: Part
    test: Part
    by_label: bool

    @property
    def measure(self) -> str:
        return "mAP" if self.by_label else f"recall@{FIRST}"

    def fit(self, part: Part, n_bits: int) -> dh.RefinedHash:
        pairs = dh.Pairs.from_labels(part.names) if self.by_label else dh.Pairs.from_ids(part.names)
        return dh.RefinedHash(n_bits).fit(part.views, pairs)

    def scores(self, hasher: dh.RefinedHash) -> dict[tuple[str, str], float]:
        """The measure for each direction between different modalities of the model."""
        codes = {m: hasher.encode(self.test.views[m], modality=m) for m in hasher.modalities_}
        return {(u, v): self._score(codes, u, v) for u, v in permutations(codes, 2)}

    def _score(self, codes: Mapping[str, Any], u: str, v: str) -> float:
        found = dh.evaluate(codes[u], codes[v], self.test.names[u], self.test.names[v])
        if self.by_label:
            return found.mean_average_precision
        return float(np.nanmean(precision_recall_at(found.table, FIRST)[1]))


def read_digits(folder: Path, development: int | None) -> Problem:
    """Three views of digits; for development a split of the training rows."""
    with np.load(folder / "uci_digits.npz", allow_pickle=False) as file:
        parts = [
            Part(
                {m: file[f"{m}_{part}"].astype(np.float32) for m in DIGITS},
                dict.fromkeys(DIGITS, file[f"labels_{part}"]),
            )
            for part in ("train", "test")
        ]
    if development is None:
        return Problem(*parts, by_label=True)
    rows = np.random.default_rng(development).permutation(len(parts[0].names[DIGITS[0]]))
    split = (parts[0].rows(dict.fromkeys(DIGITS, each)) for each in np.split(rows, [3 * len(rows) // 4]))
    return Problem(*split, by_label=True)


def half_missing(problem: Problem, seed: int) -> Problem:
    """Half of the training rows of each modality, drawn for each alone."""
    rng = np.random.default_rng(seed)
    kept = {m: np.sort(rng.permutation(len(X))[: len(X) // 2]) for m, X in problem.train.views.items()}
    return Problem(problem.train.rows(kept), problem.test, problem.by_label)


def read_stamps(folder: Path, development: int | None) -> Problem:
    """Six modalities of stamps; the training objects, the held-out objects."""
    with np.load(folder / "stamps.npz", allow_pickle=False) as file:
        test = file["test"].astype(bool)
        used = np.zeros(len(test), bool)
        used[np.unique(file["caption"], return_index=True)[1]] = True
        views = {m: file[m].astype(np.float32) for m in STAMPS}
        objects = {m: file[f"{m}_rows"] if f"{m}_rows" in file else np.arange(len(test)) for m in STAMPS}
    if development is not None:
        used &= ~test
        test = np.random.default_rng(development).random(len(test)) < 0.25
    every = Part(views, objects)
    split = (every.rows({m: chosen[objects[m]] for m in STAMPS}) for chosen in (used & ~test, used & test))
    return Problem(*split, by_label=False)


def together(problem: Problem, n_bits: int) -> tuple[dict[tuple[str, str], float], str]:
    """Scores of one model for all modalities, and what it chose."""
    model = problem.fit(problem.train, n_bits)
    return problem.scores(model), model.report_.chosen


def apart(problem: Problem, n_bits: int) -> tuple[dict[tuple[str, str], float], str]:
    """Scores of one model for each couple."""
    found: dict[tuple[str, str], float] = {}
    for couple in combinations(problem.train.views, 2):
        found |= problem.scores(problem.fit(problem.train.couple(*couple), n_bits))
    return found, ""


def compare(title: str, problem: Problem, n_bits: int, parts: Sequence[str]) -> None:
    """Print the mean over directions of one model for all, of one model for each couple, or of both."""
    scores = {}
    for part in parts:
        start = time.process_time()
        scores[part], chosen = (together if part == "together" else apart)(problem, n_bits)
        mean, seconds = np.mean(list(scores[part].values())), time.process_time() - start
        print(
            f"{title}, {n_bits} bits, {problem.measure}: {part} {mean:.4f} ({seconds:.0f} s CPU) {chosen}",
            flush=True,
        )
    for direction in scores[parts[0]]:
        each = "  ".join(f"{part} {scores[part][direction]:.3f}" for part in parts)
        print(f"  {' → '.join(direction):<24} {each}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of uci_digits.npz and stamps.npz")
    parser.add_argument("--development", type=int, metavar="SEED", help="split the training rows instead")
    parser.add_argument("--only", choices=("digits", "stamps"), help="run only one of the two")
    parser.add_argument("--part", choices=PARTS, help="only one model for all, or only models for couples")
    arguments = parser.parse_args()
    parts = PARTS if arguments.part is None else (arguments.part,)
    if arguments.only != "stamps":
        digits = read_digits(arguments.data, arguments.development)
        for n_bits in (32, 64):
            compare("uci_digits", digits, n_bits, parts)
            compare("uci_digits, half missing", half_missing(digits, 0), n_bits, parts)
    if arguments.only != "digits":
        compare("stamps", read_stamps(arguments.data, arguments.development), 64, parts)


if __name__ == "__main__":
    main()
