"""Search the collection of symbols with some words and some drawings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...datasets import Symbols
from ...stores import Collection, Hit
from ...types import IntArray
from .data_url import picture_data_url
from .result import Answer, Found

__all__ = ["PICTURES", "WORDS", "ask_pictures", "ask_words"]

#: Queries in words. The word of the last one occurs in fewer than two training names, so it is unknown.
WORDS = (
    "leftwards arrow",
    "black chess queen",
    "white star",
    "circled digit five",
    "die face",
    "greek letter omega",
    "box drawings heavy",
    "smiling cat face",
    "snowman",
)
#: Names of the symbols whose drawings are queries, as far as they are unseen.
PICTURES = (
    "BLACK CHESS QUEEN",
    "CLOCKWISE OPEN CIRCLE ARROW",
    "CIRCLED DIGIT FIVE",
    "LEFT HALF BLACK CIRCLE",
    "VOLUME INTEGRAL",
    "LEFTWARDS BLACK ARROW",
    "GRINNING FACE",
    "BOX DRAWINGS HEAVY UP AND RIGHT",
)
_HITS, _UNSEEN_HITS, _NAMES = 10, 8, 5


def ask_words(collection: Collection, symbols: Symbols) -> tuple[Answer, ...]:
    """Search drawings with each of :data:`WORDS`, among all symbols and among the unseen symbols."""
    known = np.diff(symbols.text_featurizer.transform(WORDS).indptr) > 0
    # The report is about codes: the names themselves are not searched, and the order is by distance.
    options: dict[str, Any] = {"modality": "text", "into": "image", "rank": "hamming", "words": False}
    found = collection.search_raw(WORDS, k=_HITS, **options)
    among_unseen = collection.search_raw(WORDS, k=_UNSEEN_HITS, where={"unseen": True}, **options)
    answers = []
    for words, is_known, hits, unseen_hits in zip(WORDS, known, found, among_unseen, strict=True):
        if not is_known:
            answers.append(Answer(words, known=False))
            continue
        right = words.upper()
        answers.append(Answer(words, hits=_found(hits, right), unseen_hits=_found(unseen_hits, right)))
    return tuple(answers)


def ask_pictures(collection: Collection, symbols: Symbols, test: IntArray) -> tuple[Answer, ...]:
    """Search names with drawings of unseen symbols."""
    names = [symbols.names[row] for row in test]
    # Another font may lack some of them; other unseen symbols replace these.
    chosen = [name for name in PICTURES if name in names]
    chosen += [name for name in names if name not in chosen][: len(PICTURES) - len(chosen)]
    rows = [symbols.names.index(name) for name in chosen]
    pictures = [symbols.pictures[row] for row in rows]
    found = collection.search_raw(pictures, modality="image", into="text", k=_NAMES, rank="hamming")
    codes = collection.hasher.encode_raw(pictures, modality="image")
    ids, distances = collection.search_arrays(codes, into="text", k=len(collection))
    answers = []
    for number, row in enumerate(rows):
        own = f"U+{ord(symbols.characters[row]):04X}"
        distance = distances[number][np.flatnonzero(np.asarray(ids[number]) == own)[0]]
        answers.append(
            Answer(
                symbols.characters[row],
                name=symbols.names[row],
                picture=picture_data_url(symbols.pictures[row]),
                hits=_found(found[number], right=symbols.names[row]),
                nearer=int((distances[number] < distance).sum()),
            )
        )
    return tuple(answers)


def _found(hits: list[Hit], right: str) -> tuple[Found, ...]:
    return tuple(
        Found(
            character=hit.payload["character"],
            name=hit.payload["name"],
            block=hit.payload["block"],
            picture=hit.payload["thumbnail"],
            distance=hit.distance or 0,
            unseen=hit.payload["unseen"],
            right=hit.payload["name"] == right,
        )
        for hit in hits
    )
