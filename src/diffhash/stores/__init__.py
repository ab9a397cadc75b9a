"""Stores of codes: one protocol, and one package for each engine. :mod:`.registry` tells how an engine is added."""

from .arrow_tables import add_arrow, to_arrow
from .capabilities import Capabilities
from .memory import MemoryStore
from .protocol import AddedIds, Hit, Id, Item, Store
from .registry import create, open  # noqa: A004 - diffhash.open is its name
from .reports import StoreStats, VerifyReport
from .sqlite import Collection, CollectionStats
from .word_match import WordMatch

__all__ = [
    "AddedIds",
    "Capabilities",
    "Collection",
    "CollectionStats",
    "Hit",
    "Id",
    "Item",
    "MemoryStore",
    "Store",
    "StoreStats",
    "VerifyReport",
    "WordMatch",
    "add_arrow",
    "create",
    "open",
    "to_arrow",
]
