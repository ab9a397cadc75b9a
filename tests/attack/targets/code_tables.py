"""Tables of codes, in memory and as Parquet files, with columns of every type and changed bytes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.validation import check_view

from ..case import Use, attempt
from ..mutate import mutate_bytes
from .parquet_tables import table_bytes

__all__ = ["make"]


def make(rng: random.Random, folder: Path) -> Use:
    """A table whose columns are called code, id, modality and payload, used as codes and as a view."""
    path = folder / "codes.parquet"
    data = table_bytes(rng)
    names = rng.sample(["code", "id", "modality", "payload", "x"], 5)
    changed = rng.random() < 0.3
    modality = rng.choice([None, None, "a", "b"])
    good = rng.random() < 0.5
    payload = rng.choice(["{}", "[]", '{"a": ' * 5000, "null", '{"a": NaN}', ""])

    def use() -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.ParquetFile(pa.BufferReader(data)).read()
        table = table.rename_columns(
            [names[k] if k < len(names) else f"c{k}" for k in range(table.num_columns)]
        )
        if good:
            codes = pa.array([b"a", b"b", b"c", b"d"], rng.choice([pa.binary(1), pa.binary()]))
            kept = [name for name in table.column_names if name != "code"]
            table = table.select(kept).append_column("code", codes)
            if rng.random() < 0.3 and "payload" not in kept:
                table = table.append_column("payload", pa.array([payload] * 4))
        pq.write_table(table, path)
        if changed:
            path.write_bytes(mutate_bytes(rng, path.read_bytes()))
        index = attempt(dh.HammingIndex.from_parquet, path, modality=modality)
        if index is not None:
            attempt(index.search, np.zeros((1, index.codes.shape[1]), np.uint8), 2)
            attempt(index.to_parquet, path)
        attempt(dh.HammingIndex.from_arrow, table, modality=modality)
        store = dh.stores.MemoryStore(n_bits=8, modalities=("a", "b"))
        attempt(dh.stores.add_arrow, store, table, modality=modality, replace=rng.random() < 0.5)
        attempt(dh.stores.to_arrow, store)
        attempt(check_view, table, caller="attack", modality="x")
        attempt(dh.Pairs.from_labels, table.column(0), table.column(0))
        return index is not None

    return use
