"""``search``: ask a collection with words, a picture, vectors, or one of its items."""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputFileError
from ..files import Source, open_features
from ..files.arrays import load_array
from ..input_files import check_regular_file, reading
from ..model import HashModel
from ..search.calibration import FalseMatchLimit
from ..stores import Collection
from .model_files import choose_modality, open_collection
from .options import FileName, OptionError, check_count
from .outputs import check_page_output
from .results import QueryResult

__all__ = ["search", "search_to_page"]

#: Kind of the featurizer of texts.
_TEXT = "tfidf"
_WHOLE = re.compile(r"-?[0-9]{1,19}")


def search(
    collection: FileName | Collection,
    *,
    text: str | None = None,
    image: FileName | None = None,
    vector: FileName | None = None,
    item: int | str | None = None,
    modality: str | None = None,
    into: str | None = None,
    k: int = 10,
    where: Mapping[str, Any] | None = None,
    radius: int | None = None,
    max_false_matches: float | None = None,
    rank: str = "auto",
) -> QueryResult:
    """Search a collection. Exactly one of ``text``, ``image``, ``vector`` and ``item`` is given.

    Parameters
    ----------
    collection : file, or an open Collection
    text : str
        Words.
    image : file
        A picture.
    vector : file
        Features; each row is a query.
    item : id
        An object of the collection. It is not found itself.
    modality : str, optional
        Modality of the query. By default the one that fits; for an item the first one that it has.
    into : str, optional
        Modality to search. By default the first other one.
    k : int
        Number of hits for each query.
    where : dict, optional
        Filter on payloads, see :meth:`diffhash.Collection.search`.
    radius : int, optional
        Only hits at most this far away.
    max_false_matches : float, optional
        Only hits within a radius in which a query has, on average, at most so many wrong hits.
    rank : {"auto", "hamming", "asymmetric"}
        Order of the hits, see :meth:`diffhash.Collection.search`. Items are always ranked by distance.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> with dh.Collection.create(folder / "x.dh", hasher) as c:
    ...     _ = c.add(x, modality="x")
    >>> result = search(folder / "x.dh", item=3, into="x", k=2)
    >>> result.modality, len(result.hits[0])
    ('x', 2)
    """
    if sum(value is not None for value in (text, image, vector, item)) != 1:
        raise OptionError("give one of `text`, `image`, `vector` and `item`")
    _check_types(text=text, image=image, vector=vector, item=item)
    check_count(k, "k", minimum=1)
    if radius is not None:
        check_count(radius, "radius", minimum=0)
    with _opened(collection) as store:
        _check_known(store, modality, "modality")
        _check_known(store, into, "into")
        vectors = None if vector is None else _read_vectors(vector)
        stored_id = None if item is None else _stored_id(store, item)
        if modality is None and stored_id is not None:
            modality = _modality_of_item(store, stored_id)
        modality = modality or _modality_of_query(store.model, text, vector, vectors)
        into = into or next((name for name in _separate(store) if name != modality), modality)
        options: dict[str, Any] = {
            "modality": modality,
            "into": into,
            "k": k,
            "where": where,
            "radius": radius,
        }
        options["max_false_matches"] = max_false_matches
        known_words = True
        if stored_id is not None:
            hits = [store.search_item(stored_id, **options)]
        elif vectors is not None:
            hits = store.search(vectors, **options, rank=rank)
        else:
            known_words = text is None or bool(abs(store.model.featurize([text], modality=modality)).sum())
            raw = text if image is None else _existing_picture(image)
            hits = store.search_raw([raw], **options, rank=rank)
        reason = None
        if max_false_matches is not None and not all(hits):
            limit = store.match_limit(max_false_matches, modality=modality, into=into, where=where)
            reason = _why_nothing(limit, max_false_matches)
    query = next(value for value in (text, image, vector, item) if value is not None)
    return QueryResult(
        query=os.fspath(query) if isinstance(query, os.PathLike) else str(query),
        modality=modality,
        into=into,
        hits=tuple(tuple(found) for found in hits),
        known_words=known_words,
        reason=reason,
    )


def _why_nothing(limit: FalseMatchLimit, max_false_matches: float) -> str:
    if limit.radius < 0:
        return (
            f"even items with the same code as a query would be wrong too often ({limit.false_matches:.3g} wrong hits "
            f"per query, {max_false_matches:g} allowed)"
        )
    return (
        f"no item is within distance {limit.radius}, and beyond it there would be more than {max_false_matches:g} "
        "wrong hits per query"
    )


def search_to_page(
    collection: FileName | Collection,
    page: FileName,
    render: Callable[..., str],
    *,
    image: FileName | None = None,
    vector: FileName | None = None,
    **query: Any,
) -> QueryResult:
    """Search a collection and write the answer to a page. An older page (.html) is replaced.

    Parameters
    ----------
    collection : file, or an open Collection
    page : file
    render : function
        Gives the HTML, as :func:`diffhash.report.search_page.search_page`.
    image, vector, **query
        As for :func:`search`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> with dh.Collection.create(folder / "x.dh", hasher) as c:
    ...     _ = c.add(x, modality="x")
    >>> from diffhash.report.search_page import search_page
    >>> result = search_to_page(folder / "x.dh", folder / "x.html", search_page, item=3, into="x", k=2)
    >>> "The nearest items" in (folder / "x.html").read_text()
    True
    """
    from ..atomic_write import write_atomically
    from ..output_files import PAGE
    from .picture_reader import is_thumbnail, thumbnail

    page = Path(page)
    inputs = [name for name in (collection, image, vector) if isinstance(name, str | os.PathLike)]
    check_page_output(page, inputs)
    result = search(collection, image=image, vector=vector, **query)
    picture = None if image is None else thumbnail(Path(image))
    html = render(result.query, result.into, result.hits, picture, is_thumbnail)
    # Arguments that are not valid UTF-8 contain surrogates, which cannot be encoded.
    write_atomically(page, html.encode("utf-8", "replace"), PAGE)
    return result


def _opened(collection: FileName | Collection) -> AbstractContextManager[Collection]:
    if isinstance(collection, Collection):
        return nullcontext(collection)
    return open_collection(collection)


def _check_types(**values: Any) -> None:
    file = (str, os.PathLike)
    wanted: dict[str, tuple[type, ...]] = {
        "text": (str,),
        "image": file,
        "vector": file,
        "item": (str, numbers.Integral),
    }
    for name, value in values.items():
        if value is not None and not isinstance(value, wanted[name]):
            kinds = " or ".join(kind.__name__ for kind in wanted[name])
            raise OptionError(f"`{name}` must be {kinds}, got {type(value).__name__}")


def _modality_of_item(store: Collection, item: int | str) -> str:
    """The first modality in which an object has a code."""
    found = store.get([item])[0]
    return next((name for name in store.modalities if name in found.modalities), store.modalities[0])


def _separate(store: Collection) -> list[str]:
    """The modalities without the one of fused codes."""
    return [name for name in store.modalities if name != store.fused_modality]


def _check_known(store: Collection, modality: str | None, option: str) -> None:
    if modality is not None and modality not in store.modalities:
        known = ", ".join(store.modalities)
        raise OptionError(f"`{option}`: the collection has no {modality!r}. It has {known}")


def _modality_of_query(model: HashModel, text: str | None, vector: FileName | None, vectors: Any) -> str:
    if vector is not None:
        matching = [name for name, n in model.n_features.items() if n == vectors.shape[1]]
        # The other function knows how to say what is wrong.
        return matching[0] if len(matching) == 1 else choose_modality(model, open_features(vector), None)
    kinds = {name: featurizer.kind for name, featurizer in model.featurizers.items()}
    matching = [name for name, kind in kinds.items() if (kind == _TEXT) == (text is not None)]
    if len(matching) == 1:
        return matching[0]
    what = "words" if text is not None else "pictures"
    if matching:
        raise InputFileError(f"several modalities take {what}: say `modality`.")
    raise InputFileError(f"this collection was not built from {what}. Ask with features: `vector` FILE.")


def _read_vectors(name: FileName) -> Any:
    source = Source.parse(name)
    if source.kind in (".npy", ".npz"):
        array = load_array(source)
        if array.ndim == 1:
            return array.reshape(1, -1)
    return np.asarray(open_features(source).array())


def _existing_picture(image: FileName) -> Path:
    with reading(image, InputFileError):
        check_regular_file(image, InputFileError)
    return Path(image)


def _stored_id(store: Collection, item: int | str) -> int | str:
    """An id as it is stored: "3" is a number in a collection whose ids are numbers."""
    text = str(item)
    return int(text) if store.id_kind == "int" and _WHOLE.fullmatch(text) else text
