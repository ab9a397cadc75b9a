"""Features and raw objects in front of a store: a hasher turns them into codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import scipy.sparse

from ..hashers.base import BaseHasher
from ..types import CodeArray
from .protocol import Hit, Id

__all__ = ["HashedStore"]

T = TypeVar("T")


class HashedStore(ABC):
    """A store with a hasher before it."""

    @property
    @abstractmethod
    def hasher(self) -> BaseHasher:
        """The fitted model that makes the codes."""

    @abstractmethod
    def _held(self, *, writing: bool) -> AbstractContextManager[object]:
        """A while in which the model does not change, and one can write or read."""

    def _with_codes(
        self, encode: Callable[[BaseHasher], CodeArray], act: Callable[[CodeArray], T], *, writing: bool
    ) -> T:
        """Encode, while others may use the store, and act on the codes if the model is still the same by then."""
        while True:
            hasher = self.hasher
            codes = encode(hasher)
            with self._held(writing=writing):
                if self.hasher is hasher:
                    return act(codes)

    @abstractmethod
    def add_codes(
        self, codes: CodeArray, *, modality: str, ids: Any = None, payloads: Any = None
    ) -> list[Any]:
        """As :meth:`.store.Store.add_codes`."""

    @abstractmethod
    def upsert_codes(self, codes: CodeArray, *, modality: str, ids: Any, payloads: Any = None) -> list[Any]:
        """As :meth:`.store.Store.upsert_codes`."""

    @abstractmethod
    def search_codes(
        self, codes: CodeArray, *, into: str | None = None, k: int = 10, where: Any = None
    ) -> list[list[Hit]]:
        """As :meth:`.store.Store.search_codes`."""

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
            Unique, and new in this modality; one kind in a collection. By default the next whole numbers.
        payloads : list of dicts, optional
            What JSON can hold. All modalities of an object share its payload: a dict replaces it, None
            leaves it as it is.

        Returns
        -------
        list of ids
            When this returns, the objects are on the disk.
        """
        return self._with_codes(
            lambda hasher: hasher.encode(features, modality=modality),
            lambda codes: self.add_codes(codes, modality=modality, ids=ids, payloads=payloads),
            writing=True,
        )

    def add_raw(
        self,
        raw: Any,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store raw objects (texts, pictures): as :meth:`add`, by the model's own featurizer."""
        return self._with_codes(
            lambda hasher: hasher.encode_raw(raw, modality=modality),
            lambda codes: self.add_codes(codes, modality=modality, ids=ids, payloads=payloads),
            writing=True,
        )

    def upsert(
        self,
        features: Any,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their features, in place of what their ids have in this modality."""
        return self._with_codes(
            lambda hasher: hasher.encode(features, modality=modality),
            lambda codes: self.upsert_codes(codes, modality=modality, ids=ids, payloads=payloads),
            writing=True,
        )

    def search(
        self, query: Any, *, modality: str, into: str | None = None, k: int = 10, where: Any = None
    ) -> list[list[Hit]]:
        """Find the nearest objects of features.

        Parameters
        ----------
        query : array of shape (q, n_features) or (n_features,)
        modality : str
            Of the query.
        into : str, optional
            Modality to search in. By default all of them: an object that is stored in two can then be found twice.
        k : int
            Hits for each query, at most.
        where : dict, optional
            Filter on payloads: ``{"group": "arrow"}``, ``{"year": {"ge": 1990, "lt": 2000}}``,
            ``{"tag": {"in": ["a", "b"]}}``, ``{"or": [...]}``, ``{"and": [...]}``, ``{"not": {...}}``. A field that is
            missing is like one that is None.

        Returns
        -------
        list of lists of Hit
            One list for each query, nearest first; of equal distances what was added first.
        """
        if not scipy.sparse.issparse(query) and getattr(query, "ndim", 2) == 1:
            query = query.reshape(1, -1)
        return self._with_codes(
            lambda hasher: hasher.encode(query, modality=modality),
            lambda codes: self.search_codes(codes, into=into, k=k, where=where),
            writing=False,
        )

    def search_raw(
        self, raw: Any, *, modality: str, into: str | None = None, k: int = 10, where: Any = None
    ) -> list[list[Hit]]:
        """Find the nearest objects of raw ones (texts, pictures), by the model's own featurizer."""
        return self._with_codes(
            lambda hasher: hasher.encode_raw(raw, modality=modality),
            lambda codes: self.search_codes(codes, into=into, k=k, where=where),
            writing=False,
        )
