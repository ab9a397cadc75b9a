"""Open and make stores by their address. An engine is imported when its scheme is first used.

How an engine is added:

1. Write ``stores/<engine>/`` with a subclass of :class:`.engine_store.EngineStore`, which implements the primitives
   that its base class lists, and with two functions:

   - ``open_store(address, *, writable, featurizers, kernel, timeout)`` opens a store. The engine reads the
     :class:`.store_description.StoreDescription` and the bytes of the model that it kept, and gets the model with
     ``description.load(data, ...)``.
   - ``create_store(address, new, *, overwrite, timeout)`` makes a store from a
     :class:`.store_description.NewStore`: it keeps ``new.description.to_json()`` and ``new.data``, all at once or
     not at all.

   Both take an :class:`.address.Address` and check ``address.options``, see :func:`check_options`.
2. Declare what it can do in :data:`.capabilities.ENGINES`.
3. Add its schemes to ``_ENGINES`` below, with the extra that installs its packages.
4. Add a factory to ``tests/stores/contract/conftest.py``: the whole contract suite then runs on it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import AddressError, MissingExtraError, ParameterError
from ..validation import check_number
from .address import Address, is_url, parse_address
from .store_description import describe_store

if TYPE_CHECKING:
    from ..hashers import BaseHasher
    from ..model import HashModel
    from .engine_store import EngineStore
    from .sqlite import Collection

__all__ = ["check_options", "create", "open"]


@dataclass(frozen=True)
class _Engine:
    """Where an engine is: its module, and the extra with the packages that the module imports."""

    module: str
    extra: str = ""
    packages: tuple[str, ...] = ()


#: Engines by the scheme of an address.
_ENGINES = {
    "memory": _Engine("memory"),
    "postgresql": _Engine("postgres", "postgres", ("psycopg", "psycopg_binary")),
    "postgres": _Engine("postgres", "postgres", ("psycopg", "psycopg_binary")),
    "milvus": _Engine("milvus", "milvus", ("pymilvus", "grpc")),
    "http": _Engine("http", "client", ("httpx",)),
    "https": _Engine("http", "client", ("httpx",)),
}
_SHOWN = "a path (.dh), postgresql://…, milvus://…, http://… and memory://"


def open(  # noqa: A001 - diffhash.open is its name
    address: str | os.PathLike[str],
    *,
    writable: bool = False,
    featurizers: Mapping[str, Any] | None = None,
    kernel: Any = None,
    timeout: float | None = None,
) -> Collection | EngineStore:
    """Open a store: a collection in a file, or one on a server.

    Parameters
    ----------
    address : path, or URL
        A path is a collection (.dh). ``postgresql://user@host/database?collection=photos`` is a collection in
        PostgreSQL, and ``milvus://host:19530/photos`` one in Milvus. Passwords can stand in the URL, or in the
        environment; they are never shown.
    writable : bool
        Open for writing.
    featurizers : dict by modality, optional
        Your own featurizers, as for :meth:`Collection.open`.
    kernel : function, or dict of functions by modality, optional
        Your own kernel or distance function, if the model was fitted with one.
    timeout : float, optional
        Seconds to wait: for another writer of a file (by default not at all), or for a server.

    Returns
    -------
    Collection, or another store
        All have the methods of :class:`diffhash.stores.Store`; ``store.capabilities`` tells what else it can do.

    Examples
    --------
    >>> import diffhash as dh, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "codes.dh"
    >>> dh.create(path, n_bits=8, modalities=("image",)).close()
    >>> with dh.open(path) as store:
    ...     len(store), store.capabilities.words
    (0, True)
    """
    caller = "diffhash.open"
    if not is_url(address):
        from .sqlite import Collection

        return Collection.open(
            address,
            writable=writable,
            timeout=0.0 if timeout is None else timeout,
            kernel=kernel,
            featurizers=featurizers,
        )
    parsed = parse_address(str(address), caller=caller)
    engine = _load(parsed, caller)
    seconds = _check_timeout(timeout, caller)
    opened: EngineStore = engine.open_store(
        parsed, writable=writable, featurizers=featurizers, kernel=kernel, timeout=seconds
    )
    return opened


def create(
    address: str | os.PathLike[str],
    hasher: BaseHasher | HashModel | None = None,
    *,
    n_bits: int | None = None,
    modalities: Sequence[str] | None = None,
    featurizers: Mapping[str, Any] | None = None,
    fused: str | None = None,
    words: str | Sequence[str] | None = None,
    overwrite: bool = False,
    timeout: float | None = None,
) -> Collection | EngineStore:
    """Make a new store and open it for writing.

    Parameters
    ----------
    address : path, or URL
        As for :func:`open`; ``memory://`` makes a store in memory.
    hasher : a fitted hasher or a HashModel, optional
        The model is kept beside the codes. Without it, give ``n_bits`` and ``modalities``.
    n_bits, modalities, featurizers, fused
        As for :meth:`Collection.create`.
    words : str or list of str, optional
        Payload fields that are captions. A file indexes their words. Other stores only remember the names, so that
        a copy in a file has the index.
    overwrite : bool
        Replace an existing collection. Anything else is never replaced.
    timeout : float, optional
        As for :func:`open`.

    Examples
    --------
    >>> import diffhash as dh, numpy as np
    >>> store = dh.create("memory://", n_bits=8, modalities=("image",))
    >>> store.add_codes(np.zeros((2, 1), dtype=np.uint8), modality="image")
    [0, 1]
    """
    caller = "diffhash.create"
    if not is_url(address):
        from .sqlite import Collection

        return Collection.create(
            address,
            hasher,
            n_bits=n_bits,
            modalities=modalities,
            overwrite=overwrite,
            timeout=0.0 if timeout is None else timeout,
            featurizers=featurizers,
            fused=fused,
            words=words,
        )
    parsed = parse_address(str(address), caller=caller)
    engine = _load(parsed, caller)
    seconds = _check_timeout(timeout, caller)
    new = describe_store(
        hasher,
        n_bits=n_bits,
        modalities=modalities,
        featurizers=featurizers,
        fused=fused,
        words=words,
        caller=caller,
    )
    made: EngineStore = engine.create_store(parsed, new, overwrite=overwrite, timeout=seconds)
    return made


def check_options(address: Address, known: Sequence[str], *, caller: str) -> dict[str, str]:
    """The parameters of a URL; an error if one is not known to the engine."""
    for name in address.options:
        if name not in known:
            raise AddressError(
                f"{caller}: {address.scheme}:// has no parameter {name!r:.60}. It has {', '.join(known)}."
            )
    return address.options


def _check_timeout(timeout: Any, caller: str) -> float | None:
    return None if timeout is None else check_number(timeout, "timeout", caller=caller, open_low=True)


def _load(address: Address, caller: str) -> Any:
    """The module of an engine; an error if there is none, or if a package of its extra is missing."""
    engine = _ENGINES.get(address.scheme)
    if engine is None:
        raise AddressError(f"{caller}: no engine is known for {address.scheme}://. An address is {_SHOWN}.")
    package = __name__.rpartition(".")[0]
    try:
        return import_module(f".{engine.module}", package)
    except ModuleNotFoundError as error:
        if error.name == f"{package}.{engine.module}":
            raise ParameterError(
                f"{caller}: this release of diffhash has no engine for {address.scheme}:// yet."
            ) from None
        if (error.name or "").partition(".")[0] not in engine.packages:
            raise
        raise MissingExtraError(
            f"{caller}: {address.scheme}:// needs {engine.packages[0]} ({error}). "
            f"Run: pip install 'diffhash[{engine.extra}]'"
        ) from error
