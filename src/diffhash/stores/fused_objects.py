"""Fused codes in front of a store: one code for an object, or for a query, from several modalities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..errors import InputError, NotFittedError, ParameterError
from ..featurizers.base import recognized, takes_texts
from ..model import HashModel
from ..model.fused_codes import FusedCodes
from ..types import BoolArray, CodeArray

__all__ = [
    "Features",
    "as_rows",
    "check_can_fuse",
    "featurized",
    "fuse_objects",
    "fuse_queries",
    "fused_name",
    "texts_of_query",
]


class Features(NamedTuple):
    """Features of one modality in a query whose other modalities are raw objects.

    A service gets the words of a query from its client, and features in place of pictures.
    """

    rows: Any


def featurized(model: HashModel, modality: str, given: Any) -> Any:
    """Features of raw objects of one modality; of :class:`Features` those that it holds."""
    return given.rows if isinstance(given, Features) else model.featurize(given, modality=modality)


def check_can_fuse(model: HashModel, name: Any, *, caller: str) -> None:
    """Raise unless ``name`` can be the modality of the fused codes that this model makes."""
    if not isinstance(name, str) or not name:
        raise ParameterError(
            f"{caller}: fused must be the name of the modality of fused codes, got {name!r:.60}."
        )
    if name in model.modalities:
        raise ParameterError(
            f"{caller}: {name!r} is a modality of the model. Give the modality of fused codes another name."
        )
    if model.fusion_slopes is None:
        raise NotFittedError(
            f"{caller}: fused codes need a calibrated model. Call calibrate(views, pairs) of the hasher with the "
            "training data (codes do not change), or fit(views, pairs, calibrate=True). Nothing was written."
        )


def fused_name(modality: str | None, fused: str | None, *, is_dict: bool, caller: str) -> str | None:
    """The modality to store objects in; for a dict of features that is the one of fused codes.

    Parameters
    ----------
    modality : str or None
        What the user said.
    fused : str or None
        The modality of fused codes of the store.
    is_dict : bool
        Whether features by modality were given.
    caller : str
    """
    names_fused = isinstance(modality, str) and modality == fused
    if not is_dict:
        if names_fused:
            raise InputError(
                f"{caller}: modality {fused!r} holds fused codes. Give a dict of features by modality, "
                'such as {"image": X, "text": Y}.'
            )
        return modality
    if fused is None:
        raise InputError(
            f"{caller}: got features of several modalities, and this collection has no modality of fused codes. "
            'Make it with Collection.create(path, hasher, fused="object"), or store each modality by itself.'
        )
    if modality is not None and not names_fused:
        raise InputError(
            f"{caller}: features of several modalities are stored in {fused!r}, got modality={modality!r:.60}. "
            "Leave it out, or give the features of one modality."
        )
    return fused


def fuse_objects(model: HashModel, views: Any, ids: Any, *, raw: bool, caller: str) -> FusedCodes:
    """Fused codes of objects, and their ids.

    ``ids`` by modality relate the rows of the views, as for :meth:`HashModel.encode_fused`. Otherwise row r of
    every view is one object, and the ids in the result are those that were given.
    """
    if not isinstance(views, Mapping):
        raise InputError(f"{caller}: expected a dict of features by modality, got {type(views).__name__}.")
    if raw:
        views = {m: model.featurize(given, modality=m) for m, given in views.items()}
    if isinstance(ids, Mapping):
        return model.encode_fused(views, ids)
    return FusedCodes(model.encode_fused(views).codes, ids)


def fuse_queries(
    model: HashModel,
    query: Mapping[str, Any],
    modality: str | None,
    fused: str | None,
    *,
    raw: bool,
    caller: str,
) -> CodeArray:
    """Codes of queries of several modalities. Row r of every view is one query; a 1-d array is one row."""
    if modality is not None and not (isinstance(modality, str) and modality == fused):
        raise InputError(
            f"{caller}: the query has features of {', '.join(map(repr, query))}. Leave out modality={modality!r:.60}."
        )
    if not raw:
        return model.encode_fused({m: as_rows(given) for m, given in query.items()}).codes
    known = {m: _known_rows(model, m, given) for m, given in query.items()}
    views = {m: featurized(model, m, given) for m, given in query.items()}
    if all(rows.all() for rows in known.values()) or len({view.shape[0] for view in views.values()}) > 1:
        return model.encode_fused(views).codes
    # A text that the featurizer knows nothing of says nothing: that query is made from the rest.
    ids = {m: np.flatnonzero(rows) for m, rows in known.items() if rows.any()}
    codes = model.encode_fused(views).codes.copy()
    if ids:
        heard = model.encode_fused({m: views[m][rows] for m, rows in ids.items()}, ids)
        codes[np.asarray(heard.ids)] = heard.codes
    return codes


def _known_rows(model: HashModel, modality: str, given: Any) -> BoolArray:
    """Which raw objects the featurizer of a modality can say something about."""
    if not _are_texts(given):
        given = given.rows if isinstance(given, Features) else given
        return np.ones(len(given) if hasattr(given, "__len__") else 1, dtype=np.bool_)
    return recognized(model.featurizers.get(modality), given)


def texts_of_query(model: HashModel, raw: Any) -> tuple[str, ...] | None:
    """The texts of raw queries, whose words can be matched with captions; None if there are none.

    In a query of several modalities these are the strings whose featurizer takes texts; others may be the names of
    pictures.
    """
    if isinstance(raw, Mapping):
        raw = next(
            (
                given
                for name, given in raw.items()
                if takes_texts(model.featurizers.get(name)) and _are_texts(given)
            ),
            None,
        )
    return tuple(raw) if _are_texts(raw) else None


def _are_texts(raw: Any) -> bool:
    return isinstance(raw, list | tuple) and len(raw) > 0 and all(isinstance(item, str) for item in raw)


def as_rows(query: Any) -> Any:
    """Features of one query, of shape (n_features,), as an array with one row."""
    if not scipy.sparse.issparse(query) and getattr(query, "ndim", 2) == 1:
        return np.asarray(query).reshape(1, -1)
    return query
