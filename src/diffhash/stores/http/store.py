"""HttpStore: a collection behind ``diffhash serve``, with the methods of all stores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...codes import check_codes, check_padding
from ...errors import InputError, ModelChangedError, ParameterError, ReadOnlyCollectionError, StoreServerError
from ...model import HashModel
from ...search.calibration import FalseMatchLimit
from ...types import CodeArray
from ...validation import check_count, known_modality
from ..address import Address
from ..capabilities import ENGINES, Capabilities
from ..engine_search import Neighbour
from ..engine_store import EngineStore, NewRows
from ..filter_syntax import Node, parse
from ..ids import Ids, read_ids
from ..payload_json import encode_payloads, to_json
from ..protocol import AddedIds, Id, Item
from ..ranking import check_options as check_search_options
from ..registry import check_options
from ..reports import StoreStats
from ..search_options import SearchOptions
from ..store_description import NewStore, StoreDescription
from .connection import Connection
from .searching import RemoteSearch

__all__ = ["HttpStore", "create_store", "open_store"]

T = TypeVar("T")
Encoded = TypeVar("Encoded")
#: Variables with tokens, as for the service.
_TOKEN, _WRITE_TOKEN = "DIFFHASH_TOKEN", "DIFFHASH_WRITE_TOKEN"
#: How often objects are encoded again because the service has another model.
_MODEL_CHANGES = 3


class HttpStore(RemoteSearch, EngineStore):
    """A store on another machine, or in another process; :func:`diffhash.open` makes it from ``http://…``.

    Searches run in the service. Objects that are added by their features are encoded here, with the model of the
    service, and sent as codes.

    Notes
    -----
    Threads may share a store. Calls that read are repeated if the connection fails; calls that write only if they
    have certainly not begun.
    """

    engine = "http"

    def __init__(
        self, connection: Connection, *, writable: bool, featurizers: Mapping[str, Any] | None, kernel: Any
    ) -> None:
        self._connection = connection
        self._featurizers, self._kernel = featurizers, kernel
        self._told = connection.read("GET", "/v1/collection", caller="diffhash.open")
        super().__init__(
            _description(self._told, connection.shown), None, address=connection.shown, writable=writable
        )
        if writable and not self._told["writable"]:
            raise ReadOnlyCollectionError(
                f"diffhash.open: the service at {self.address} does not write. Start it with --writable."
            )
        if featurizers and self.has_model:
            _ = self.model  # read now, so that a wrong featurizer raises here

    @property
    def capabilities(self) -> Capabilities:
        """What the store behind the service can do, as far as the service offers it."""
        behind, own = self._told["capabilities"], ENGINES[self.engine]
        same = {name: bool(behind.get(name)) for name in ("asymmetric", "fused", "transactions", "ordered")}
        return replace(own, **same)

    @property
    def has_model(self) -> bool:
        """Whether there is a model; without one only codes can be added and searched."""
        return self.description.has_model

    @property
    def model(self) -> HashModel:
        """The model of the service; it is fetched when it is first needed."""
        if self._model is None and self.has_model:
            self._check_open()
            data = self._connection.read_bytes("/v1/model", caller=self._caller("model"))
            self._model = self.description.load(
                data, name=self.address, kernel=self._kernel, featurizers=self._featurizers
            )
        return super().model

    def _encode_and_write(self, encode: Callable[[HashModel], Encoded], write: Callable[[Encoded], T]) -> T:
        for attempt in range(_MODEL_CHANGES + 1):
            try:
                return super()._encode_and_write(encode, write)
            except ModelChangedError:
                if attempt == _MODEL_CHANGES:
                    raise
                self._told = self._connection.read("GET", "/v1/collection", caller=self._caller("add"))
                self.description, self._model = _description(self._told, self.address), None
        raise AssertionError  # the last round returns or raises

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" before the first object is added."""
        return str(self._count_now()["id_kind"])

    @property
    def next_id(self) -> int:
        """The id of the next object that is added without one, if ids are whole numbers and nobody else adds."""
        self._check_open()
        told = self._connection.read("GET", "/v1/collection", caller=self._caller("next_id"))["next_id"]
        return super().next_id if told is None else int(told)

    def _count_now(self) -> Any:
        self._check_open()
        return self._connection.read("GET", "/v1/count", caller=self._caller("len"))

    def _count_objects(self) -> int:
        return int(self._count_now()["objects"])

    def _count(self, modality: str, where: Node | None) -> int:
        assert where is None  # match_limit, which needs it, asks the service
        return int(self.stats().n_codes[modality])

    def _put(
        self,
        codes: Any,
        modality: str,
        ids: Any,
        payloads: Any,
        *,
        replace: bool,
        caller: str,
        radius: int | None = None,
    ) -> list[Any]:
        self._check_writable(caller)
        modality = known_modality(modality, self.modalities, caller=caller)
        codes = check_codes(codes, n_bits=self.n_bits, caller=caller)
        check_padding(codes, self.n_bits, caller=caller)
        given = None if ids is None else read_ids(ids, caller=caller, unique=True)
        if given is not None and len(given) != len(codes):
            raise InputError(f"{caller}: {len(codes)} objects need {len(codes)} ids, got {len(given)}.")
        texts = encode_payloads(payloads, len(codes), caller=caller)
        if not len(codes) and radius is None:
            return []
        facts: dict[str, Any] = {"modality": modality, "codes": [code.tobytes().hex() for code in codes]}
        if given is not None:
            facts["ids"] = _listed(given)
        if radius is not None:
            facts["unless_within"] = radius
        if self._model is not None:
            facts["model_sha256"] = self.description.model_sha256
        body = to_json(facts)
        if payloads is not None:
            # The payloads are JSON already.
            joined = ",".join("null" if text is None else text for text in texts)
            body = f'{body[:-1]},"payloads":[{joined}]}}'
        answer = self._connection.write("PUT" if replace else "POST", "/v1/items", body, caller=caller)
        return list(answer["ids"]) if radius is None else AddedIds(answer["ids"], answer["added"])

    def delete(self, ids: Any, *, modality: str | None = None) -> int:
        """Remove objects, or their codes in one modality; see :meth:`Collection.delete`."""
        caller = self._caller("delete")
        self._check_writable(caller)
        wanted = read_ids(ids, caller=caller, unique=False)
        if modality is not None:
            modality = known_modality(modality, self.modalities, caller=caller)
        body = to_json({"ids": _listed(wanted), "modality": modality})
        return int(self._connection.write("POST", "/v1/delete", body, caller=caller)["deleted"])

    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects by their ids, in the order of the ids; see :meth:`Collection.get`."""
        caller = self._caller("get")
        self._check_open()
        wanted = _listed(read_ids(ids, caller=caller, unique=False))
        if modality is not None:
            modality = known_modality(modality, self.modalities, caller=caller)
        return self._get(wanted, modality, "error", caller)

    def _get(self, ids: list[Id], modality: str | None, missing: str, caller: str) -> list[Item]:
        found: list[Item] = []
        block = int(self._told["limits"]["write_batch"])
        for begin in range(0, len(ids), block):
            body = {"ids": ids[begin : begin + block], "modality": modality, "missing": missing}
            answer = self._connection.read("POST", "/v1/get", caller=caller, json=body)
            found += [_item(facts) for facts in answer["items"]]
        return found

    def _blocks(self, modalities: Sequence[str], batch: int) -> Iterator[list[Item]]:
        caller = self._caller("iterate")
        modality = modalities[0] if len(modalities) == 1 and len(self.modalities) > 1 else None
        params = {} if modality is None else {"modality": modality}
        ids = self._connection.read("GET", "/v1/ids", caller=caller, params=params)["ids"]
        for begin in range(0, len(ids), batch):
            # Objects that were removed meanwhile are left out, as in every store.
            block = self._get(ids[begin : begin + batch], modality, "skip", caller)
            if block:
                yield block

    def match_limit(
        self, max_false_matches: float, *, modality: str, into: str, where: Mapping[str, Any] | None = None
    ) -> FalseMatchLimit:
        """The radius that a search with ``max_false_matches`` uses; see :meth:`Collection.match_limit`."""
        caller = self._caller("match_limit")
        self._check_open()
        options = SearchOptions(into, 1, where, modality=modality, max_false_matches=max_false_matches)
        check_search_options(options, caller=caller)
        names = [known_modality(name, self.modalities, caller=caller) for name in (modality, into)]
        if where is not None:
            parse(where, caller=caller)
        body = to_json(
            {
                "max_false_matches": float(max_false_matches),
                "modality": names[0],
                "into": names[1],
                "where": where,
            }
        )
        headers = {"Content-Type": "application/json"}
        told = self._connection.read(
            "POST", "/v1/limit", caller=caller, content=body.encode(), headers=headers
        )
        return FalseMatchLimit(int(told["radius"]), float(told["false_matches"]))

    def search_arrays(
        self, codes: CodeArray, *, into: str, k: int = 10, where: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.uint16]]:
        """Find the nearest objects as arrays, without their payloads; see :meth:`Collection.search_arrays`."""
        caller = self._caller("search_arrays")
        self._check_open()
        into = known_modality(into, self.modalities, caller=caller)
        k = check_count(k, "k", caller=caller)
        queries = check_codes(codes, n_bits=self.n_bits, caller=caller)
        options = SearchOptions(into, k, where)
        parts = list(self._ask_codes(queries, options, caller, arrays=True))
        ids = [row for part in parts for row in part["ids"]]
        distances = [row for part in parts for row in part["distances"]]
        kind = object if any(isinstance(id_, str) for row in ids for id_ in row) else np.int64
        shape = (len(ids), len(ids[0]) if ids else 0)
        return np.array(ids, dtype=kind).reshape(shape), np.array(distances, dtype=np.uint16).reshape(shape)

    def stats(self) -> StoreStats:
        """Counts and sizes."""
        self._check_open()
        told = self._connection.read("GET", "/v1/collection", caller=self._caller("stats"))
        return StoreStats(
            address=self.address,
            engine=self.engine,
            model=None if told["model"] is None else told["model"]["method"],
            n_bits=told["n_bits"],
            n_objects=told["n_objects"],
            n_codes=told["n_codes"],
            fused_modality=told["fused_modality"],
            id_kind=told["id_kind"],
            size=told.get("size", told.get("file_bytes")),
        )

    def _close(self) -> None:
        self._connection.close()

    # ---- Primitives of other engines, which nothing calls here ---------------------------------------

    def _insert(self, rows: NewRows, *, replace: bool, caller: str) -> list[Any]:
        raise NotImplementedError

    def _remove(self, ids: Ids, modalities: Sequence[str]) -> int:
        raise NotImplementedError

    def _fetch(self, ids: Ids, modalities: Sequence[str]) -> list[Item | None]:  # noqa: ARG002 - of the base class
        """Objects, or None; ``id in store`` asks for one."""
        listed = _listed(ids)
        found = {item.id: item for item in self._get(listed, None, "skip", self._caller("get"))}
        return [found.get(id_) for id_ in listed]

    def _nearest(
        self, codes: CodeArray, modality: str, k: int | None, radius: int | None, where: Node | None
    ) -> list[list[Neighbour]]:
        raise NotImplementedError


def open_store(
    address: Address,
    *,
    writable: bool,
    featurizers: Mapping[str, Any] | None,
    kernel: Any,
    timeout: float | None,
) -> HttpStore:
    """Open a service; see :func:`diffhash.open`."""
    caller = "diffhash.open"
    options = check_options(address, ("token",), caller=caller)
    token = options.get("token") or address.password
    if token is None:
        token = (os.environ.get(_WRITE_TOKEN) if writable else None) or os.environ.get(_TOKEN)
    host = address.host or ""
    place = f"[{host}]" if ":" in host else host
    port = "" if address.port is None else f":{address.port}"
    path = f"/{address.path}" if address.path else ""
    url = f"{address.scheme}://{place}{port}{path}"
    connection = Connection(url, url, token=token or None, timeout=timeout)
    try:
        return HttpStore(connection, writable=writable, featurizers=featurizers, kernel=kernel)
    except BaseException:
        connection.close()
        raise


def create_store(
    address: Address,
    new: NewStore,  # noqa: ARG001 - what all engines take
    *,
    overwrite: bool,  # noqa: ARG001
    timeout: float | None,  # noqa: ARG001
) -> HttpStore:
    """Refuse: a service serves a store that exists."""
    raise ParameterError(
        f"diffhash.create: {address.scheme}:// is a service in front of a store that exists. Make a collection where "
        "it runs, and serve it: diffhash serve COLLECTION --writable."
    )


def _description(told: Any, shown: str) -> StoreDescription:
    try:
        return StoreDescription(
            int(told["n_bits"]),
            tuple(map(str, told["modalities"])),
            told["fused_modality"],
            str(told["model_sha256"]),
            "",
            # A service of an earlier version tells only the fields of a word index.
            tuple(map(str, told.get("caption_fields", told.get("word_fields", ())))),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreServerError(f"diffhash.open: {shown} is not a service of diffhash.") from error


def _listed(ids: Ids) -> list[Id]:
    return list(ids.strings) if ids.kind == "str" else ids.numbers.tolist()


def _item(facts: Any) -> Item:
    codes = {name: np.frombuffer(bytes.fromhex(code), np.uint8) for name, code in facts["codes"].items()}
    return Item(facts["id"], codes, facts["payload"])
