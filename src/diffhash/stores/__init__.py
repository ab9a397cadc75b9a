"""Stores of codes: one protocol, and one package for each engine."""

from .protocol import AddedIds, Hit, Id, Item, Store
from .sqlite import Collection, CollectionStats, VerifyReport
from .word_match import WordMatch

__all__ = [
    "AddedIds",
    "Collection",
    "CollectionStats",
    "Hit",
    "Id",
    "Item",
    "Store",
    "VerifyReport",
    "WordMatch",
]
