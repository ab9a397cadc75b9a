"""Stores in Milvus: ``milvus://HOST:PORT/NAME``. Needs the extra ``milvus``."""

from .store import MilvusStore, create_store, open_store

__all__ = ["MilvusStore", "create_store", "open_store"]
