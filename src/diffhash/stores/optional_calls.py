"""Calls that not every store can do. An engine that can overrides them, and says so in its capabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from .capabilities import Capabilities, require

__all__ = ["OptionalCalls"]


class OptionalCalls:
    """Calls that raise :class:`~diffhash.errors.UnsupportedCallError`, which names the stores that can do them."""

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the store can do."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where the store is, without passwords."""

    @property
    def word_fields(self) -> tuple[str, ...]:
        """Payload fields whose words can be searched; empty if there is no word index."""
        return ()

    def duplicates(self, *_: Any, **__: Any) -> Any:
        """All pairs of objects within a radius, if the store can; see :meth:`Collection.duplicates`."""
        raise self._unsupported("duplicates", "duplicates", "find near-duplicates")

    def search_words(self, *_: Any, **__: Any) -> Any:
        """Objects by the words of their captions, if the store can; see :meth:`Collection.search_words`."""
        raise self._unsupported("words", "search_words", "search the words of captions")

    def match_words(self, *_: Any, **__: Any) -> Any:
        """Which words of a text captions contain, if the store can; see :meth:`Collection.match_words`."""
        raise self._unsupported("words", "match_words", "search the words of captions")

    def index_words(self, *_: Any, **__: Any) -> Any:
        """Index the words of captions, if the store can; see :meth:`Collection.index_words`."""
        raise self._unsupported("words", "index_words", "index the words of captions")

    def refit(self, *_: Any, **__: Any) -> Any:
        """Replace the model, if the store can; see :meth:`Collection.refit`."""
        raise self._unsupported("new_model", "refit", "replace its model")

    def extend(self, *_: Any, **__: Any) -> Any:
        """Take over a model with more modalities, if the store can; see :meth:`Collection.extend`."""
        raise self._unsupported("new_model", "extend", "replace its model")

    def _caller(self, function: str) -> str:
        return f"{type(self).__name__}.{function}"

    def _require(self, capability: str, function: str, what: str) -> None:
        """Raise unless the store has a capability."""
        store = f"{type(self).__name__} at {self.address}"
        require(self.capabilities, capability, store=store, caller=self._caller(function), what=what)

    def _unsupported(self, capability: str, function: str, what: str) -> Exception:
        self._require(capability, function, what)
        return NotImplementedError(f"{type(self).__name__} declares {capability!r} and lacks {function}")
