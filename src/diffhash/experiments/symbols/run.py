"""Run the demonstration: learn, evaluate, build the collection, search."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from ...codes import code_bytes
from ...datasets import Symbols, load_symbols
from ...datasets.glyphs import draw, font_path
from ...evaluation import evaluate
from ...hashers import RefinedHash
from ...hashers.base import BaseHasher
from ...pairs import Pairs
from ...paths import check_path
from ...search import HammingIndex
from ...stores import Collection
from ...types import IntArray
from ..paper.results import describe_environment
from .by_hand import Drawings, learn_drawings
from .data_url import picture_data_url
from .questions import ask_pictures, ask_words
from .result import DemoResult, Direction, Step

__all__ = ["COLLECTION", "COSTS", "N_BITS", "run_demo"]

N_BITS = 128
#: Name of the collection's file.
COLLECTION = "symbols.dh"
#: The steps and their approximate relative durations.
COSTS = {"draw": 3.0, "learn": 22.0, "hand": 4.0, "evaluate": 0.5, "build": 1.0, "ask": 0.5}
_TITLES = {
    "draw": "draw the symbols in two faces and featurize drawings and names",
    "learn": "learn the codes from pairs",
    "hand": "learn to read drawings by hand, and calibrate",
    "evaluate": "evaluate on unseen symbols, in all six directions",
    "build": "encode everything and build the collection",
    "ask": "search",
}
#: The modalities, and what people call them; the first two are the ones that are searched with.
_MODALITIES = {"text": "name", "image": "drawing", "serif": "serif drawing"}
_RECALL = 100
_TIMED = 50
#: Side of the thumbnails in pixels.
_THUMBNAIL = 64


def run_demo(
    folder: str | os.PathLike[str],
    *,
    n_bits: int = N_BITS,
    n_test: int = 600,
    on_step: Callable[[str, float, str], None] = lambda *_: None,
    **settings: Any,
) -> DemoResult:
    """Run the demonstration and write ``symbols.dh`` into a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    n_bits : int
    n_test : int
        Number of symbols that are not used for training.
    on_step : function
        Called with the key of a step, the finished share of it (0 to 1) and its description.
    **settings
        Parameters of :class:`RefinedHash`; by default its defaults.

    Returns
    -------
    DemoResult
    """
    folder = check_path(folder, caller="demo")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / COLLECTION
    if path.exists():
        # Raise now, and not after the work, if the file is not a collection that may be replaced.
        Collection.open(path).close()
    steps: list[Step] = []

    @contextmanager
    def step(key: str) -> Iterator[None]:
        on_step(key, 0.0, _TITLES[key])
        start = time.perf_counter()
        yield
        steps.append(Step(_TITLES[key], time.perf_counter() - start))
        on_step(key, 1.0, _TITLES[key])

    def report(done: float, message: str) -> None:
        on_step("learn", min(done, 0.99), f"{_TITLES['learn']}, {message}")

    with step("draw"):
        symbols = load_symbols(views=tuple(_MODALITIES))
        train, test = symbols.split(n_test=n_test, random_state=0)
        # Learn words and their weights from the training names only.
        symbols = symbols.fit_text(train)
        views, ids = symbols.take(train)
    with step("learn"):
        hasher = RefinedHash(n_bits=n_bits, random_state=0, progress=report, **settings)
        hasher.fit(views, Pairs.from_ids(ids))
    with step("hand"):
        drawings = learn_drawings(hasher, symbols, train, test)
        hasher = drawings.hasher
    with step("evaluate"):
        directions = _evaluate(hasher, symbols, test)
    with step("build"):
        _build(path, hasher, symbols, test, drawings)
    with Collection.open(path) as collection:
        with step("ask"):
            words = ask_words(collection, symbols)
            pictures = ask_pictures(collection, symbols, test)
        search_seconds, code_seconds = _times(collection, symbols, test)
    return DemoResult(
        collection=path,
        n_train=len(train),
        n_test=len(test),
        n_serif=len(symbols.rows["serif"]),
        n_bits=n_bits,
        method=_method(n_bits, settings),
        directions=directions,
        words=words,
        pictures=pictures,
        steps=tuple(steps),
        search_seconds=search_seconds,
        code_seconds=code_seconds,
        bytes={
            "features of a drawing": symbols.views["image"].shape[1] * 4,
            "code": code_bytes(n_bits),
            "collection": path.stat().st_size,
        },
        environment=describe_environment(),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
    )


def _method(n_bits: int, settings: dict[str, Any]) -> str:
    rest = ", ".join(f"{name} {value}" for name, value in settings.items()) or "default parameters"
    return f"RefinedHash, {n_bits} bits, {rest}"


def _evaluate(hasher: BaseHasher, symbols: Symbols, test: IntArray) -> tuple[Direction, ...]:
    """The only right answer to a name is its own drawing, and so on. Many symbols have no serif drawing."""
    views, ids = symbols.take(test)
    codes = {m: hasher.encode(X, modality=m) for m, X in views.items()}
    directions = []
    for asked, searched in permutations(_MODALITIES, 2):
        result = evaluate(codes[asked], codes[searched], ids[asked], ids[searched])
        false_rates, true_rates = result.roc
        directions.append(
            Direction(
                query=_MODALITIES[asked],
                into=_MODALITIES[searched],
                queries=len(ids[asked]) - result.n_without_relevant,
                items=len(ids[searched]),
                mean_average_precision=result.mean_average_precision,
                interval=result.confidence_interval(),
                equal_error_rate=result.equal_error_rate,
                roc=(tuple(map(float, false_rates)), tuple(map(float, true_rates))),
                recall=tuple(result.recall_at(k) for k in range(1, min(_RECALL, len(ids[searched])) + 1)),
            )
        )
    return tuple(directions)


def _build(path: Path, hasher: BaseHasher, symbols: Symbols, test: IntArray, drawings: Drawings) -> None:
    unseen = np.isin(np.arange(len(symbols)), test)
    # Pages show them larger than the pictures that were learned from.
    thumbnails = draw(symbols.characters, font_path("DejaVuSans"), _THUMBNAIL)
    ids = [f"U+{ord(character):04X}" for character in symbols.characters]
    payloads = [
        {
            "character": symbols.characters[row],
            "name": symbols.names[row],
            "block": str(symbols.groups[row]),
            "unseen": bool(unseen[row]),
            "thumbnail": picture_data_url(thumbnails[row]),
        }
        for row in range(len(symbols))
    ]
    with Collection.create(path, hasher, overwrite=True, words="name") as collection:
        collection.add(symbols.views["image"], modality="image", ids=ids, payloads=payloads)
        collection.add(symbols.views["text"], modality="text", ids=ids)
        serif = [ids[row] for row in symbols.rows["serif"]]
        collection.add(symbols.views["serif"], modality="serif", ids=serif)
        collection.add(drawings.features, modality="drawing", ids=ids)
        collection.index_payload("unseen")


def _times(collection: Collection, symbols: Symbols, test: IntArray) -> tuple[float, float]:
    """Median seconds of a search with words, and of the search among the codes alone."""
    names = [symbols.names[row] for row in test[:_TIMED]]
    codes = collection.hasher.encode_raw(names, modality="text")
    index = HammingIndex(collection.hasher.encode(symbols.views["image"], modality="image"))

    def median(ask: Callable[[int], object]) -> float:
        taken = []
        for number in range(len(names)):
            start = time.perf_counter()
            ask(number)
            taken.append(time.perf_counter() - start)
        return float(np.median(taken))

    whole = median(lambda i: collection.search_raw([names[i]], modality="text", into="image", k=10))
    return whole, median(lambda i: index.search(codes[i : i + 1], 10))
