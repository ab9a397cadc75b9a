"""``search``: ask a collection with words, a picture, vectors, or one of its items."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputFileError
from ..featurizers.base import recognized, takes_texts
from ..files import Source, open_features
from ..files.arrays import load_array
from ..input_files import check_regular_file, reading
from ..model import HashModel
from ..stores import Collection
from ..stores.engine_store import EngineStore
from .model_files import check_calibrated, choose_modality, open_store
from .objects import stored_id
from .options import FileName, FileNames, OptionError, check_count, check_files
from .outputs import check_page_output
from .query_notes import filter_notes, no_match_reason, usual_modalities, why_nothing, word_notes
from .search_results import QueryResult

__all__ = ["search", "search_to_page"]

#: What a result calls the modality of words that are only matched with captions.
_WORDS = "words"


def search(
    collection: FileName | Collection | EngineStore,
    *,
    text: str | None = None,
    image: FileName | None = None,
    vector: FileNames | None = None,
    item: int | str | None = None,
    modality: str | None = None,
    into: str | None = None,
    k: int = 10,
    where: Mapping[str, Any] | None = None,
    radius: int | None = None,
    max_false_matches: float | None = None,
    rank: str = "auto",
    words: bool | None = None,
    featurizers: Mapping[str, Any] | None = None,
) -> QueryResult:
    """Search a collection with words, a picture, features, or an item of it.

    Words, a picture and features of several modalities can be given together: the query is then fused, and the
    model must be calibrated.

    Parameters
    ----------
    collection : file, address, or an open store
    text : str
        Words.
    image : file
        A picture.
    vector : file, or files by modality
        Features; each row is a query. With several modalities, row r of each file is one query.
    item : id
        An object of the collection. It is not found itself.
    modality : str, optional
        Modality of the query. By default the one that fits; for an item the one of fused codes, or the first one
        that it has. Left out for a query of several modalities.
    into : str, optional
        Modality to search. By default the first one that the query does not have; for a query of several
        modalities the one of fused codes, if there is one.
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
    words : bool, optional
        Whether ``text`` is also matched with the words of captions. By default it is, if the collection has a
        word index. With a ``vector`` it is not.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
        An open store has its own.

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
    given = {"text": text, "image": image, "vector": vector, "item": item}
    if all(value is None for value in given.values()):
        raise OptionError("give one of `text`, `image`, `vector` and `item`")
    if item is not None and sum(value is not None for value in given.values()) > 1:
        raise OptionError("`item` is a query by itself: leave out `text`, `image` and `vector`")
    _check_types(text=text, image=image, item=item)
    if text is not None and not text.strip():
        raise OptionError("`text` is empty. Give the words to look for")
    if words is not None and text is None:
        raise OptionError("`words` goes with `text`")
    if words and vector is not None:
        raise OptionError("`words` goes with `text`, or with `text` and `image`: leave out `vector`")
    check_count(k, "k", minimum=1)
    if radius is not None:
        check_count(radius, "radius", minimum=0)
    with _opened(collection, featurizers) as store:
        _check_known(store, modality, "modality")
        _check_known(store, into, "into")
        known_words = True
        asked: tuple[str, ...]
        words_alone = (
            text is not None
            and image is None
            and vector is None
            and modality is None
            and _has_only_words(store, words)
        )
        options: dict[str, Any] = {
            "k": k,
            "where": where,
            "radius": radius,
            "max_false_matches": max_false_matches,
        }
        if words_alone and text is not None:
            asked = (_WORDS,)
            options["into"] = into or _default_into(store, asked)
            hits = store.search_words([text], into=options["into"], k=k, where=where)
        elif item is not None:
            own_id = stored_id(store, item)
            asked = (modality or _modality_of_item(store, own_id),)
            options["into"] = into or _default_into(store, asked)
            hits = [store.search_item(own_id, modality=asked[0], **options)]
        else:
            vectors, raw = _query(store.model, text, image, vector, modality)
            asked = (*vectors, *raw)
            options |= {"into": into or _default_into(store, asked), "rank": rank}
            known_words = text is None or _words_are_known(store.model, text, raw)
            if len(asked) > 1:
                check_calibrated(store.model, store.address)
                if vectors:
                    made = {name: store.model.featurize(given, modality=name) for name, given in raw.items()}
                    hits = store.search({**vectors, **made}, **options)
                else:
                    hits = store.search_raw(raw, **options, words=words)
            elif raw:
                hits = store.search_raw(raw[asked[0]], modality=asked[0], **options, words=words)
            else:
                hits = store.search(vectors[asked[0]], modality=asked[0], **options)
        searched = text is not None and words is not False and vector is None and bool(store.word_fields)
        match = store.match_words(text) if searched and text is not None else None
        reason = None
        if text is not None and len(asked) == 1 and not any(hits):
            reason = no_match_reason(match, known_words and not words_alone)
        notes = word_notes(match) if match is not None and reason is None else ()
        if where is not None:
            notes += filter_notes(store, where)
        if reason is None and max_false_matches is not None and not all(hits):
            limit = store.match_limit(max_false_matches, modality=asked[0], into=options["into"], where=where)
            reason = why_nothing(limit, max_false_matches)
        elif reason is None and radius is not None and not any(hits):
            reason = f"no item is within distance {radius}"
    return QueryResult(
        query=_shown_query([text, image, vector, item]),
        modality="+".join(asked),
        into=options["into"],
        hits=tuple(tuple(found) for found in hits),
        known_words=known_words,
        notes=notes,
        reason=reason,
    )


def _query(
    model: HashModel, text: str | None, image: FileName | None, vector: FileNames | None, modality: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Features and raw objects of the query, by modality."""
    several = sum(value is not None for value in (text, image, vector)) > 1 or isinstance(vector, Mapping)
    if several and modality is not None:
        raise OptionError("`modality` goes with a query of one modality: leave it out")
    vectors: dict[str, Any] = {}
    if isinstance(vector, Mapping):
        check_files(vector, "vector")
        for name, file in vector.items():
            if name not in model.modalities:
                raise OptionError(
                    f"`vector`: the model has no {name!r}. It has {', '.join(model.modalities)}"
                )
            vectors[name] = _read_vectors(file)
    elif vector is not None:
        _check_types(vector=vector)
        rows = _read_vectors(vector)
        vectors[modality or _modality_of_vectors(model, vector, rows)] = rows
    raw: dict[str, Any] = {}
    if text is not None:
        raw[modality or _modality_of_raw(model, words=True)] = [text]
    if image is not None:
        raw[modality or _modality_of_raw(model, words=False)] = [_existing_picture(image)]
    for name in raw:
        if name in vectors:
            raise OptionError(f"the query has {name!r} twice. Give it once")
    return vectors, raw


def _words_are_known(model: HashModel, text: str, raw: Mapping[str, Any]) -> bool:
    """Whether the featurizer knows something of a text, so that its code says something."""
    name = next(name for name, given in raw.items() if given == [text])
    # Without a featurizer, featurize below says what is wrong.
    featurizer = model.featurizers.get(name)
    if takes_texts(featurizer):
        return bool(recognized(featurizer, [text])[0])
    return bool(abs(model.featurize([text], modality=name)).sum())


def _default_into(store: Collection | EngineStore, asked: tuple[str, ...]) -> str:
    """Fused codes for a fused query, if there are some; otherwise the first modality that the query has not."""
    if store.fused_modality is not None and (len(asked) > 1 or asked[0] == store.fused_modality):
        return store.fused_modality
    return next((name for name in _separate(store) if name not in asked), asked[0])


def _shown_query(values: list[Any]) -> str:
    """The query for people: its words, names of files, or the id."""
    files = [v for value in values for v in (value.values() if isinstance(value, Mapping) else [value])]
    return ", ".join(os.fspath(v) if isinstance(v, os.PathLike) else str(v) for v in files if v is not None)


def search_to_page(
    collection: FileName | Collection | EngineStore,
    page: FileName,
    render: Callable[..., str],
    *,
    image: FileName | None = None,
    vector: FileNames | None = None,
    **query: Any,
) -> QueryResult:
    """Search a collection and write the answer to a page. An older page (.html) is replaced.

    Parameters
    ----------
    collection : file, address, or an open store
    page : file
    render : function
        Gives the HTML, as :func:`diffhash.report.search_page.search_page`. It gets ``remarks=`` if there are any.
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
    vectors = list(vector.values()) if isinstance(vector, Mapping) else [vector]
    inputs = [name for name in (collection, image, *vectors) if isinstance(name, str | os.PathLike)]
    check_page_output(page, inputs)
    result = search(collection, image=image, vector=vector, **query)
    picture = None if image is None else thumbnail(Path(image))
    remarks = [*result.notes, *([] if result.reason is None else [f"Nothing matches: {result.reason}."])]
    more = {"remarks": remarks} if remarks else {}
    html = render(result.query, result.into, result.hits, picture, is_thumbnail, **more)
    # Arguments that are not valid UTF-8 contain surrogates, which cannot be encoded.
    write_atomically(page, html.encode("utf-8", "replace"), PAGE)
    return result


def _opened(
    collection: FileName | Collection | EngineStore, featurizers: Mapping[str, Any] | None
) -> AbstractContextManager[Collection | EngineStore]:
    if isinstance(collection, Collection | EngineStore):
        if featurizers:
            raise OptionError("`featurizers` are given when a store is opened, and this one is open")
        return nullcontext(collection)
    return open_store(collection, featurizers=featurizers)


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


def _has_only_words(store: Collection | EngineStore, words: bool | None) -> bool:
    """Whether a text can be matched with captions, but not be encoded."""
    featurizers = store.model.featurizers.values() if store.has_model else ()
    texts = any(takes_texts(featurizer) for featurizer in featurizers)
    return words is not False and not texts and bool(store.word_fields)


def _modality_of_item(store: Collection | EngineStore, item: int | str) -> str:
    """The modality of fused codes if an object has one, or else the first one in which it has a code."""
    found = store.get([item])[0]
    if store.fused_modality in found.modalities:
        return str(store.fused_modality)
    return next((name for name in store.modalities if name in found.modalities), store.modalities[0])


def _separate(store: Collection | EngineStore) -> list[str]:
    """The modalities without the one of fused codes."""
    return [name for name in store.modalities if name != store.fused_modality]


def _check_known(store: Collection | EngineStore, modality: str | None, option: str) -> None:
    if modality is not None and modality not in store.modalities:
        known = ", ".join(store.modalities)
        raise OptionError(f"`{option}`: the collection has no {modality!r}. It has {known}")


def _modality_of_vectors(model: HashModel, file: FileName, vectors: Any) -> str:
    matching = [name for name, n in model.n_features.items() if n == vectors.shape[1]]
    # The other function knows how to say what is wrong.
    return matching[0] if len(matching) == 1 else choose_modality(model, open_features(file), None)


def _modality_of_raw(model: HashModel, *, words: bool) -> str:
    matching = usual_modalities(model, words=words)
    if len(matching) == 1:
        return matching[0]
    what = "words" if words else "pictures"
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
