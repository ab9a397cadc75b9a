"""The part of an HttpStore that searches: queries go to the service in blocks that its limits allow."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from ...codes import check_codes
from ...errors import InputError, ParameterError
from ...model import HashModel
from ...types import CodeArray, FloatArray
from ...validation import as_array, check_count, known_modality
from ..engine_search import EngineSearch
from ..filter_syntax import parse
from ..fused_objects import as_rows, featurized
from ..payload_json import to_json
from ..protocol import Hit, Id
from ..ranking import check_options
from ..search_options import SearchOptions
from .connection import Connection

__all__ = ["RemoteSearch"]

_JSON = {"Content-Type": "application/json"}
_NPY = {"Content-Type": "application/x-npy"}
#: A longer filter does not go into a URL.
_LONGEST_FILTER = 2000


class RemoteSearch(EngineSearch):
    """Searching by codes, features, raw objects and stored objects, in a service."""

    _connection: Connection
    _told: Any
    _model: HashModel | None
    _featurizers: Mapping[str, Any] | None

    def search_item(
        self,
        id: Id,  # noqa: A002 - it is called id everywhere else too
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        radius: int | None = None,
        max_false_matches: float | None = None,
        expected_matches: float | None = None,
    ) -> list[Hit]:
        """Find the objects nearest to a stored one, which is itself left out; see :meth:`Collection.search_item`."""
        caller = self._caller("search_item")
        given = SearchOptions(
            into,
            k,
            where,
            radius,
            modality=modality,
            max_false_matches=max_false_matches,
            expected_matches=expected_matches,
        )
        # The modality of the query may be left out: the object has one.
        options = self._checked(given, caller, needs_modality=False)
        body = to_json({"item": id, **_facts(options)})
        answer = self._connection.read(
            "POST", "/v1/search", caller=caller, content=body.encode(), headers=_JSON
        )
        return _hits(answer["hits"])

    def _find(
        self, codes: Any, options: SearchOptions, values: FloatArray | None, *, caller: str
    ) -> list[list[Hit]]:
        assert values is None  # features go to the service as they are
        options = self._checked(options, caller)
        array = np.atleast_2d(as_array(codes, f"{caller}: codes"))
        queries = check_codes(array, n_bits=self.n_bits, caller=caller)
        parts = self._ask_codes(queries, options, caller)
        return [_hits(row) for part in parts for row in part["results"]]

    def _encode_and_search(self, query: Any, options: SearchOptions, *, raw: bool) -> list[list[Hit]]:
        caller = self._caller("search_raw" if raw else "search")
        options = self._checked(options, caller)
        if not self.has_model:
            _ = self.model  # it says what is missing
        if options.rank == "asymmetric":
            self._require("asymmetric", "search_raw" if raw else "search", "rank by the query's real values")
        if raw and self._sends_texts(query, options):
            parts = self._ask_rows("texts", list(query), options, caller, more={"words": options.words})
        elif isinstance(query, Mapping):
            parts = self._ask_views(query, options, caller, raw=raw)
        else:
            rows = self.model.featurize(query, options.modality) if raw else as_rows(query)
            parts = self._ask_vectors(_dense(rows, caller), options, caller)
        return [_hits(row) for part in parts for row in part["results"]]

    def _checked(self, options: SearchOptions, caller: str, *, needs_modality: bool = True) -> SearchOptions:
        """Options that are valid, as plain values."""
        self._check_open()
        if needs_modality or options.max_false_matches is None or options.modality is not None:
            check_options(options, caller=caller)
        k = None if options.k is None else check_count(options.k, "k", caller=caller)
        radius = options.radius
        if radius is not None or k is None:
            radius = min(check_count(radius, "radius", caller=caller, minimum=0), self.n_bits)
        if options.where is not None:
            parse(options.where, caller=caller)
        into = options.into
        if into is not None:
            into = known_modality(into, (*self.modalities, *self._encoders()), caller=caller)
        return replace(options, k=k, radius=radius, into=into)

    def _encoders(self) -> Sequence[str]:
        """Modalities that store their codes under another name."""
        return () if self._model is None else tuple(self._model.encodes_as)

    def _sends_texts(self, query: Any, options: SearchOptions) -> bool:
        """Whether the service makes features of the queries, and matches words: texts for a featurizer of texts."""
        taking = self._taking_words()
        modality = options.modality or (taking[0] if len(taking) == 1 else None)
        return options.texts is not None and not isinstance(query, Mapping) and modality in taking

    def _texts_in(self, query: Mapping[str, Any], options: SearchOptions) -> str | None:
        """The modality of a fused query whose words are matched; None if there is none."""
        taking = self._taking_words()
        same = (name for name, given in query.items() if name in taking and isinstance(given, list | tuple))
        return next((name for name in same if tuple(query[name]) == options.texts), None)

    def _taking_words(self) -> list[str]:
        """Modalities whose texts the service turns into features, and not a featurizer of the caller."""
        told = (self._told["model"] or {}).get("modalities", ())
        names = [each["name"] for each in told if each.get("takes") == "text"]
        return [name for name in names if name not in (self._featurizers or {})]

    # ---- Requests ---------------------------------------------------------------------------------

    def _block(self, options: SearchOptions) -> int:
        """How many queries a request may have."""
        if options.k is None:
            return 1  # everything within a radius: all hits that a request may have are for one query
        limits = self._told["limits"]
        return min(int(limits["batch"]), max(int(limits["hits"]) // options.k, 1))

    def _ask_codes(
        self, codes: CodeArray, options: SearchOptions, caller: str, *, arrays: bool = False
    ) -> Iterator[Any]:
        more = {"arrays": True} if arrays else {}
        if len(to_json(options.where)) > _LONGEST_FILTER:
            rows = [code.tobytes().hex() for code in codes]
            return self._ask_rows("codes", rows, options, caller, more=more)
        return self._ask_array(codes, options, caller, more)

    def _ask_vectors(self, rows: FloatArray, options: SearchOptions, caller: str) -> Iterator[Any]:
        if len(to_json(options.where)) > _LONGEST_FILTER:
            return self._ask_rows("vectors", rows.tolist(), options, caller)
        return self._ask_array(rows, options, caller, {})

    def _ask_array(
        self, array: Any, options: SearchOptions, caller: str, more: Mapping[str, Any]
    ) -> Iterator[Any]:
        """Ask with rows of an array, which keeps its type."""
        plain = ("modality", "into", "rank")
        facts = {name: v if name in plain else to_json(v) for name, v in {**_facts(options), **more}.items()}
        block = self._block(options)
        for begin in range(0, len(array), block):
            with io.BytesIO() as buffer:
                np.save(buffer, np.ascontiguousarray(array[begin : begin + block]), allow_pickle=False)
                content = buffer.getvalue()
            yield self._connection.read(
                "POST", "/v1/search/batch", caller=caller, content=content, headers=_NPY, params=facts
            )

    def _ask_rows(
        self,
        kind: str,
        rows: list[Any],
        options: SearchOptions,
        caller: str,
        more: Mapping[str, Any] | None = None,
    ) -> Iterator[Any]:
        block = self._block(options)
        for begin in range(0, len(rows), block):
            body = to_json({kind: rows[begin : begin + block], **_facts(options), **(more or {})})
            yield self._connection.read(
                "POST", "/v1/search/batch", caller=caller, content=body.encode(), headers=_JSON
            )

    def _ask_views(
        self, query: Mapping[str, Any], options: SearchOptions, caller: str, *, raw: bool
    ) -> Iterator[Any]:
        """Ask with several modalities: features, and the texts of one of them, whose words are matched, too."""
        if options.rank == "asymmetric":
            raise ParameterError(
                f'{caller}: rank="asymmetric" is for queries of one modality, got {len(query)}.'
            )
        texts = self._texts_in(query, options) if raw and len(query) > 1 else None
        rows = {
            name: _dense(featurized(self.model, name, given) if raw else as_rows(given), caller)
            for name, given in query.items()
            if name != texts
        }
        lengths = {name: len(given) for name, given in ({**query, **rows}).items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"{caller}: row r of every modality is one query, got {lengths} rows.")
        block = self._block(options)
        for begin in range(0, max(lengths.values(), default=0), block):
            part = slice(begin, begin + block)
            facts = {"views": {name: given[part].tolist() for name, given in rows.items()}, **_facts(options)}
            if texts is not None:
                facts |= {"texts": list(query[texts][part]), "modality": texts, "words": options.words}
            yield self._connection.read(
                "POST", "/v1/search/batch", caller=caller, content=to_json(facts).encode(), headers=_JSON
            )


def _facts(options: SearchOptions) -> dict[str, Any]:
    """Options as the service takes them, without those that are left out."""
    facts = {
        "modality": options.modality,
        "into": options.into,
        "where": options.where,
        "radius": options.radius,
        "max_false_matches": options.max_false_matches,
        "expected_matches": options.expected_matches,
        "rank": None if options.rank == "auto" else options.rank,
    }
    return {"k": options.k, **{name: value for name, value in facts.items() if value is not None}}


def _hits(rows: Sequence[Any]) -> list[Hit]:
    return [
        Hit(
            row["id"],
            row["distance"],
            row["payload"],
            row["modality"],
            row["chance"],
            row["score"],
            row["found_by"],
        )
        for row in rows
    ]


def _dense(features: Any, caller: str) -> FloatArray:
    """Features as an array of floats. An array of bytes would be codes for the service."""
    if scipy.sparse.issparse(features):
        features = features.toarray()
    array = as_array(features, f"{caller}: query")
    if array.dtype.kind not in "fiub" or array.ndim != 2:
        raise InputError(
            f"{caller}: expected numbers in an array of shape (n, n_features), got {array.dtype}, shape {array.shape}."
        )
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
