"""The search of the page: an address has the whole question, and the answer has all that the page shows.

``GET /v1/find`` and, for a program, ``GET /`` with the same parameters. ``POST /v1/find`` takes a picture as its body.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ..errors import ParameterError
from ..featurizers import DrawingFeatures
from ..featurizers.base import recognized
from ..featurizers.strokes import read_strokes
from ..stores import Hit
from ..types import CodeArray, FloatArray
from ..workflows.objects import stored_id
from ..workflows.query_notes import raw_modalities
from .asking import Answer, ask_item, ask_pictures, ask_texts, check_text_modality
from .bodies import check_picture, parse
from .drawings import ask_drawing
from .planning import checked_k
from .problems import RefusedError
from .requests import SearchRequest
from .search_route import query_pairs
from .settings import Limits

__all__ = ["Question", "describe_page", "find", "read_question"]

#: Parameters that only the page uses: they are part of an address that people share.
_OF_THE_PAGE = frozenset({"fold", "tab"})
_TEXTS = frozenset({"q", "item", "draw", "modality", "into"})
_JSON = frozenset({"k", "skip", "radius", "where"})
#: Parameters that are a query, and its kind.
_KINDS = {"q": "text", "item": "item", "draw": "drawing"}
#: Hits of an answer, unless the address says how many.
_HITS = 24


@dataclass(frozen=True)
class Question:
    """What an address asks.

    Attributes
    ----------
    kind : {"text", "item", "drawing", "none"}
        With ``"none"`` the first objects of the store are shown. A picture comes in the body of the request.
    options : SearchRequest
        Filter, radius, directions and number of hits.
    skip : int
        Hits that were shown already.
    strokes : list of arrays
        The drawing.
    """

    kind: str
    options: SearchRequest
    skip: int = 0
    strokes: tuple[FloatArray, ...] = ()


def read_question(query: bytes) -> Question:
    """The question in a query string.

    Raises
    ------
    RefusedError
        422 if a parameter is not known, or has a value that it cannot have.

    Examples
    --------
    >>> read_question(b"q=white+star&into=image&k=5").options.text
    'white star'
    """
    given: dict[str, Any] = {"k": _HITS}
    seen: set[str] = set()
    for name, text in query_pairs(query):
        if name in seen:
            raise RefusedError(422, "RequestError", f"The parameter {name[:50]!r} is given twice.")
        seen.add(name)
        if name in _TEXTS:
            # An empty field of the page is no query. A drawing is never blank, so spaces are an error there.
            if text.strip() or (text and name == "draw"):
                given[name] = text
        elif name in _JSON:
            given[name] = _value(name, text)
        elif name not in _OF_THE_PAGE:
            raise RefusedError(422, "RequestError", f"The parameter {name[:50]!r} is not known.")
    skip = given.pop("skip", 0)
    if isinstance(skip, bool) or not isinstance(skip, int) or skip < 0:
        raise RefusedError(422, "RequestError", f"skip must be a whole number from 0, got {skip!r:.50}.")
    kinds = [kind for name, kind in _KINDS.items() if name in given]
    if len(kinds) > 1:
        raise RefusedError(422, "RequestError", "Give one of q, item and draw.")
    strokes = read_strokes(given.pop("draw")) if "draw" in given else ()
    if "q" in given:
        given["text"] = given.pop("q")
    kind = kinds[0] if kinds else "none"
    return Question(kind, parse(SearchRequest, orjson.dumps(given)), skip, tuple(strokes))


def _value(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise RefusedError(422, "RequestError", f"{name} must be JSON, got {text[:50]!r}.") from None


def find(store: Any, question: Question, limits: Limits, picture: bytes | None = None) -> dict[str, Any]:
    """Ask the store, and describe the answer for the page.

    Returns
    -------
    dict
        ``hits`` with their codes; ``more``: whether there are others; ``asked``: kind, modality and code of the query;
        ``searched``: number of codes; ``objects``; ``seconds``; ``reason`` and ``notes`` as in a search.
    """
    start = time.perf_counter()
    options = question.options
    if options.k is None:
        raise ParameterError("k must be a number here.")
    k = checked_k(options, 1, limits)
    wanted = min(question.skip + k + 1, limits.k)
    kind = "picture" if picture is not None else question.kind
    answer, modality, code = _ask(store, kind, question, wanted, picture, limits)
    shown = list(answer.hits[question.skip : question.skip + k])
    sizes = store.stats().n_codes
    return {
        "asked": {
            "kind": kind,
            "modality": modality,
            "into": options.into,
            "code": None if code is None else code.tobytes().hex(),
        },
        "hits": _with_codes(store, shown),
        "more": len(answer.hits) > question.skip + k,
        "reason": answer.reason,
        "notes": list(answer.notes),
        "searched": _searched(sizes, options.into) if kind != "none" else 0,
        "objects": len(store),
        "seconds": time.perf_counter() - start,
    }


def _ask(
    store: Any, kind: str, question: Question, k: int, picture: bytes | None, limits: Limits
) -> tuple[Answer, str | None, CodeArray | None]:
    """The answer, and modality and code of the query as far as it has them."""
    options = question.options
    if kind == "none":
        return _first_objects(store, k), None, None
    if len(store) == 0:
        return Answer([], "the collection is empty"), None, None
    if kind == "text":
        text = options.text or ""
        (answer,) = ask_texts(store, options, [text], k)
        return answer, *_encoded(store, options, text, words=True)
    if kind == "drawing":
        return ask_drawing(store, options, question.strokes, k)
    if kind == "picture":
        assert picture is not None
        check_picture(picture, limits.picture_pixels)
        (answer,) = ask_pictures(store, options, [picture], k)
        return answer, *_encoded(store, options, picture, words=False)
    named = options.model_copy(update={"item": stored_id(store, options.item or "")})
    answer = ask_item(store, named, k)
    codes = store.get([named.item])[0].codes
    name = named.modality or (next(iter(codes)) if len(codes) == 1 else None)
    return answer, name, codes.get(name) if name else None


def _encoded(
    store: Any, options: SearchRequest, query: str | bytes, *, words: bool
) -> tuple[str | None, CodeArray | None]:
    """Modality and code of a text or a picture; no code if no word of the text was learned."""
    if not store.has_model or not raw_modalities(store.model, words=words):
        return None, None
    name = check_text_modality(store, options.modality, words=words)
    if words and not recognized(store.model.featurizers[name], [str(query)])[0]:
        return name, None
    return name, store.model.encode_raw([query], modality=name)[0]


def _first_objects(store: Any, k: int) -> Answer:
    """Some objects to begin with."""
    items: list[Any] = next(iter(store.iterate(batch=k)), [])[:k]
    return Answer([Hit(item.id, None, item.payload, next(iter(item.codes), "")) for item in items])


def _with_codes(store: Any, hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Hits as plain values, with the codes that were found; an object that was just removed has none."""
    ids = list(dict.fromkeys(hit.id for hit in hits))
    codes = {item.id: item.codes for item in store.find(ids) if item is not None} if ids else {}
    found = []
    for hit in hits:
        code = codes.get(hit.id, {}).get(hit.modality)
        found.append({**vars(hit), "code": None if code is None else code.tobytes().hex()})
    return found


def _searched(sizes: Mapping[str, int], into: str | None) -> int:
    return int(sum(sizes.values())) if into is None else int(sizes.get(into, 0))


def describe_page(store: Any) -> dict[str, Any]:
    """What the page must know before anybody asks: modalities, what can be typed and drawn, and sizes."""
    model = store.model if store.has_model else None
    takes: dict[str, str] = {}
    if model is not None:
        for words, what in ((True, "words"), (False, "pictures")):
            takes |= dict.fromkeys(raw_modalities(model, words=words), what)
        takes |= {
            name: "drawings" for name, each in model.featurizers.items() if each.kind == DrawingFeatures.kind
        }
    sizes = store.stats().n_codes
    return {
        "objects": len(store),
        "n_bits": store.n_bits,
        "modalities": [
            {"name": name, "codes": int(sizes.get(name, 0)), "takes": takes.get(name)}
            for name in store.modalities
        ],
        "has_model": model is not None,
        "captions": bool(store.word_fields),
        "calibrated": model is not None and model.calibration is not None,
    }
