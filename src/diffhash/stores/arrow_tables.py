"""Objects of a store as a table of Arrow, and back: ids, modalities, codes and payloads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..files.json_values import plain_values
from ..search.arrow_codes import as_table, fixed_size_codes, import_pyarrow, reading_table, text_column
from ..validation import check_flag
from .payload_json import to_json
from .protocol import Item, Store

__all__ = ["add_arrow", "item_schema", "item_table", "to_arrow"]

_OWN_COLUMNS = ("id", "modality", "code", "payload")


def to_arrow(store: Store, *, modality: str | None = None) -> Any:
    r"""All codes of a store as a ``pyarrow.Table``.

    Parameters
    ----------
    store : Store
        A collection, or another store.
    modality : str, optional
        By default all modalities.

    Returns
    -------
    pyarrow.Table
        A row for each code: ``id`` (int64 or string), ``modality``, ``code`` (fixed-size binary) and ``payload``
        (JSON text). The same table as in a Parquet file of ``export``; :meth:`HammingIndex.from_arrow` and
        :func:`add_arrow` read it.

    Examples
    --------
    >>> import diffhash as dh
    >>> store = dh.stores.MemoryStore(n_bits=8, modalities=("image",))
    >>> _ = store.add_codes(np.array([[3], [5]], np.uint8), modality="image", payloads=[{"name": "sun"}, None])
    >>> to_arrow(store).column("code").to_pylist()
    [b'\x03', b'\x05']
    """
    pa = import_pyarrow("to_arrow")
    blocks = [item for block in store.iterate(modality) for item in block]
    string_ids = bool(blocks) and isinstance(blocks[0].id, str)
    schema = item_schema(pa, string_ids=string_ids, n_bits=store.n_bits)
    return item_table(pa, blocks, schema)


def item_schema(pa: Any, *, string_ids: bool, n_bits: int) -> Any:
    """Columns of the table of objects."""
    return pa.schema(
        [
            ("id", pa.string() if string_ids else pa.int64()),
            ("modality", pa.string()),
            ("code", pa.binary(-(-n_bits // 8))),
            ("payload", pa.string()),
        ],
        metadata={"diffhash.n_bits": str(n_bits)},
    )


def item_table(pa: Any, items: Iterable[Item], schema: Any) -> Any:
    """A row for each code of the objects."""
    rows = [
        {"id": item.id, "modality": modality, "code": code.tobytes(), "payload": to_json(item.payload)}
        for item in items
        for modality, code in item.codes.items()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def add_arrow(store: Store, table: Any, *, modality: str | None = None, replace: bool = False) -> int:
    """Store the codes and payloads of a table.

    Parameters
    ----------
    store : Store
        Its model must be the one that made the codes.
    table : pyarrow.Table, or anything with the Arrow interface (a polars frame, a Hugging Face dataset)
        The column ``code`` has binary values of one length, or lists of uint8. ``id`` has the ids; without it they
        count on. ``payload`` has JSON texts or structs; without it, all other columns are the payload.
    modality : str, optional
        Needed if the table has no column ``modality``.
    replace : bool
        Replace the codes of known objects, as ``upsert_codes`` does; otherwise they are an error.

    Returns
    -------
    int
        Number of codes that were stored.

    Notes
    -----
    The codes of one modality are stored together or not at all.

    Examples
    --------
    >>> import diffhash as dh, pyarrow as pa
    >>> store = dh.stores.MemoryStore(n_bits=8, modalities=("image",))
    >>> table = pa.table({"id": [7, 8], "code": pa.array([b"a", b"b"], pa.binary(1)), "name": ["sun", "star"]})
    >>> add_arrow(store, table, modality="image")
    2
    >>> store.get([8])[0].payload
    {'name': 'star'}
    """
    caller = "add_arrow"
    pa = import_pyarrow(caller)
    check_flag(replace, "replace", caller=caller)
    table = _as_table(pa, table, caller)
    names = table.column_names
    if "code" not in names:
        raise InputError(
            f"{caller}: the table needs a column 'code', it has {', '.join(names)[:200] or 'none'}."
        )
    if (modality is None) == ("modality" not in names):
        raise InputError(
            f"{caller}: give modality=..., or a table with a column 'modality'; "
            f"got {'both' if modality is not None else 'neither'}."
        )
    with reading_table(caller):
        codes = fixed_size_codes(pa, table.column("code"), caller=caller)
        ids = _ids(pa, table.column("id"), caller) if "id" in names else None
        modalities = (
            [modality] * len(codes)
            if modality is not None
            else text_column(pa, table.column("modality"), "modality", caller=caller)
        )
        payloads = _payloads(table, caller)
    distinct = list(dict.fromkeys(modalities))
    if ids is None and (replace or len(distinct) > 1):
        raise InputError(
            f"{caller}: codes of several modalities, or codes that replace others, need a column 'id'."
        )
    written: set[Any] = set()
    rows_of = {name: [row for row, each in enumerate(modalities) if each == name] for name in distinct}
    store_codes: Any = store.upsert_codes if replace else store.add_codes
    for name, rows in rows_of.items():
        chosen = None if ids is None else [ids[row] for row in rows]
        # The payload goes with the first code of an object.
        kept = [
            None if chosen is not None and chosen[place] in written else payloads[row]
            for place, row in enumerate(rows)
        ]
        written.update(chosen or ())
        all_rows = len(rows) == len(codes)
        store_codes(codes if all_rows else codes[np.array(rows)], modality=name, ids=chosen, payloads=kept)
    return len(codes)


def _as_table(pa: Any, table: Any, caller: str) -> Any:
    if type(table).__module__.partition(".")[0] == "datasets" and hasattr(table, "with_format"):
        table = table.with_format("arrow")[:]
    return as_table(pa, table, caller)


def _ids(pa: Any, column: Any, caller: str) -> list[Any]:
    if not pa.types.is_integer(column.type):
        return text_column(pa, column, "id", caller=caller)
    if column.null_count:
        raise InputError(f"{caller}: {column.null_count} rows have no id.")
    return list(column.to_pylist())


def _payloads(table: Any, caller: str) -> list[Mapping[str, Any] | None]:
    if "payload" not in table.column_names:
        others = [name for name in table.column_names if name not in _OWN_COLUMNS]
        columns = [plain_values(table.column(name), f"{caller}: the column {name!r}", 0) for name in others]
        rows = zip(*columns, strict=True)
        return [dict(zip(others, row, strict=True)) for row in rows] if others else [None] * table.num_rows
    found = []
    for row, value in enumerate(plain_values(table.column("payload"), f"{caller}: the column 'payload'", 0)):
        try:
            payload = json.loads(value) if isinstance(value, str | bytes) else value
        except (ValueError, RecursionError) as error:
            raise InputError(f"{caller}: the payload of row {row} is not JSON ({error!s:.100}).") from error
        if payload is not None and not isinstance(payload, Mapping):
            raise InputError(
                f"{caller}: the payload of row {row} must be an object of JSON or a struct, got "
                f"{type(payload).__name__}."
            )
        found.append(payload or None)
    return found
