"""What to know about a query: its modality, words and fields that do not exist, and why nothing was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..featurizers import DrawingFeatures
from ..featurizers.base import takes_texts
from ..model import HashModel
from ..search.calibration import FalseMatchLimit
from ..stores import Collection, WordMatch
from ..stores.engine_store import EngineStore

__all__ = [
    "filter_notes",
    "no_match_reason",
    "raw_modalities",
    "usual_modalities",
    "why_nothing",
    "word_notes",
]

_MOST_NAMES = 8


def raw_modalities(model: HashModel, *, words: bool) -> list[str]:
    """Modalities whose featurizers take words, or those whose featurizers take something else: pictures."""
    return [name for name, featurizer in model.featurizers.items() if takes_texts(featurizer) == words]


def usual_modalities(model: HashModel, *, words: bool) -> list[str]:
    """The same for a query without a modality: a picture is a drawing only if nothing else takes pictures."""
    found = raw_modalities(model, words=words)
    others = [name for name in found if model.featurizers[name].kind != DrawingFeatures.kind]
    return others or found


def word_notes(match: WordMatch) -> tuple[str, ...]:
    """A sentence about each word that no caption contains; single letters, such as "a", are not worth one.

    Examples
    --------
    >>> word_notes(WordMatch(("red", "frogs", "a"), ("frogs", "a"), {"frogs": ("frog",)}))
    ("No caption contains 'frogs'. Searched for 'frog'.",)
    """
    words = (word for word in match.unknown if not (len(word) == 1 and "a" <= word <= "z"))
    return tuple(_about(word, match.searched_for.get(word, ())) for word in words)


def _about(word: str, others: tuple[str, ...]) -> str:
    searched = " and ".join(f"'{other}'" for other in others)
    return f"No caption contains '{word}'." + (f" Searched for {searched}." if searched else "")


def no_match_reason(match: WordMatch | None, known_words: bool) -> str | None:
    """Why a text found nothing; None if neither its words nor its code are the reason.

    Parameters
    ----------
    match : WordMatch or None
        None if words were not searched.
    known_words : bool
        Whether the code of the text says something.

    Examples
    --------
    >>> no_match_reason(WordMatch(("zebra",), ("zebra",)), known_words=False)
    "no caption contains 'zebra', and the model has learned no word like it"
    >>> no_match_reason(WordMatch(("a", "zebra"), ("zebra",), common=("a",)), known_words=False)
    "no caption contains 'zebra', and the model has learned no word like it; 'a' is in most captions: it does not count"
    """
    if known_words or (match is not None and match.found):
        return None
    if match is None:
        return "the model has learned none of these words, and no word like them; words of most captions do not count"
    if not match.words:
        return "the query contains no word"
    listed = " or ".join(f"'{word}'" for word in match.missing)
    reason = f"no caption contains {listed}, and the model has learned no word like it"
    if not match.common:
        return reason
    # A word that was replaced is in no caption: name the word that is.
    common = [f"'{match.searched_for.get(word, (word,))[0]}'" for word in match.common]
    if len(common) == 1:
        return f"{reason}; {common[0]} is in most captions: it does not count"
    return f"{reason}; {' and '.join(common)} are in most captions: they do not count"


def filter_notes(store: Collection | EngineStore, where: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence about each field of a filter that no payload has."""
    notes = []
    for name, others in store.unknown_fields(where).items():
        note = f"No payload has the field '{name}'."
        if others:
            note += f" Did you mean '{others[0]}'? Fields: {', '.join(sorted(others)[:_MOST_NAMES])}."
        notes.append(note)
    return tuple(notes)


def why_nothing(limit: FalseMatchLimit, max_false_matches: float) -> str:
    """Why nothing was found within the radius that a promise allows."""
    if limit.radius < 0:
        return (
            f"even items with the same code as a query would be wrong too often ({limit.false_matches:.3g} wrong hits "
            f"per query, {max_false_matches:g} allowed)"
        )
    return (
        f"no item is within distance {limit.radius}, and beyond it there would be more than {max_false_matches:g} "
        "wrong hits per query"
    )
