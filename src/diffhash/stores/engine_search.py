"""The part of :class:`.engine_store.EngineStore` that searches, over the primitives of an engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..codes import check_codes
from ..errors import InputError
from ..model import HashModel
from ..search.calibration import FalseMatchLimit
from ..search.known_codes import KnownCodes, find_known
from ..types import CodeArray, FloatArray, SearchResult
from ..validation import as_array, check_count, known_modality
from .filter_syntax import Node, Not, OneOf, by_similarity, fields_of, parse
from .hashed import HashedStore
from .optional_calls import OptionalCalls
from .protocol import Hit, Id, Item
from .ranking import check_options, judge, match_limit, ranking_scale
from .search_options import SearchOptions

if TYPE_CHECKING:
    from .engine_store import NewRows

__all__ = ["EngineSearch", "Neighbour", "taken_error"]

T = TypeVar("T")


class Neighbour(NamedTuple):
    """An object that an engine found near a query. ``score`` is what the order is by, largest first."""

    id: Id
    distance: int
    payload: dict[str, Any]
    score: float


def taken_error(caller: str, id_: Id, modality: str) -> InputError:
    """The error if an object that is added has a code in the modality already."""
    return InputError(
        f"{caller}: id {id_!r} exists already in modality {modality!r}. Nothing was added. Use upsert to replace it."
    )


class EngineSearch(OptionalCalls, HashedStore):
    """Searching by codes, features and stored objects, over two primitives: count and find the nearest."""

    # ---- What an engine implements ----------------------------------------------------------------

    @abstractmethod
    def _count(self, modality: str, where: Node | None) -> int:
        """Number of codes in a modality, or of those whose objects match a filter."""

    @abstractmethod
    def _nearest(
        self, codes: CodeArray, modality: str, k: int | None, radius: int | None, where: Node | None
    ) -> list[list[Neighbour]]:
        """The k nearest objects of each query within the radius, nearest first; with k None all within the radius.

        Padding bits of the queries are 0.
        """

    def _nearest_by_values(
        self,
        values: FloatArray,
        scale: FloatArray,
        modality: str,
        k: int,
        radius: int | None,
        where: Node | None,
    ) -> list[list[Neighbour]]:
        """The same with asymmetric ranking, for engines with this capability."""
        raise NotImplementedError

    # ---- The rest is for all engines ---------------------------------------------------------------

    @property
    @abstractmethod
    def n_bits(self) -> int:
        """Number of bits of a code."""

    @property
    @abstractmethod
    def has_model(self) -> bool:
        """Whether there is a model."""

    @abstractmethod
    def _read(self, work: Callable[[], T], *, caller: str) -> T:
        """Call ``work``, which reads."""

    @abstractmethod
    def _check_open(self) -> None:
        """Raise if the store was closed."""

    @abstractmethod
    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects, in blocks."""

    @abstractmethod
    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects by their ids."""

    def search_codes(
        self,
        codes: CodeArray,
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        radius: int | None = None,
        modality: str | None = None,
        max_false_matches: float | None = None,
        expected_matches: float | None = None,
    ) -> list[list[Hit]]:
        """Find the objects nearest to packed codes, uint8 of shape (q, bytes); see :meth:`search`.

        ``modality`` is that of the queries. It is needed for chances and for ``max_false_matches``.
        """
        caller = self._caller("search_codes")
        if modality is not None:
            known_modality(modality, self.modalities, caller=caller)
        options = SearchOptions(
            into,
            k,
            where,
            radius,
            modality=modality,
            max_false_matches=max_false_matches,
            expected_matches=expected_matches,
        )
        return self._find(codes, options, None, caller=caller)

    def within_codes(
        self,
        codes: CodeArray,
        *,
        radius: int,
        into: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """Find all objects within a radius of packed codes, uint8 of shape (q, bytes); see :meth:`within`."""
        return self._find(
            codes, SearchOptions(into, None, where, radius), None, caller=self._caller("within_codes")
        )

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
        k = check_count(k, "k", caller=caller)
        if into is not None:
            into = known_modality(into, self.modalities, caller=caller)
        (item,) = self.get([id], modality=modality)
        names = [name for name in item.codes if name != into] or list(item.codes)
        if len(names) > 1:
            raise InputError(
                f"{caller}: {id!r} has codes of {', '.join(map(repr, names))}. "
                "Say which one is the query: modality=..."
            )
        options = SearchOptions(
            into,
            k + len(self.modalities),
            where,
            radius,
            modality=names[0],
            max_false_matches=max_false_matches,
            expected_matches=expected_matches,
        )
        (hits,) = self._find(item.codes[names[0]], options, None, caller=caller)
        return [hit for hit in hits if hit.id != item.id][:k]

    def match_limit(
        self,
        max_false_matches: float,
        *,
        modality: str,
        into: str,
        where: Mapping[str, Any] | None = None,
    ) -> FalseMatchLimit:
        """The radius that a search with ``max_false_matches`` uses; see :meth:`Collection.match_limit`."""
        caller = self._caller("match_limit")
        options = SearchOptions(into, 1, where, modality=modality, max_false_matches=max_false_matches)
        check_options(options, caller=caller)
        node = None if where is None else parse(where, caller=caller)
        self._check_open()
        names = [known_modality(m, self.modalities, caller=caller) for m in (modality, into)]
        n_items = self._read(lambda: self._count(names[1], node), caller=caller)
        model = self.model if self.has_model else None
        calibration = None if model is None else model.calibration
        couple = None if calibration is None else calibration.couple(names[0], names[1])
        return match_limit(model, couple, (modality, into), n_items, max_false_matches, caller=caller)

    def unknown_fields(self, where: Mapping[str, Any]) -> dict[str, list[str]]:
        """Which fields of a filter no payload has, and which could be meant; see :meth:`Collection.unknown_fields`."""
        caller = self._caller("unknown_fields")
        self._check_open()
        node = parse(where, caller=caller)

        def is_missing(name: str) -> bool:
            has_value = Not(OneOf(name, (None,)))
            return not any(self._count(modality, has_value) for modality in self.modalities)

        missing = self._read(lambda: [n for n in sorted(fields_of(node)) if is_missing(n)], caller=caller)
        first: list[Item] = next(iter(self.iterate(batch=1000)), []) if missing else []
        known = dict.fromkeys(name for item in first for name in item.payload)
        return {name: by_similarity(name, known) for name in missing}

    def _encode_and_search(self, query: Any, options: SearchOptions, *, raw: bool) -> list[list[Hit]]:
        self._check_open()
        function = "search_raw" if raw else "search"
        if options.words is True:
            self._require("words", function, "search the words of captions")
        if not self.capabilities.asymmetric and isinstance(options.rank, str):
            if options.rank == "asymmetric":
                self._require("asymmetric", function, "rank by the query's real values")
            if options.rank == "auto":
                options = replace(options, rank="hamming")
        return super()._encode_and_search(query, options, raw=raw)

    def _search_encoded(
        self,
        model: HashModel,  # noqa: ARG002 - the model of an open store never changes
        codes: CodeArray,
        options: SearchOptions,
        values: FloatArray | None = None,
    ) -> list[list[Hit]]:
        return self._find(codes, options, values, caller=self._caller("search"))

    def _find(
        self, codes: Any, options: SearchOptions, values: FloatArray | None, *, caller: str
    ) -> list[list[Hit]]:
        """Hits of all modalities that are searched, best first."""
        self._check_open()
        check_options(options, caller=caller)
        k = None if options.k is None else check_count(options.k, "k", caller=caller)
        if options.radius is not None or k is None:
            radius = check_count(options.radius, "radius", caller=caller, minimum=0)
            options = replace(options, radius=min(radius, self.n_bits))
        node = None if options.where is None else parse(options.where, caller=caller)
        array = np.atleast_2d(as_array(codes, f"{caller}: codes"))
        queries = _without_padding(check_codes(array, n_bits=self.n_bits, caller=caller), self.n_bits)
        names = self._chosen(options.into, caller)
        if not len(queries):
            return []
        model = self.model if options.modality is not None and self.has_model else None

        def work() -> list[list[Hit]]:
            # Counting takes time, and only a calibration needs it.
            judged = model is not None and model.calibration is not None
            sizes = [(name, self._count(name, node) if judged else 1) for name in names]
            judgements = judge(model, sizes, options, caller=caller)
            scale = None
            if model is not None and values is not None:
                scale = ranking_scale(model, names, options, caller=caller)
            found: list[list[Hit]] = [[] for _ in queries]
            for name, judgement in zip(names, judgements, strict=True):
                if judgement.radius is not None and judgement.radius < 0:
                    continue
                if scale is None or values is None or k is None:
                    rows = self._nearest(queries, name, k, judgement.radius, node)
                else:
                    rows = self._nearest_by_values(values, scale, name, k, judgement.radius, node)
                for hits, row in zip(found, rows, strict=True):
                    hits += [
                        Hit(
                            near.id,
                            near.distance,
                            near.payload,
                            name,
                            judgement.chance(near.distance),
                            near.score,
                        )
                        for near in row
                    ]
            return found

        found = self._read(work, caller=caller)
        if len(names) > 1:
            for hits in found:
                hits.sort(key=lambda hit: -(hit.score or 0.0))
        silent = options.silent or (False,) * len(found)
        return [[] if quiet else hits[:k] for hits, quiet in zip(found, silent, strict=True)]

    def _find_known(self, rows: NewRows, radius: int) -> tuple[KnownCodes, list[Any]]:
        """Which new codes are known, and the ids to which ``KnownCodes.stored`` refers."""
        index = _StoredCodes(self, rows.modality, self.n_bits, radius)
        return find_known(index, rows.codes, radius), index.ids

    def _chosen(self, modality: str | None, caller: str) -> tuple[str, ...]:
        """The given modality, or all if it is None."""
        return (
            self.modalities
            if modality is None
            else (known_modality(modality, self.modalities, caller=caller),)
        )


class _StoredCodes:
    """The codes of a store in the form of an index, as :func:`~diffhash.search.known_codes.find_known` asks it."""

    def __init__(self, store: EngineSearch, modality: str, n_bits: int, radius: int) -> None:
        self.n_bits = n_bits
        #: Ids of the objects that were found; the index calls them by their places in this list.
        self.ids: list[Id] = []
        self._store, self._modality, self._radius = store, modality, radius

    def __len__(self) -> int:
        return 1

    def search(self, queries: CodeArray, k: int) -> SearchResult:
        """The nearest object within the radius; a large distance if there is none."""
        found = self._store._nearest(queries, self._modality, k, min(self._radius, self.n_bits), None)
        ids: NDArray[np.int64] = np.zeros((len(queries), 1), dtype=np.int64)
        distances = np.full((len(queries), 1), np.iinfo(np.uint16).max, dtype=np.uint16)
        for row, near in enumerate(found):
            if near:
                ids[row, 0], distances[row, 0] = len(self.ids), near[0].distance
                self.ids.append(near[0].id)
        return SearchResult(ids, distances)


def _without_padding(codes: CodeArray, n_bits: int) -> CodeArray:
    """Codes whose padding bits are 0, as a search ignores them."""
    if not n_bits % 8 or not len(codes):
        return codes
    codes = codes.copy()
    codes[:, -1] &= (1 << n_bits % 8) - 1
    return codes
