"""Everything that is attacked, by name."""

from __future__ import annotations

from ..case import Target
from ..crashes import kills, power
from . import (
    code_tables,
    collection_calls,
    collection_files,
    collection_sql,
    command_line,
    featurizer_settings,
    fitting,
    index_files,
    model_files,
    native_calls,
    pictures,
    readers,
)

__all__ = ["CRASH_TARGETS", "TARGETS"]

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("model", model_files.make, quick=300),
        Target("collection-bytes", collection_files.make, quick=150),
        Target("collection-sql", collection_sql.make, quick=200),
        Target("collection-calls", collection_calls.make, quick=60),
        Target("index", index_files.make, quick=300),
        Target("npy", readers.make_npy, quick=300),
        Target("npz", readers.make_npz, quick=200),
        Target("csv", readers.make_csv, quick=200),
        Target("jsonl", readers.make_jsonl, quick=200),
        Target("parquet", readers.make_parquet, quick=200),
        Target("code-table", code_tables.make, quick=150),
        Target("featurizer-settings", featurizer_settings.make, quick=100),
        Target("shards", readers.make_shards, quick=60),
        Target("dataset", readers.make_dataset, quick=100),
        # A picture may take 400 MB while it is decoded, and a little more for what is made from it.
        Target("picture", pictures.make, quick=200, megabytes=450),
        Target("large-picture", pictures.make_large, quick=6, megabytes=450),
        Target("native", native_calls.make, quick=300),
        Target("kernels", native_calls.make_raw, quick=300),
        Target("fit", fitting.make, quick=80),
        Target("command", command_line.make, quick=60),
        Target("kill", kills.make, quick=40, limited=False),
        Target("power", power.make, quick=60, limited=False),
    )
}
#: Targets whose worker needs the library that sees system calls.
CRASH_TARGETS = frozenset({"kill", "power"})
