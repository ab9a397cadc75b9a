"""Packages whose public names are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import Any

__all__ = ["lazy_getattr"]

# One lock for all packages: threads that import parts of a package at the same time can otherwise
# see modules that are only half imported.
_importing = RLock()


def lazy_getattr(package: str, owners: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    owners : dict
        The module that defines each name, relative to the package. Other names are looked up as
        modules of the package.
    """

    def get(name: str) -> Any:
        with _importing:
            if name in owners:
                return getattr(import_module(f".{owners[name]}", package), name)
            if not name.startswith("_") and find_spec(f"{package}.{name}"):
                return import_module(f".{name}", package)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
