"""``diffhash search``: ask a collection."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..atomic_write import write_atomically
from ..errors import InputFileError
from ..featurizers import TfidfFeatures
from ..files import Source, open_features
from ..files.arrays import load_array
from ..hashers.base import BaseHasher
from ..report.search_page import search_page
from ..stores import Collection, Hit
from ..workflows.outputs import check_page
from ..workflows.thumbnails import THUMBNAIL, is_thumbnail, thumbnail
from .encode import choose_modality
from .options import AsJson, Debug
from .output import print_json, print_table
from .where import parse_where

__all__ = ["search"]

_MOST_COLUMNS = 4
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_NOTHING_KNOWN = "diffhash: none of these words was learned, so what follows says nothing. Try others."


@dataclass(frozen=True)
class Question:
    """What is asked, and in which form.

    Attributes
    ----------
    shown : str
        For people.
    modality : str
    raw, vectors, item
        Exactly one of these is not None.
    """

    shown: str
    modality: str
    raw: Any = None
    vectors: Any = None
    item: str | None = None


def search(
    collection: Annotated[Path, typer.Argument(metavar="COLLECTION", help="What diffhash build has made.")],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Words to look for.")] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask with a picture in place of words.")
    ] = None,
    vector: Annotated[
        str | None, typer.Option(metavar="FILE", help="Ask with features: every row of the file is a query.")
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="ID", help="Ask with an item of the collection.")
    ] = None,
    modality: Annotated[
        str | None, typer.Option(help="What the query is. Default: what fits it.", show_default=False)
    ] = None,
    into: Annotated[
        str | None, typer.Option(help="What to look for. Default: the other modality.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", "--count", min=1, help="How many results.")] = 10,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILTER",
            help="Only items whose payload fits: group=arrow, year>=1990, or JSON. Repeat for more.",
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Write a page with the pictures, and open it on a terminal.")
    ] = False,
    page: Annotated[Path, typer.Option(metavar="FILE", help="Where --open writes.")] = Path("search.html"),
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Search a collection with words, a picture, vectors, or one of its items.

    For example:

        diffhash search photos.dh "a white star"

        diffhash search photos.dh --image star.png --into text -k 5

        diffhash search items.dh --vector query.npy --where 'year>=1990' --json

        diffhash search photos.dh "a white star" --open
    """
    given = [value for value in (text, image, vector, item) if value is not None]
    if len(given) != 1:
        raise typer.BadParameter("give one of TEXT, --image FILE, --vector FILE and --item ID")
    wanted = parse_where(where)
    if not collection.exists():
        raise InputFileError(f"{collection}: there is no such file.")
    if open_page:
        check_page(page, [str(name) for name in (collection, image, vector) if name is not None])
    with Collection.open(collection) as store:
        question = _question(store.hasher, text, image, vector, item, modality)
        into = _into(store.hasher, question.modality, into)
        if text is not None and abs(store.hasher.featurize([text], modality=question.modality)).sum() == 0:
            typer.echo(_NOTHING_KNOWN, err=True)
        found = _ask(store, question, into, k, wanted)
    if open_page:
        picture = thumbnail(image) if image is not None else None
        html = search_page(question.shown, into, found, picture, is_thumbnail)
        # Bytes of the command line that are no text come as halves of characters.
        write_atomically(page, html.encode("utf-8", "replace"))
    if as_json:
        print_json(_as_json(question, into, found))
    else:
        _print(found)
    if open_page:
        if sys.stdout.isatty():
            typer.launch(page.resolve().as_uri())
        typer.echo(f"{page}", err=as_json)


def _question(
    hasher: BaseHasher,
    text: str | None,
    image: Path | None,
    vector: str | None,
    item: str | None,
    modality: str | None,
) -> Question:
    if modality is not None and modality not in hasher.modalities_:
        known = ", ".join(hasher.modalities_)
        raise typer.BadParameter(f"--modality: the collection has no {modality!r}; it has {known}")
    if vector is not None:
        rows = _vectors(vector)
        chosen = modality or _by_size(hasher, vector, rows.shape[1])
        return Question(vector, chosen, vectors=rows)
    if item is not None:
        return Question(item, modality or hasher.modalities_[0], item=item)
    chosen = modality or _by_featurizer(hasher, words=text is not None)
    if image is not None and not image.is_file():
        raise InputFileError(f"{image}: there is no such picture.")
    return Question(text or str(image), chosen, raw=[text if text is not None else image])


def _vectors(name: str) -> Any:
    source = Source.parse(name)
    if source.kind in (".npy", ".npz"):
        array = load_array(source)
        if array.ndim == 1:
            return array.reshape(1, -1)
    return np.asarray(open_features(source).array())


def _by_size(hasher: BaseHasher, name: str, n_features: int) -> str:
    """The modality that has so many features."""
    fitting = [m for m, n in hasher.n_features_in_.items() if n == n_features]
    if len(fitting) == 1:
        return fitting[0]
    return choose_modality(hasher, open_features(name), None)


def _by_featurizer(hasher: BaseHasher, *, words: bool) -> str:
    """The modality whose featurizer takes words, or pictures."""
    what = "words" if words else "pictures"
    fitting = [
        name
        for name, featurizer in hasher.featurizers_.items()
        if (featurizer.kind == TfidfFeatures.kind) == words
    ]
    if len(fitting) != 1:
        raise InputFileError(
            f"this collection was not built from {what}, so it cannot be asked with them. "
            "Ask with features: --vector FILE."
            if not fitting
            else f"several modalities take {what}: say --modality."
        )
    return fitting[0]


def _into(hasher: BaseHasher, modality: str, into: str | None) -> str:
    if into is not None and into not in hasher.modalities_:
        known = ", ".join(hasher.modalities_)
        raise typer.BadParameter(f"--into: the collection has no {into!r}; it has {known}")
    others = [name for name in hasher.modalities_ if name != modality]
    return into or (others[0] if others else modality)


def _ask(
    store: Collection, question: Question, into: str, k: int, where: dict[str, Any] | None
) -> list[list[Hit]]:
    modality = question.modality
    if question.item is not None:
        return [store.search_item(_id(store, question.item), modality=modality, into=into, k=k, where=where)]
    if question.vectors is not None:
        return store.search(question.vectors, modality=modality, into=into, k=k, where=where)
    return store.search_raw(question.raw, modality=modality, into=into, k=k, where=where)


def _id(store: Collection, text: str) -> int | str:
    """An id as it is stored: a number where ids are numbers."""
    return int(text) if store.id_kind == "int" and _WHOLE.fullmatch(text) else str(text)


def _as_json(question: Question, into: str, found: list[list[Hit]]) -> dict[str, Any]:
    return {
        "query": question.shown,
        "modality": question.modality,
        "into": into,
        "results": [
            [
                {
                    "id": hit.id,
                    "distance": hit.distance,
                    "modality": hit.modality,
                    "payload": {key: value for key, value in hit.payload.items() if key != THUMBNAIL},
                }
                for hit in hits
            ]
            for hits in found
        ],
    }


def _print(found: list[list[Hit]]) -> None:
    for number, hits in enumerate(found):
        if len(found) > 1:
            typer.echo(f"{'' if number == 0 else chr(10)}query {number}")
        if not hits:
            typer.echo("nothing was found")
            continue
        fields: list[str] = []
        for hit in hits:
            fields += [key for key in hit.payload if key not in fields and key != THUMBNAIL]
        # A name that is the id says nothing new.
        fields = [f for f in fields if any(hit.payload.get(f) not in (None, hit.id) for hit in hits)]
        fields = fields[:_MOST_COLUMNS]
        rows = [[hit.distance, str(hit.id), *(hit.payload.get(f) for f in fields)] for hit in hits]
        print_table(["distance", "id", *fields], rows)
