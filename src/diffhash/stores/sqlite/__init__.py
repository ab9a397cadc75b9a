"""The collection: one SQLite file with the model, codes, ids and payloads."""

from .collection import Collection
from .maintenance import CollectionStats

__all__ = ["Collection", "CollectionStats"]
