"""Words and codes together, on real pictures with captions: ``python -m benchmarks.words --data FOLDER``.

FOLDER is a folder of ``.png`` pictures, each with a ``.txt`` file of the same name whose first line is its
caption, such as the stamps of Tux Paint (Debian's ``tuxpaint-stamps-default``: ``/usr/share/tuxpaint/stamps``), or a
folder ``pictures`` with a table ``captions.csv``. Prints four figures:

- words: for each word in at least three captions, the hits among the first five that have the word, divided by
  min(5, captions with the word); the mean over the words, with codes alone and with words.
- plurals and misspellings: the same, asked with a form of the word that no caption has (a plural, or a singular)
  and with one letter left out, doubled, exchanged or replaced.
- withheld: a third of the captions is withheld. The share of those pictures that their own caption finds among the
  first ten, with codes alone and with words; the mean over three splits. "Words as features" are the codes of a
  model that does not see groups of letters, with the standard error of the difference over the pictures.
- cost: time of ``add`` with payloads, and size of the file, with the word index and without it.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest.mock import patch

import numpy as np

import diffhash as dh
from benchmarks.accuracy.machine import machine
from diffhash.featurizers import TfidfFeatures
from diffhash.stores.caption_words import words_of
from diffhash.stores.close_words import other_forms
from diffhash.workflows import LearningOptions, build_folder, folder_build

RESULTS = Path(__file__).parent / "results"
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
SPLITS = 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def read_folder(data: Path) -> tuple[Path, dict[str, str]]:
    """The folder of pictures, and captions by name."""
    if (data / "captions.csv").exists():
        with (data / "captions.csv").open(encoding="utf-8", newline="") as file:
            return data / "pictures", {row["file"]: row["caption"] for row in csv.DictReader(file)}
    captions = {}
    for picture in sorted(data.rglob("*.png")):
        text = picture.with_suffix(".txt")
        if text.exists():
            lines = text.read_text(encoding="utf-8", errors="replace").splitlines()
            if lines and lines[0].strip():
                captions[picture.relative_to(data).as_posix()] = lines[0].strip()
    return data, captions


def build(pictures: Path, captions: dict[str, str], out: Path, seed: int) -> dh.Collection:
    """A collection of all pictures, of which some have captions; the same as ``diffhash build``."""
    table = out.with_suffix(".csv")
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("file", "caption"), *captions.items()])
    build_folder(pictures, table, out, learning=LearningOptions(seed=seed), thumbnails=False, skip=True)
    return dh.Collection.open(out)


def first_hits(collection: dh.Collection, text: str, k: int, words: bool) -> list[dh.stores.Hit]:
    return collection.search_raw([text], modality="text", into="image", k=k, words=words)[0]


def share_with_word(collection: dh.Collection, asked: str, word: str, count: int, words: bool) -> float:
    """Hits among the first five that have the word, divided by how many there could be."""
    hits = first_hits(collection, asked, 5, words)
    return sum(word in words_of(hit.payload.get("caption", "")) for hit in hits) / min(5, count)


def word_counts(captions: Iterable[str]) -> dict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for caption in captions:
        for word in set(words_of(caption)):
            counts[word] += 1
    return dict(counts)


def misspelt(word: str, known: Iterable[str], rng: random.Random) -> str | None:
    """The word with one letter left out, doubled, exchanged with the next, or replaced; no word of a caption."""
    for _ in range(20):
        place = rng.randrange(len(word))
        changed = rng.choice(
            [
                word[:place] + word[place + 1 :],
                word[: place + 1] + word[place:],
                word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
                word[:place] + rng.choice(LETTERS) + word[place + 1 :],
            ]
        )
        if changed not in known:
            return changed
    return None


def word_figures(collection: dh.Collection, captions: dict[str, str], seed: int) -> dict[str, float]:
    counts = word_counts(captions.values())
    frequent = {word: n for word, n in counts.items() if n >= 3 and not word.isdigit()}
    rng = random.Random(seed)
    forms = {word: [form for form in other_forms(word)[:1] if form not in counts] for word in frequent}
    asked: dict[str, list[tuple[str, str]]] = {
        "words": [(word, word) for word in frequent],
        # Words of one or two letters have no plural that anybody would type.
        "plurals": [(form, word) for word in frequent if len(word) > 2 for form in forms[word]],
        "misspellings": [
            (wrong, word) for word in frequent if len(word) > 3 and (wrong := misspelt(word, counts, rng))
        ],
    }
    figures: dict[str, float] = {"words in at least three captions": len(frequent)}
    for name, pairs in asked.items():
        for how, words in (("codes alone", False), ("with words", True)):
            shares = [share_with_word(collection, text, word, counts[word], words) for text, word in pairs]
            figures[f"{name}, {how}"] = float(np.mean(shares))
    return figures


def withheld_figures(pictures: Path, captions: dict[str, str], folder: Path, seed: int) -> dict[str, float]:
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for split in range(seed, seed + SPLITS):
        names = sorted(captions)
        random.Random(split).shuffle(names)
        held = names[: len(names) // 3]
        known = {name: text for name, text in captions.items() if name not in set(held)}

        def finds(collection: dh.Collection, name: str, words: bool) -> bool:
            return name in {hit.id for hit in first_hits(collection, captions[name], 10, words)}

        with build(pictures, known, folder / f"withheld-{split}.dh", seed) as collection:
            for how, words in (("codes alone", False), ("with words", True)):
                found[how] += [finds(collection, name, words) for name in held]
        with (
            patch.object(folder_build, "_fit_words", lambda texts: TfidfFeatures().fit(texts)),
            build(pictures, known, folder / f"words-{split}.dh", seed) as collection,
        ):
            found["codes alone, words as features"] += [finds(collection, name, False) for name in held]
        print(
            f"split {split}: " + ", ".join(f"{how} {np.mean(hits):.3f}" for how, hits in found.items()),
            flush=True,
        )
    difference = np.subtract(found["codes alone"], found["codes alone, words as features"], dtype=float)
    return {
        "pictures with a withheld caption": len(difference) // SPLITS,
        **{f"withheld, {how}": float(np.mean(hits)) for how, hits in found.items()},
        "withheld, difference by groups of letters": float(difference.mean()),
        "withheld, standard error of the difference": float(difference.std() / np.sqrt(len(difference))),
    }


def cost_figures(captions: dict[str, str], folder: Path, n: int, repeats: int) -> dict[str, float]:
    """Time and size of ``add`` with payloads: file name, caption and a number, without thumbnails."""
    texts = list(captions.values())
    payloads = [
        {"file": f"pictures/{i:07}.jpg", "caption": texts[i % len(texts)], "year": 1990 + i % 30}
        for i in range(n)
    ]
    x = np.random.default_rng(0).normal(size=(1000, 64))
    hasher = dh.DiffHash(n_bits=64).fit({"x": x, "y": x}, dh.Pairs.aligned(1000))
    features = np.random.default_rng(1).normal(size=(n, 64))
    best: dict[tuple[str, bool], float] = defaultdict(lambda: float("inf"))
    sizes = {}

    def add(words: bool) -> Callable[[], None]:
        def run() -> None:
            path = folder / f"cost-{words}.dh"
            with dh.Collection.create(path, hasher, words="caption" if words else None, overwrite=True) as c:
                starts = {name: clock() for name, clock in CLOCKS.items()}
                for begin in range(0, n, 10_000):
                    part = slice(begin, begin + 10_000)
                    c.add(features[part], modality="x", payloads=payloads[part])
                for name, clock in CLOCKS.items():
                    best[name, words] = min(best[name, words], clock() - starts[name])
            sizes[words] = path.stat().st_size

        return run

    for _ in range(repeats):
        for words in (False, True):
            add(words)()
    return {
        "add, seconds without words": best["wall", False],
        "add, seconds with words": best["wall", True],
        "add, ratio": best["wall", True] / best["wall", False],
        "add, ratio of CPU time": best["cpu", True] / best["cpu", False],
        "size, MB without words": sizes[False] / 1e6,
        "size, ratio": sizes[True] / sizes[False],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--objects", type=int, default=100_000, help="objects of the cost figures")
    parser.add_argument("--only", choices=["words", "withheld", "cost"], help="one of the figures")
    parser.add_argument(
        "--save", action="store_true", help="keep the figures in benchmarks/results/words.json"
    )
    options = parser.parse_args()
    pictures, captions = read_folder(options.data)
    print(f"{len(captions)} captioned pictures in {options.data}")
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only in (None, "words"):
            with build(pictures, captions, folder / "all.dh", options.seed) as collection:
                figures |= word_figures(collection, captions, options.seed)
        if options.only in (None, "withheld"):
            figures |= withheld_figures(pictures, captions, folder, options.seed)
        if options.only in (None, "cost"):
            figures |= cost_figures(captions, folder, options.objects, 3)
    for what, value in figures.items():
        print(f"| {what} | {value:.3f} |" if isinstance(value, float) else f"| {what} | {value:,} |")
    if options.save:
        content = {"machine": machine(), "pictures": len(captions), "seed": options.seed, "figures": figures}
        (RESULTS / "words.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
