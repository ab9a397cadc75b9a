"""Show the hits of a search in one self-contained HTML page, without network or scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from ..stores import Hit
from .html import html_page, page_css

__all__ = ["search_page"]

_LIMIT = 300
_STYLE = """
.hits { list-style: none; padding: 0; display: grid; gap: .9rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 11rem), 1fr)); }
.hits li { background: var(--card); border-radius: .5rem; padding: .7rem; overflow-wrap: anywhere; }
.hits img, .asked img { display: block; max-width: 96px; max-height: 96px; background: #fff; border-radius: .25rem; }
.hits img { margin: 0 auto .5rem; }
.hits p { margin: .1rem 0; font-size: .92rem; }
.hits .soft { color: var(--soft); font-size: .82rem; }
"""


def search_page(
    asked: str,
    into: str,
    found: Sequence[Sequence[Hit]],
    picture: str | None,
    is_picture: Callable[[Any], bool],
    remarks: Sequence[str] = (),
) -> str:
    """Return the whole page. All text from outside is escaped.

    Parameters
    ----------
    asked : str
        The words of the query, or the name of its file.
    into : str
        The modality that was searched.
    found : sequence of sequences of Hit
        The hits of each query.
    picture : str or None
        ``data:`` URL of the query, if it is a picture.
    is_picture : function
        Tells whether a payload value may be shown as a picture.
    remarks : sequence of str
        What to say about the query: words that no caption has, or why nothing was found.
    """
    css = page_css()
    shown = f'<p class="asked"><img alt="the query" src="{escape(picture)}"></p>' if picture else ""
    body = [
        f'<header><h1>{escape(asked)}</h1>{shown}<p class="lead">{_lead(into, found)} '
        "The distance is the number of bits in which the codes differ."
        "</p>" + "".join(f"<p>{escape(remark)}</p>" for remark in remarks) + "</header>"
    ]
    for number, hits in enumerate(found):
        title = f"<h2>Query {number}</h2>" if len(found) > 1 else ""
        items = "".join(_hit(hit, is_picture) for hit in hits)
        body.append(f'{title}<ol class="hits">{items}</ol>' if hits else f"{title}<p>Nothing was found.</p>")
    return html_page(asked, f"{css}{_STYLE}", body)


def _hit(hit: Hit, is_picture: Callable[[Any], bool]) -> str:
    pictures = [value for value in hit.payload.values() if is_picture(value)]
    image = f'<img alt="" src="{escape(pictures[0])}">' if pictures else ""
    texts = {
        key: value
        for key, value in hit.payload.items()
        if not is_picture(value) and value not in (None, hit.id)
    }
    caption = texts.pop("caption", None)
    first = f"<p>{escape(_text(caption))}</p>" if caption is not None else ""
    rest = "".join(
        f'<p class="soft">{escape(key)}: {escape(_text(value))}</p>' for key, value in texts.items()
    )
    return (
        f'<li>{image}{first}<p class="soft">{escape(_text(hit.id))}</p>'
        f'<p class="soft">{_how(hit)}</p>{rest}</li>'
    )


def _lead(into: str, found: Sequence[Sequence[Hit]]) -> str:
    """What the order is by."""
    if any(hit.found_by != "codes" for hits in found for hit in hits):
        order = "by the words of their captions and by their codes, best first"
        return f"Items of modality <em>{escape(into)}</em>, {order}."
    return f"The nearest items of modality <em>{escape(into)}</em>, nearest first."


def _how(hit: Hit) -> str:
    """The distance, and whether words of the query are in the caption."""
    distance = [] if hit.distance is None else [f"distance {int(hit.distance)}"]
    words = [] if hit.found_by == "codes" else ["words match"]
    return ", ".join(words + distance)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"
