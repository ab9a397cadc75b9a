"""Features and raw objects in front of a store: a model turns them into codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import scipy.sparse

from ..model import HashModel
from ..types import CodeArray
from .protocol import Hit, Id
from .search_options import SearchOptions

__all__ = ["HashedStore"]

T = TypeVar("T")


class HashedStore(ABC):
    """A store that has a model and therefore also takes features and raw objects.

    Objects are encoded without a lock, because that may take long. If the model was replaced
    meanwhile, they are encoded again: codes of two models cannot be compared.
    """

    @property
    @abstractmethod
    def model(self) -> HashModel:
        """The model that makes the codes."""

    @abstractmethod
    def _model_locked(self) -> AbstractContextManager[object]:
        """Context manager: the model cannot change inside it."""

    @abstractmethod
    def _search_encoded(
        self, model: HashModel, codes: CodeArray, options: SearchOptions
    ) -> list[list[Hit]] | None:
        """Search with codes that ``model`` made. Returns None if the store has another model now."""

    @abstractmethod
    def add_codes(
        self, codes: CodeArray, *, modality: str, ids: Any = None, payloads: Any = None
    ) -> list[Any]:
        """See :meth:`.protocol.Store.add_codes`."""

    @abstractmethod
    def upsert_codes(self, codes: CodeArray, *, modality: str, ids: Any, payloads: Any = None) -> list[Any]:
        """See :meth:`.protocol.Store.upsert_codes`."""

    def _encode_and_write(
        self, encode: Callable[[HashModel], CodeArray], write: Callable[[CodeArray], T]
    ) -> T:
        while True:
            model = self.model
            codes = encode(model)
            with self._model_locked():
                if self.model is model:
                    return write(codes)

    def _encode_and_search(
        self, encode: Callable[[HashModel], CodeArray], options: SearchOptions
    ) -> list[list[Hit]]:
        while True:
            model = self.model
            codes = encode(model)
            hits = self._search_encoded(model, codes, options)
            if hits is not None:
                return hits

    def add(
        self,
        features: Any,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their features.

        Parameters
        ----------
        features : array of shape (n, n_features), dense or scipy sparse
        modality : str
        ids : list of int or str, optional
            Unique, and new in this modality. All ids of a store are int, or all are str. By default
            the next whole numbers.
        payloads : list of dicts, optional
            Anything that JSON can hold. All modalities of an object share its payload. A dict replaces
            the payload; None leaves it unchanged.

        Returns
        -------
        list of ids
            When this returns, the objects are on the disk.
        """
        return self._encode_and_write(
            lambda model: model.encode(features, modality=modality),
            lambda codes: self.add_codes(codes, modality=modality, ids=ids, payloads=payloads),
        )

    def add_raw(
        self,
        raw: Any,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store raw objects (texts, pictures); the model's featurizer makes their features. See :meth:`add`."""
        return self._encode_and_write(
            lambda model: model.encode_raw(raw, modality=modality),
            lambda codes: self.add_codes(codes, modality=modality, ids=ids, payloads=payloads),
        )

    def upsert(
        self,
        features: Any,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their features and replace the codes that their ids have in this modality."""
        return self._encode_and_write(
            lambda model: model.encode(features, modality=modality),
            lambda codes: self.upsert_codes(codes, modality=modality, ids=ids, payloads=payloads),
        )

    def search(
        self, query: Any, *, modality: str, into: str | None = None, k: int = 10, where: Any = None
    ) -> list[list[Hit]]:
        """Find the objects whose codes are nearest to the codes of the queries.

        Parameters
        ----------
        query : array of shape (q, n_features) or (n_features,)
        modality : str
            Modality of the query.
        into : str, optional
            Modality to search in. By default all: an object with codes in two modalities can then be
            found twice.
        k : int
            Maximum number of hits for each query.
        where : dict, optional
            Filter on payloads: ``{"group": "arrow"}``, ``{"year": {"ge": 1990, "lt": 2000}}``,
            ``{"tag": {"in": ["a", "b"]}}``, ``{"or": [...]}``, ``{"and": [...]}``, ``{"not": {...}}``.
            A missing field is treated like a field that is None.

        Returns
        -------
        list of lists of Hit
            One list for each query, nearest first. At equal distance the object that was added first
            comes first.
        """
        if not scipy.sparse.issparse(query) and getattr(query, "ndim", 2) == 1:
            query = query.reshape(1, -1)
        options = SearchOptions(into, k, where)
        return self._encode_and_search(lambda model: model.encode(query, modality=modality), options)

    def search_raw(
        self, raw: Any, *, modality: str, into: str | None = None, k: int = 10, where: Any = None
    ) -> list[list[Hit]]:
        """Find objects with raw queries (texts, pictures); the model's featurizer makes their features."""
        options = SearchOptions(into, k, where)
        return self._encode_and_search(lambda model: model.encode_raw(raw, modality=modality), options)
