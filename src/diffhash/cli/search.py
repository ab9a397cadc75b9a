"""``diffhash search``: ask a collection."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..workflows.options import THUMBNAIL, Ranking
from .options import Featurizers, OutputFlags, featurizers_by_name, refuse_options
from .parsing import files_by_name, parse_where
from .printing import print_json, print_table
from .terminal import echo, shown

if TYPE_CHECKING:
    from ..stores import Hit
    from ..workflows import QueryResult

__all__ = ["search"]

_MAX_COLUMNS = 4


def search(
    *,
    context: typer.Context,
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="A collection (.dh), or the address of one.")
    ],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Words to look for.")] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask with a picture in place of words.")
    ] = None,
    vector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Ask with features: every row of the file is a query. Repeat for a fused query.",
        ),
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="ID", help="Ask with an item of the collection.")
    ] = None,
    modality: Annotated[
        str | None,
        typer.Option(help="Modality of the query. Default: the one that fits.", show_default=False),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            help="Modality to search. Default: the first that the query has not; for a fused query, fused codes.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--count", min=1, help="How many results.")] = 10,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILTER",
            help="Only items whose payload fits: group=arrow, year>=1990, or JSON. Repeat for more.",
        ),
    ] = None,
    radius: Annotated[
        int | None,
        typer.Option(min=0, help="Only results at most this many bits away.", show_default=False),
    ] = None,
    max_false_matches: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Only results so near that, on average, at most this many of a query are wrong. "
            "There may be none. Needs a calibrated model.",
            show_default=False,
        ),
    ] = None,
    rank: Annotated[
        Ranking,
        typer.Option(help="Order by distance (hamming), by the query's real values, or by what found more."),
    ] = Ranking.auto,
    words: Annotated[
        bool | None,
        typer.Option(
            "--words/--no-words",
            help="Also match TEXT with the words of captions. Default: if the collection keeps them.",
            show_default=False,
        ),
    ] = None,
    featurizer: Featurizers = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Write a page with the pictures, and open it on a terminal.")
    ] = False,
    page: Annotated[Path, typer.Option(metavar="FILE", help="Where --open writes.")] = Path("search.html"),
    output: OutputFlags,
) -> None:
    """Search a collection with words, a picture, vectors, or one of its items.

    Words, a picture and vectors of several modalities together make one fused query, if the model is calibrated.

    For example:

        diffhash search photos.dh "a white star"

        diffhash search photos.dh --image star.png --into text -k 5

        diffhash search items.dh --vector query.npy --where 'year>=1990' --json

        diffhash search photos.dh "a white star" --max-false-matches 1

        diffhash search photos.dh "a white star" --open

        diffhash search abc.dh --vector a=a.npy --vector b=b.npy --into c
    """
    if not any(value is not None for value in (text, image, vector or None, item)):
        raise typer.BadParameter("give one of TEXT, --image FILE, --vector FILE and --item ID")
    if not open_page:
        refuse_options(context, "page", "goes with --open")
    query: dict[str, Any] = {
        "text": text,
        "image": image,
        "vector": _vectors(vector),
        "item": item,
        "modality": modality,
        "into": into,
        "k": k,
        "where": parse_where(where),
        "radius": radius,
        "max_false_matches": max_false_matches,
        "rank": rank.value,
        "words": words,
        "featurizers": featurizers_by_name(featurizer),
    }
    from .. import workflows

    if open_page:
        from ..report.search_page import search_page

        result = workflows.search_to_page(collection, page, search_page, **query)
    else:
        result = workflows.search(collection, **query)
    for note in result.notes:
        echo(f"diffhash: {shown(note, 500)}", err=True)
    if output.as_json:
        print_json(_facts(result))
    else:
        _print(result.hits, result.reason)
    if open_page:
        if sys.stdout.isatty():
            typer.launch(page.resolve().as_uri())
        echo(shown(str(page), 500), err=output.as_json)


def _vectors(values: list[str] | None) -> str | dict[str, str] | None:
    """``[NAME=]FILE`` options: one file, or files by modality."""
    if values and len(values) == 1 and ("=" not in values[0] or Path(values[0].partition("#")[0]).exists()):
        return values[0]
    return files_by_name(values, "--vector") or None


def _facts(result: QueryResult) -> dict[str, Any]:
    return {
        "query": result.query,
        "modality": result.modality,
        "into": result.into,
        "known_words": result.known_words,
        "notes": result.notes,
        **({} if result.reason is None else {"reason": result.reason}),
        "results": [
            [
                {
                    "id": hit.id,
                    "distance": hit.distance,
                    "chance": hit.chance,
                    "score": hit.score,
                    "modality": hit.modality,
                    "found_by": hit.found_by,
                    "payload": _fields(hit),
                }
                for hit in hits
            ]
            for hits in result.hits
        ],
    }


def _fields(hit: Hit) -> dict[str, Any]:
    """The payload without the thumbnail, which is long and says nothing in a terminal."""
    return {key: value for key, value in hit.payload.items() if key != THUMBNAIL}


def _print(found: tuple[tuple[Hit, ...], ...], reason: str | None) -> None:
    for number, hits in enumerate(found):
        if len(found) > 1:
            echo(f"{'' if number == 0 else chr(10)}query {number}")
        if not hits:
            echo("nothing was found" if reason is None else f"nothing matches: {reason}")
            continue
        names: list[str] = []
        for hit in hits:
            names += [key for key in _fields(hit) if key not in names]
        # A column that repeats the id is left out.
        names = [f for f in names if any(hit.payload.get(f) not in (None, hit.id) for hit in hits)]
        names = names[:_MAX_COLUMNS]
        calibrated = any(hit.chance is not None for hit in hits)
        # Only a search for words finds anything by words; otherwise the column says nothing.
        by_words = any(hit.found_by != "codes" for hit in hits)
        rows = [
            [
                hit.distance,
                *([_percent(hit.chance)] if calibrated else []),
                *([hit.found_by] if by_words else []),
                str(hit.id),
                *(hit.payload.get(f) for f in names),
            ]
            for hit in hits
        ]
        more = ["chance"] * calibrated + ["found by"] * by_words
        print_table(["distance", *more, "id", *names], rows)


def _percent(chance: float | None) -> str:
    if chance is None:
        return ""
    return "< 1 %" if chance < 0.01 else "> 99 %" if chance > 0.99 else f"{chance:.0%}".replace("%", " %")
