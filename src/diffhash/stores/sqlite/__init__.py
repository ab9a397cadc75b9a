"""The collection: one SQLite file with the model, codes, ids and payloads."""

from .collection import Collection
from .maintenance import CollectionStats
from .verify import VerifyReport

__all__ = ["Collection", "CollectionStats", "VerifyReport"]
