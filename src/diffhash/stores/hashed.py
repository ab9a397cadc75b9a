"""Features and raw objects in front of a store: a model turns them into codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ..errors import ParameterError
from ..featurizers.base import recognized, takes_texts
from ..model import HashModel
from ..native import pack_signs
from ..types import CodeArray, FloatArray
from .fused_objects import as_rows, fuse_objects, fuse_queries, fused_name, texts_of_query
from .protocol import Hit
from .ranking import check_options, ranking_scale
from .search_options import SearchOptions

__all__ = ["HashedStore"]

T = TypeVar("T")
Encoded = TypeVar("Encoded")


class HashedStore(ABC):
    """A store that has a model and therefore also takes features and raw objects.

    Objects are encoded without a lock, because that may take long. If the model was replaced
    meanwhile, they are encoded again: codes of two models cannot be compared.
    """

    @property
    @abstractmethod
    def modalities(self) -> tuple[str, ...]:
        """Modalities in which objects can have codes."""

    @property
    @abstractmethod
    def model(self) -> HashModel:
        """The model that makes the codes."""

    @abstractmethod
    def _model_locked(self) -> AbstractContextManager[object]:
        """Context manager: the model cannot change inside it."""

    @abstractmethod
    def _search_encoded(
        self,
        model: HashModel,
        codes: CodeArray,
        options: SearchOptions,
        values: FloatArray | None = None,
    ) -> list[list[Hit]] | None:
        """Search with codes that ``model`` made. Returns None if the store has another model now.

        ``values`` are the projections of the queries, if the search is going to rank by them.
        """

    @abstractmethod
    def add_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Any = None,
        payloads: Any = None,
        unless_within: int | None = None,
    ) -> list[Any]:
        """See :meth:`.protocol.Store.add_codes`."""

    @abstractmethod
    def upsert_codes(self, codes: CodeArray, *, modality: str, ids: Any, payloads: Any = None) -> list[Any]:
        """See :meth:`.protocol.Store.upsert_codes`."""

    def _encode_and_write(self, encode: Callable[[HashModel], Encoded], write: Callable[[Encoded], T]) -> T:
        while True:
            model = self.model
            codes = encode(model)
            with self._model_locked():
                if self.model is model:
                    return write(codes)

    def _encode_and_search(self, query: Any, options: SearchOptions, *, raw: bool) -> list[list[Hit]]:
        caller = f"{type(self).__name__}.{'search_raw' if raw else 'search'}"
        if options.modality is None and not isinstance(query, Mapping) and len(self.model.modalities) == 1:
            options = replace(options, modality=self.model.modalities[0])
        check_options(options, caller=caller)
        while True:
            model = self.model
            if isinstance(options.into, str) and options.into in model.encodes_as:
                options = replace(options, into=model.encodes_as[options.into])
            codes, values = self._encode_query(model, query, options, raw=raw, caller=caller)
            options = replace(options, silent=_silent(model, query, options))
            hits = self._search_encoded(model, codes, options, values)
            if hits is not None:
                return hits

    @property
    def fused_modality(self) -> str | None:
        """The modality that holds fused codes; None if there is none."""
        return None

    def add(
        self,
        features: Any,
        *,
        modality: str | None = None,
        ids: Any = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
        unless_within: int | None = None,
    ) -> list[Any]:
        """Store objects by their features.

        Parameters
        ----------
        features : array of shape (n, n_features), dense or scipy sparse, or a dict of these
            A dict has features of several modalities: each object gets one fused code from all that it has.
            This needs a collection with a modality of fused codes.
        modality : str
            May be left out for fused codes.
        ids : list of int or str, optional
            Unique, and new in this modality. All ids of a store are int, or all are str. By default
            the next whole numbers. With features of several modalities, row r of each is one object; or ids is a
            dict of lists by modality, and rows with the same id are one object, which may lack modalities and
            may have several rows in one.
        payloads : list of dicts, optional
            Anything that JSON can hold. All modalities of an object share its payload. A dict replaces
            the payload; None leaves it unchanged. With ids by modality there is one payload for each object, in
            the order in which the ids first occur.
        unless_within : int, optional
            Leave objects out that are known: a stored code of the same modality, or one that this call adds before
            them, is within this distance. Their ids and payloads are not used.

        Returns
        -------
        list of ids
            When this returns, the objects are on the disk. With ``unless_within`` it is an
            :class:`~diffhash.stores.AddedIds`: ``.added`` tells which rows were added, and the others have the id of
            the nearest known object.
        """
        write = partial(self.add_codes, unless_within=unless_within)
        return self._put_objects(features, modality, ids, payloads, write, raw=False, function="add")

    def add_raw(
        self,
        raw: Any,
        *,
        modality: str | None = None,
        ids: Any = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
        unless_within: int | None = None,
    ) -> list[Any]:
        """Store raw objects (texts, pictures); the model's featurizer makes their features. See :meth:`add`."""
        write = partial(self.add_codes, unless_within=unless_within)
        return self._put_objects(raw, modality, ids, payloads, write, raw=True, function="add_raw")

    def upsert(
        self,
        features: Any,
        *,
        modality: str | None = None,
        ids: Any,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their features and replace the codes that their ids have in this modality.

        See :meth:`add`, also for objects with features of several modalities.
        """
        write = self.upsert_codes
        return self._put_objects(features, modality, ids, payloads, write, raw=False, function="upsert")

    def _put_objects(
        self,
        given: Any,
        modality: str | None,
        ids: Any,
        payloads: Any,
        write: Callable[..., list[Any]],
        *,
        raw: bool,
        function: str,
    ) -> list[Any]:
        caller, is_dict = f"{type(self).__name__}.{function}", isinstance(given, Mapping)
        target = fused_name(modality, self.fused_modality, is_dict=is_dict, caller=caller)

        def encode(model: HashModel) -> tuple[CodeArray, Any]:
            if is_dict:
                return fuse_objects(model, given, ids, raw=raw, caller=caller)
            return (model.encode_raw if raw else model.encode)(given, modality=modality), ids

        def store(encoded: tuple[CodeArray, Any]) -> list[Any]:
            # The model cannot change here. A new encoder stores its codes among those of the old one.
            stored_as = self.model.encodes_as.get(str(target), target)
            return write(encoded[0], modality=stored_as, ids=encoded[1], payloads=payloads)

        return self._encode_and_write(encode, store)

    def search(
        self,
        query: Any,
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Any = None,
        radius: int | None = None,
        max_false_matches: float | None = None,
        expected_matches: float | None = None,
        rank: str = "auto",
    ) -> list[list[Hit]]:
        """Find the objects whose codes are nearest to the codes of the queries.

        Parameters
        ----------
        query : array of shape (q, n_features) or (n_features,), or a dict of these
            A dict has features of several modalities, such as a picture with words: row r of each is one
            query, whose code is fused from them. The model must be calibrated.
        modality : str
            Modality of the query. Left out for a query of several modalities.
        into : str, optional
            Modality to search in. By default all: an object with codes in two modalities can then be
            found twice.
        k : int
            Maximum number of hits for each query.
        where : dict, optional
            Filter on payloads: ``{"group": "arrow"}``, ``{"year": {"ge": 1990, "lt": 2000}}``,
            ``{"tag": {"in": ["a", "b"]}}``, ``{"or": [...]}``, ``{"and": [...]}``, ``{"not": {...}}``.
            A missing field is treated like a field that is None.
        radius : int, optional
            Only hits at most this far away; :meth:`within` finds all of them.
        max_false_matches : float, optional
            Find only objects within a radius in which a query has, on average, at most so many wrong hits.
            The answer may be empty: nothing matches. The model must be calibrated.
        expected_matches : float, optional
            How many of the items that are searched belong to a query, for ``hit.chance``. By default 1 for
            models of pairs, and the share of a class for models of labels.
        rank : {"auto", "hamming", "asymmetric"}
            Order of the hits: by Hamming distance, or by the query's real values, which tell how sure each bit
            is. In the second way the larger of 1,000 and 10 k nearest objects are ranked. "auto" takes it
            if the calibration found more held-out objects by it.

        Returns
        -------
        list of lists of Hit
            One list for each query, nearest first. At equal distance the object that was added first
            comes first. ``hit.score`` is what the order is by.

        Raises
        ------
        CalibrationError
            If ``max_false_matches`` cannot be promised: the model is not calibrated, or from too few pairs.
        """
        options = SearchOptions(
            into,
            k,
            where,
            radius,
            modality=modality,
            max_false_matches=max_false_matches,
            expected_matches=expected_matches,
            rank=rank,
        )
        return self._encode_and_search(query, options, raw=False)

    def search_raw(
        self,
        raw: Any,
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Any = None,
        radius: int | None = None,
        max_false_matches: float | None = None,
        expected_matches: float | None = None,
        rank: str = "auto",
        words: bool | None = None,
    ) -> list[list[Hit]]:
        """Find objects with raw queries (texts, pictures); the model's featurizer makes their features.

        A dict of lists by modality asks with all of them, as in :meth:`search`.

        Parameters
        ----------
        raw : list of texts or pictures, or a dict of these
        modality, into, k, where, radius
            See :meth:`search`. A radius limits what codes find, and not what words find.
        words : bool, optional
            Whether texts are also matched with the words of captions. By default they are, if the store keeps
            words. A text that the featurizer does not know at all is only matched with words: its code says
            nothing. If no caption has its words either, nothing is found. In a query of several modalities
            the words of its text are matched in the same way, and a text that is not known takes no part in the
            fused code.

        Returns
        -------
        list of lists of Hit
            One list for each query. With words, the order is by both (:func:`.rank_fusion.fuse_rankings`), and
            ``hit.found_by`` says what found an object.
        """
        texts = texts_of_query(self.model, raw)
        options = SearchOptions(
            into,
            k,
            where,
            radius,
            modality=modality,
            max_false_matches=max_false_matches,
            expected_matches=expected_matches,
            rank=rank,
            words=words,
            texts=texts,
        )
        return self._encode_and_search(raw, options, raw=True)

    def within(
        self,
        query: Any,
        *,
        radius: int,
        modality: str | None = None,
        into: str | None = None,
        where: Any = None,
    ) -> list[list[Hit]]:
        """Find all objects within a radius of the queries, nearest first.

        The other parameters are those of :meth:`search`. With packed codes use ``within_codes``.
        """
        options = SearchOptions(into, None, where, radius, modality=modality, rank="hamming")
        return self._encode_and_search(query, options, raw=False)

    def within_raw(
        self,
        raw: Any,
        *,
        radius: int,
        modality: str | None = None,
        into: str | None = None,
        where: Any = None,
    ) -> list[list[Hit]]:
        """Find all objects within a radius of raw queries (texts, pictures); see :meth:`within`."""
        options = SearchOptions(into, None, where, radius, modality=modality, rank="hamming")
        return self._encode_and_search(raw, options, raw=True)

    def _encode_query(
        self, model: HashModel, query: Any, options: SearchOptions, *, raw: bool, caller: str
    ) -> tuple[CodeArray, FloatArray | None]:
        """Codes of queries, and their real values if the search ranks by them."""
        modality = options.modality
        if isinstance(query, Mapping):
            if options.rank == "asymmetric":
                raise ParameterError(
                    f'{caller}: rank="asymmetric" is for queries of one modality, got {len(query)}. Leave it out.'
                )
            return fuse_queries(model, query, modality, self.fused_modality, raw=raw, caller=caller), None
        into = self.modalities if options.into is None else (options.into,)
        if ranking_scale(model, into, options, caller=caller) is None:
            encode = model.encode_raw if raw else model.encode
            codes = encode(query if raw else as_rows(query), modality=modality)
            return codes, None
        features = model.featurize(query, modality) if raw else as_rows(query)
        values = model.project(features, modality)
        return pack_signs(values), values


def _silent(model: HashModel, query: Any, options: SearchOptions) -> tuple[bool, ...] | None:
    """Which queries the featurizer knows nothing of, so that their codes say nothing; None if they are not texts."""
    if options.texts is None:
        return None
    if isinstance(query, Mapping):
        return (False,) * len(options.texts)  # the other modalities say something
    featurizer = model.featurizers.get(options.modality or "")
    if not takes_texts(featurizer):
        return None
    return tuple(not known for known in recognized(featurizer, options.texts))
