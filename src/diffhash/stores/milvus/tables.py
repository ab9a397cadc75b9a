"""The Milvus collections that make a store: one for its description and model, and one for the codes of each modality.

``photos`` is kept in ``photos__model`` and ``photos__0``, ``photos__1``, … by the numbers of the modalities. A
collection of codes is made when the first code is added, because only then is it known whether ids are numbers or
strings.

The first rows of ``photos__model`` are the description, which never changes, and the state: the kind of ids and the
next number. The others are pieces of the model. The description is written last: a store without one is not complete.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pymilvus import DataType

from ...errors import (
    CollectionExistsError,
    CollectionFileError,
    CollectionNotFoundError,
    StoreServerError,
    StoreUnavailableError,
)
from ..store_description import NewStore, StoreDescription
from .connection import Connection

__all__ = ["MAX_TEXT", "State", "Tables"]

#: Longest string that Milvus can hold in a field, in bytes.
MAX_TEXT = 65_535
_MARK = "diffhash collection"
_DESCRIPTION, _STATE, _FIRST_PIECE = 0, 1, 16
_PIECE = 48_000
_PIECES_AT_ONCE = 200
_STRONG = {"consistency_level": "Strong"}


@dataclass(frozen=True)
class State:
    """What changes in a store besides its objects.

    Attributes
    ----------
    kind : str
        Kind of the ids: "int", "str", or "" before the first object is added.
    next_id : int
        Larger than all numbers that were ever ids.
    index : str
        Type of the indexes.
    n_lists : int
        Clusters of an index of type BIN_IVF_FLAT.
    """

    kind: str = ""
    next_id: int = 0
    index: str = "BIN_FLAT"
    n_lists: int = 1024


class Tables:
    """The Milvus collections of one store.

    Parameters
    ----------
    connection : Connection
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._name = connection.settings.name
        #: Numbers of the modalities that have a collection of codes; others may have got one since.
        self._existing: set[int] = set()

    @property
    def model_table(self) -> str:
        """Name of the Milvus collection with the description and the model."""
        return f"{self._name}__model"

    def code_table(self, number: int) -> str:
        """Name of the Milvus collection with the codes of a modality."""
        return f"{self._name}__{number}"

    # ---- A whole store -------------------------------------------------------------------------------

    def create(self, new: NewStore, *, overwrite: bool, caller: str) -> State:
        """Make an empty store."""
        shown, settings = self._connection.shown, self._connection.settings
        found = [name for name in self._connection.names(caller=caller) if self._is_part(name)]
        for name in found:
            if self._mark_of(name, caller) != _MARK:
                raise CollectionFileError(
                    f"{caller}: the Milvus collection {name!r} at {shown} belongs to something else. Choose another "
                    "name."
                )
        if found and not overwrite:
            raise CollectionExistsError(
                f"{caller}: {shown} exists already. Pass overwrite=True to replace it."
            )
        # The description first: without it, nobody takes the rest for a store.
        for name in sorted(found, reverse=True):
            self._connection.call("drop_collection", name, caller=caller)
        self._create_table(self.model_table, self._model_schema(), None, caller)
        self._wait_until_loaded([self.model_table], caller)
        state = State(index=settings.index, n_lists=settings.n_lists)
        pieces = [new.data[begin : begin + _PIECE] for begin in range(0, len(new.data), _PIECE)]
        texts = {_FIRST_PIECE + n: base64.b64encode(piece).decode() for n, piece in enumerate(pieces)}
        self._write_texts({**texts, _STATE: json.dumps(asdict(state))}, caller)
        self._write_texts({_DESCRIPTION: new.description.to_json()}, caller)
        return state

    def describe(self, *, caller: str) -> StoreDescription:
        """The description of the store; an error if there is none."""
        text = self._read_texts([_DESCRIPTION], caller, must_exist=True).get(_DESCRIPTION)
        if text is None:
            raise CollectionFileError(
                f"{caller}: {self._connection.shown} is not complete: whoever made it did not finish. Make it again "
                "with overwrite=True."
            )
        return StoreDescription.from_json(text, name=f"{caller}: {self._connection.shown}")

    def is_still(self, identity: str, *, caller: str) -> bool:
        """Whether the store is the one with this identity, and was not made again."""
        # A store that was made again is another Milvus collection, so no old row can be read, and a weak read is
        # enough. Only right after the store was made it may find nothing.
        for level in ("Eventually", "Strong"):
            rows = self._connection.call(
                "query",
                self.model_table,
                caller=caller,
                filter=f"id in [{_DESCRIPTION}]",
                output_fields=["text"],
                consistency_level=level,
            )
            if len(rows):
                return str(json.loads(rows[0]["text"])["identity"]) == identity
        return False

    def model_bytes(self, *, caller: str) -> bytes:
        """The bytes of the model; empty if there are none."""
        parts: list[bytes] = []
        while True:
            begin = _FIRST_PIECE + len(parts)
            texts = self._read_texts(range(begin, begin + _PIECES_AT_ONCE), caller)
            parts += [base64.b64decode(texts[number]) for number in sorted(texts)]
            if len(texts) < _PIECES_AT_ONCE:
                return b"".join(parts)

    def state(self, *, caller: str) -> State:
        """The state as it was written last."""
        text = self._read_texts([_STATE], caller).get(_STATE, "{}")
        try:
            return State(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise CollectionFileError(
                f"{caller}: {self._connection.shown} is damaged, or of a later release: its state cannot be "
                f"read ({error!s:.100})."
            ) from error

    def write_state(self, state: State, *, caller: str) -> None:
        """Replace the state."""
        self._write_texts({_STATE: json.dumps(asdict(state))}, caller)

    # ---- Codes ------------------------------------------------------------------------------------------

    def existing(self, numbers: Sequence[int], *, caller: str) -> list[int]:
        """Which of the modalities have a collection of codes."""
        if not self._existing.issuperset(numbers):
            there = set(self._connection.names(caller=caller))
            self._existing |= {number for number in numbers if self.code_table(number) in there}
        return [number for number in numbers if number in self._existing]

    def create_codes(self, number: int, n_bits: int, state: State, *, caller: str) -> None:
        """Make the collection of codes of a modality, if there is none."""
        name = self.code_table(number)
        schema = self._connection.schema(_MARK)
        if state.kind == "str":
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_TEXT)
        else:
            schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("code", DataType.BINARY_VECTOR, dim=(n_bits + 7) // 8 * 8)
        schema.add_field("payload", DataType.JSON)
        # One of the rows of an object, over all modalities, is its first: objects are counted by it.
        schema.add_field("first", DataType.BOOL)
        self._create_table(name, schema, state, caller)
        self._wait_until_loaded([name], caller)
        self._existing.add(number)

    def check_codes(self, number: int, n_bits: int, kind: str, *, caller: str) -> list[str]:
        """What is wrong with the schema of a collection of codes."""
        name = self.code_table(number)
        fields = self._connection.call("describe_collection", name, caller=caller)["fields"]
        found = {field["name"]: (field["type"], field.get("params", {}).get("dim")) for field in fields}
        expected = {
            "id": (DataType.VARCHAR if kind == "str" else DataType.INT64, None),
            "code": (DataType.BINARY_VECTOR, (n_bits + 7) // 8 * 8),
            "payload": (DataType.JSON, None),
            "first": (DataType.BOOL, None),
        }
        return [
            f"the field {field!r} of the Milvus collection {name!r} was changed"
            for field in expected
            if found.get(field) != expected[field]
        ]

    # ---- Parts --------------------------------------------------------------------------------------------

    def _is_part(self, name: str) -> bool:
        rest = name.removeprefix(f"{self._name}__")
        return rest != name and (rest == "model" or rest.isdecimal())

    def _mark_of(self, name: str, caller: str) -> str:
        return str(self._connection.call("describe_collection", name, caller=caller).get("description", ""))

    def _model_schema(self) -> Any:
        schema = self._connection.schema(_MARK)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("text", DataType.VARCHAR, max_length=MAX_TEXT)
        # Milvus wants a vector in every collection.
        schema.add_field("code", DataType.BINARY_VECTOR, dim=8)
        return schema

    def _create_table(self, name: str, schema: Any, state: State | None, caller: str) -> None:
        # If somebody else has just made the same one, the server says nothing.
        self._connection.call("create_collection", name, caller=caller, schema=schema, **_STRONG)
        kind = "BIN_FLAT" if state is None else state.index
        params = {"nlist": state.n_lists} if state is not None and kind == "BIN_IVF_FLAT" else {}
        index = self._connection.index("code", index_type=kind, metric_type="HAMMING", params=params)
        self._connection.call("create_index", name, index, caller=caller, sync=False)

    def _wait_until_loaded(self, names: Sequence[str], caller: str) -> None:
        """Load Milvus collections into memory, which takes the server about 3 s, however small they are."""
        for name in names:
            self._connection.call("load_collection", name, caller=caller, _async=True)
        deadline = time.monotonic() + self._connection.timeout
        for name in names:
            while self._connection.call("get_load_state", name, caller=caller)["state"].name != "Loaded":
                if time.monotonic() > deadline:
                    raise StoreUnavailableError(
                        f"{caller}: Milvus at {self._connection.shown} did not load {name!r} within "
                        f"{self._connection.timeout:g} s. timeout=... allows more time."
                    )
                time.sleep(0.05)

    def _write_texts(self, texts: dict[int, str], caller: str) -> None:
        rows = [{"id": number, "text": text, "code": b"\0"} for number, text in texts.items()]
        for begin in range(0, len(rows), _PIECES_AT_ONCE):
            self._connection.call(
                "upsert", self.model_table, rows[begin : begin + _PIECES_AT_ONCE], caller=caller
            )

    def _read_texts(self, numbers: Sequence[int], caller: str, *, must_exist: bool = False) -> dict[int, str]:
        shown = self._connection.shown
        if must_exist:
            names = self._connection.names(caller=caller)
            if self.model_table not in names:
                stores = sorted(name.removesuffix("__model") for name in names if name.endswith("__model"))
                there = f"The server has {', '.join(stores[:20])}." if stores else "The server has none."
                raise CollectionNotFoundError(f"{caller}: there is no collection at {shown}. {there}")
            if self._mark_of(self.model_table, caller) != _MARK:
                raise CollectionFileError(
                    f"{caller}: the Milvus collection {self.model_table!r} at {shown} belongs to something else."
                )
        try:
            rows = self._connection.call(
                "query",
                self.model_table,
                caller=caller,
                filter=f"id in {list(numbers)}",
                output_fields=["id", "text"],
                **_STRONG,
            )
        except StoreServerError as error:
            raise CollectionFileError(
                f"{caller}: {shown} is not a collection, or somebody has changed it ({error})."
            ) from error
        return {int(row["id"]): str(row["text"]) for row in rows}
