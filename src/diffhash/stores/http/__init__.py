"""The client of ``diffhash serve``: a store over HTTP."""

from .store import HttpStore, create_store, open_store

__all__ = ["HttpStore", "create_store", "open_store"]
