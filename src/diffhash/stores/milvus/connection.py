"""The connection to a Milvus server: addresses, time limits, repeated calls, and errors of ours.

Every request that this engine sends can be repeated: rows are written with Milvus' upsert, never with its insert, which
would store a row twice. So a request is repeated, with growing pauses, while the server cannot be reached or loads its
collections, until the time limit has passed.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
import pymilvus

from ...errors import (
    AddressError,
    CollectionError,
    CollectionNotFoundError,
    StoreServerError,
    StoreUnavailableError,
)
from ..address import Address
from ..registry import check_options

__all__ = ["Connection", "Settings", "read_settings"]

T = TypeVar("T")
DEFAULT_TIMEOUT = 30.0
_DEFAULT_PORT = 19530
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_INDEXES = {"flat": "BIN_FLAT", "ivf": "BIN_IVF_FLAT"}
_LEVELS = {"strong": "Strong", "bounded": "Bounded"}
_OPTIONS = ("consistency", "database", "index", "nlist", "nprobe", "tls")

# Codes of Milvus' errors.
_NOT_CONNECTED, _RATE_LIMIT, _NOT_FOUND, _NOT_LOADED = 2, 8, 100, 101
#: Texts in errors of a server that has just started, or whose parts do not know each other yet.
_STARTING = re.compile(
    r"not loaded|not ready|no available|not found in .*cache|node offline|not serving", re.IGNORECASE
)
_DENIED = re.compile(r"auth|permission|privilege", re.IGNORECASE)


@dataclass(frozen=True)
class Settings:
    """What an address says.

    Attributes
    ----------
    name : str
        Name of the store.
    uri, token, database : str
    level : str
        Consistency of reads: "Strong" or "Bounded".
    index : str
        Type of the index of a new store.
    n_lists, n_probes : int or None
        Clusters of BIN_IVF_FLAT, and how many of them a search reads; None: all.
    """

    name: str
    uri: str
    token: str
    database: str
    level: str
    index: str
    n_lists: int
    n_probes: int | None

    def __repr__(self) -> str:
        return f"Settings({self.uri}, {self.name})"


def read_settings(address: Address, *, caller: str) -> Settings:
    """Read ``milvus://USER:PASSWORD@HOST:PORT/NAME?OPTION=VALUE``.

    The password, or a token, may also be in the environment: ``MILVUS_TOKEN``, or ``MILVUS_USER`` and
    ``MILVUS_PASSWORD``.

    Examples
    --------
    >>> from diffhash.stores.address import parse_address
    >>> address = parse_address("milvus://localhost/photos?consistency=bounded", caller="open")
    >>> settings = read_settings(address, caller="open")
    >>> settings.uri, settings.name, settings.level
    ('http://localhost:19530', 'photos', 'Bounded')
    """
    options = check_options(address, _OPTIONS, caller=caller)
    if not address.host or not _NAME.fullmatch(address.path):
        raise AddressError(
            f"{caller}: an address of Milvus is milvus://HOST:PORT/NAME, and the name has letters a to z, digits and _ "
            f"(at most 200). Got the name {address.path!r:.60}."
        )
    tls = _choice(options.get("tls", "false"), {"true": "https", "false": "http"}, "tls", caller)
    host = f"[{address.host}]" if ":" in address.host else address.host
    user = address.user or os.environ.get("MILVUS_USER", "")
    password = address.password or os.environ.get("MILVUS_PASSWORD", "")
    n_probes = options.get("nprobe")
    return Settings(
        name=address.path,
        uri=f"{tls}://{host}:{address.port or _DEFAULT_PORT}",
        token=f"{user}:{password}" if user else os.environ.get("MILVUS_TOKEN", ""),
        database=options.get("database", ""),
        level=_choice(options.get("consistency", "strong"), _LEVELS, "consistency", caller),
        index=_choice(options.get("index", "flat"), _INDEXES, "index", caller),
        n_lists=_count(options.get("nlist", "1024"), "nlist", caller),
        n_probes=None if n_probes is None else _count(n_probes, "nprobe", caller),
    )


def _choice(given: str, choices: dict[str, str], name: str, caller: str) -> str:
    if given.lower() not in choices:
        raise AddressError(f"{caller}: {name} is {' or '.join(choices)}, got {given!r:.60}.")
    return choices[given.lower()]


def _count(given: str, name: str, caller: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", given) or int(given) > 65536:
        raise AddressError(f"{caller}: {name} is a whole number from 1 to 65536, got {given!r:.60}.")
    return int(given)


class Connection:
    """A client of a Milvus server.

    Parameters
    ----------
    settings : Settings
    shown : str
        The address for people, without a password.
    timeout : float or None
        Seconds for one request, its repetitions included; None: 30.
    caller : str
    """

    def __init__(self, settings: Settings, *, shown: str, timeout: float | None, caller: str) -> None:
        self.settings = settings
        self.shown = shown
        self.timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        _silence_client()
        try:
            self._client = pymilvus.MilvusClient(
                uri=settings.uri,
                token=settings.token,
                db_name=settings.database,
                timeout=self.timeout,
                dedicated=True,
            )
            self.version = str(self._client.get_server_version(timeout=self.timeout)).lstrip("v")
        except Exception as error:
            raise self._translated(error, caller, "connect") from None
        if _numbers(self.version) < (2, 3):
            self.close()
            raise StoreServerError(
                f"{caller}: the server at {shown} is Milvus {self.version:.40}; 2.3 or later is needed, which has "
                "JSON fields and upsert."
            )

    def call(self, method: str, name: str, *args: Any, caller: str, **options: Any) -> Any:
        """Call a method of the client for a Milvus collection, until it succeeds or the time is over."""
        function: Callable[..., Any] = getattr(self._client, method)
        deadline, pause = time.monotonic() + self.timeout, 0.05
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            try:
                return function(name, *args, timeout=left, **options)
            except Exception as error:
                if not _passes(error) or time.monotonic() + pause > deadline:
                    raise self._translated(error, caller, method) from None
                if _code(error) == _NOT_LOADED:
                    self._load_again(name)
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def _load_again(self, name: str) -> None:
        """Ask for a collection that was released; one that the server loads after its start needs no more than time."""
        try:
            self._client.load_collection(name, timeout=self.timeout, _async=True)
        except (pymilvus.MilvusException, grpc.RpcError):
            return

    def iterator(self, name: str, *, caller: str, **options: Any) -> Any:
        """A query iterator of the client; its pages are read with :meth:`page`."""
        return self.call("query_iterator", name, caller=caller, **options)

    def page(self, iterator: Any, *, caller: str) -> list[dict[str, Any]]:
        """The next rows of an iterator. The client does not repeat this: a lost connection ends it."""
        try:
            return list(iterator.next())
        except Exception as error:
            raise self._translated(error, caller, "read") from None

    def schema(self, description: str) -> Any:
        """A schema without fields."""
        return self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=description)

    def index(self, field: str, **options: Any) -> Any:
        """Parameters of an index."""
        found = self._client.prepare_index_params()
        found.add_index(field, **options)
        return found

    def names(self, *, caller: str) -> list[str]:
        """Names of all Milvus collections."""
        try:
            return [str(name) for name in self._client.list_collections(timeout=self.timeout)]
        except Exception as error:
            raise self._translated(error, caller, "list_collections") from None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _translated(self, error: Exception, caller: str, what: str) -> Exception:
        """An error of ours. The text of the client never holds the token; the address is shown without it."""
        if not isinstance(error, pymilvus.MilvusException | grpc.RpcError):
            return error
        code, text = _code(error), _text(error)
        where = f"{caller}: Milvus at {self.shown}"
        if code == _NOT_FOUND:
            return CollectionNotFoundError(
                f"{where} no longer has this collection: somebody has removed it or a part of it ({text})."
            )
        if code in ("UNAUTHENTICATED", "PERMISSION_DENIED") or (
            _DENIED.search(text) and code != "UNAVAILABLE"
        ):
            return StoreUnavailableError(
                f"{where} has refused the user, the password or the rights ({what}: {text}). Give them in the "
                "address, or in MILVUS_USER and MILVUS_PASSWORD, or MILVUS_TOKEN."
            )
        if code == "DEADLINE_EXCEEDED":
            return StoreUnavailableError(
                f"{where} has not answered within {self.timeout:g} s ({what}). Whether it has done it is not known; "
                "repeating the call does no harm. timeout=... allows more time."
            )
        if _passes(error):
            return StoreUnavailableError(
                f"{where} cannot be reached, or was lost ({what}: {text}). Is the server running, and the address "
                "right? Repeating the call does no harm."
            )
        return StoreServerError(f"{where} has refused a request ({what}, code {code}: {text}).")


def _code(error: Exception) -> int | str:
    """Milvus' code, or the name of gRPC's."""
    code = error.code() if isinstance(error, grpc.RpcError) else getattr(error, "code", 0)
    return code.name if isinstance(code, grpc.StatusCode) else int(code)


def _text(error: Exception) -> str:
    text = error.details() if isinstance(error, grpc.RpcError) else getattr(error, "message", str(error))
    return " ".join(str(text or "no reason given").split())[:300]


def _passes(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, CollectionError) or not isinstance(error, pymilvus.MilvusException | grpc.RpcError):
        return False
    code = _code(error)
    return code in (
        _NOT_CONNECTED,
        _RATE_LIMIT,
        _NOT_LOADED,
        "UNAVAILABLE",
        "INTERNAL",
        "UNKNOWN",
        "CANCELLED",
    ) or bool(code != _NOT_FOUND and _STARTING.search(_text(error)))


def _numbers(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _silence_client() -> None:
    """The client writes a stack trace to stderr for each error. We raise the error, which is enough."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("pymilvus"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
