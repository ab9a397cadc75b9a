"""Collections in PostgreSQL, with the extension pgvector."""

from .store import PostgresStore, create_store, open_store

__all__ = ["PostgresStore", "create_store", "open_store"]
