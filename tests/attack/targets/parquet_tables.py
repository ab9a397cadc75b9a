"""Parquet tables with columns of every type."""

from __future__ import annotations

import datetime
import decimal
import functools
import io
import random
from typing import Any

__all__ = ["table_bytes"]


def table_bytes(rng: random.Random) -> bytes:
    """A Parquet file with a few columns, some of them unusual."""
    return _table(rng.randrange(60))


@functools.cache
def _table(seed: int) -> bytes:
    # Imported here: pyarrow starts threads, and only this target needs them.
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = random.Random(seed)
    columns = [_column(rng, pa) for _ in range(rng.randrange(1, 5))]
    names = [rng.choice(["a", "b", "x", "y", "id", "vector", "text", "", "\x1b[31m", "é"]) for _ in columns]
    buffer = io.BytesIO()
    table = pa.Table.from_arrays(columns, names=names)
    pq.write_table(
        table,
        buffer,
        compression=rng.choice(["none", "snappy", "zstd", "gzip"]),
        row_group_size=2,
        version="2.6",
        use_dictionary=rng.random() < 0.5,
    )
    return buffer.getvalue()


def _column(rng: random.Random, pa: Any) -> Any:
    far = pa.array([2**62, -(2**62), 0, None], type=pa.int64())
    return rng.choice(
        [
            lambda: pa.array([0.5, 1.0, -2.0, 3.0]),
            lambda: pa.array([0.5, 1.0, None, float("nan")]),
            lambda: pa.array([1, 2, 3, 4], type=pa.int32()),
            lambda: pa.array([0, 1, 2**64 - 1, 5], type=pa.uint64()),
            lambda: pa.array(["a", "b", "é", ""]),
            lambda: pa.array([b"\xff", b"", b"a", b"b"]),
            lambda: pa.array([[1.0, 2.0]] * 4),
            lambda: pa.array([[1.0], [1.0, 2.0], [], None]),
            lambda: pa.array([[1.0, 2.0]] * 4, type=pa.list_(pa.float32(), 2)),
            lambda: pa.array([[[1]], [[2]], [], None]),
            lambda: pa.array([{"a": 1, "b": "x"}] * 4),
            lambda: pa.array([[("k", 1)]] * 4, type=pa.map_(pa.string(), pa.int64())),
            lambda: pa.array(
                [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31), None, datetime.date(1, 1, 1)]
            ),
            lambda: pa.array([2**31 - 1, -(2**31), 0, None], type=pa.int32()).cast(pa.date32()),
            lambda: far.cast(pa.timestamp("us")),
            lambda: far.cast(pa.timestamp("ns", "Europe/Zurich")),
            lambda: far.cast(pa.timestamp("ms", "+23:59")),
            lambda: far.cast(pa.duration("us")),
            lambda: pa.array([1, 2, 3, None], type=pa.int64()).cast(pa.time64("us")),
            lambda: pa.array([decimal.Decimal("1.5")] * 4),
            lambda: pa.array(["a", "b", "a", None]).dictionary_encode(),
            lambda: pa.array([True, False, None, True]),
            lambda: pa.nulls(4),
            lambda: pa.array([1.0, 2.0, 3.0, 4.0]).cast(pa.float16()),
        ]
    )()
