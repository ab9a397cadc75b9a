"""``fit`` from folders of shards, on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ..workflows.fitting import check_fit_options
from ..workflows.learn_model import make_hasher
from ..workflows.model_files import describe_model
from ..workflows.options import FileName, LearningOptions, OptionError, PairFiles
from ..workflows.outputs import check_model_output
from ..workflows.pair_files import read_pair_files
from ..workflows.progress import Progress, Step, report
from ..workflows.results import FitResult
from .clients import connected, dashboard_link
from .dask_arrays import source_of_blocks
from .dask_import import cluster_errors
from .shards import ShardBlocks, open_shards

__all__ = ["fit_shards"]

#: Bytes of the features of all views in a block. Arrays of this size are below the limit from which malloc asks the
#: system for new memory every time, see MALLOC_SETTINGS.
BLOCK_BYTES = 1 << 25


def fit_shards(
    views: Mapping[str, FileName],
    out: FileName,
    *,
    scheduler: str = "local",
    n_workers: int | None = None,
    pair_files: PairFiles | None = None,
    learning: LearningOptions | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> FitResult:
    """Learn a model from folders of shards on a cluster, and save it.

    Parameters
    ----------
    views : dict of folders by modality
        Each has ``.npy``, ``.parquet`` or ``.zarr`` shards, which the workers can read under the same name. Sorted by
        name, they are the rows of the modality.
    out : file
        The new model (.dhm), written by this process.
    scheduler : str
        Address of a Dask scheduler, or "local".
    n_workers : int, optional
        Number of processes of a local cluster.
    pair_files : PairFiles, optional
        Which rows belong together. By default row r of every view is one object. Labels, ids and pairs are read by this
        process; row numbers count the rows of all shards.
    learning : LearningOptions, optional
    overwrite : bool
        Replace an existing model.
    progress : function, optional
        Called with a :class:`~diffhash.workflows.Step`, in another thread.
    tell : function, optional
        Called with lines for people before the work begins: the number of passes, and the dashboard.
    """
    out = Path(out)
    pair_files, learning = check_fit_options(views, pair_files, learning)
    if learning.calibrate:
        raise OptionError("`calibrate` needs all rows in memory. Learn on a cluster without it")
    if learning.sample:
        raise OptionError(
            "`sample` is not used on a cluster: methods learn from all rows, or choose a sample"
        )
    check_model_output(out, overwrite, pair_files.names())
    hasher = make_hasher(learning)
    caller = f"{type(hasher).__name__}.fit"
    shards = {name: open_shards(folder, what=f"view {name!r}") for name, folder in views.items()}
    whole = [ShardBlocks(each) for each in shards.values()]
    row_bytes = sum(view.shape[1] * view.dtype.itemsize for view in whole)
    step = max(1000, BLOCK_BYTES // row_bytes)
    blocks = {name: ShardBlocks(each, step) for name, each in shards.items()}
    relation = read_pair_files(pair_files, {name: each.shape[0] for name, each in blocks.items()})

    def passed(number: int, planned: int, done: int, total: int) -> None:
        report(progress, Step("learning", done, total, "rows", f"pass {number} of {max(number, planned)}"))

    with connected(scheduler, n_workers=n_workers) as client, cluster_errors(caller):
        source = source_of_blocks(
            blocks,
            relation.pairs(),
            hasher.couple_weights,
            need_negatives=hasher._needs_negatives(),
            caller=caller,
            progress=passed if progress is not None else None,
        )
        if tell is not None:
            n_passes = hasher.count_passes(source.form)
            tell(f"{n_passes} {'pass' if n_passes == 1 else 'passes'} over {relation.describe()}")
            if (link := dashboard_link(client)) is not None:
                tell(f"dashboard: {link}")
        start = time.perf_counter()
        hasher.fit_batches(source)
        seconds = time.perf_counter() - start
    learned_from = relation.describe()
    limit = source.max_collected_rows if hasher.learns_from_all_rows else None
    if limit is not None and max(source.form.n_rows or (0,)) > limit:
        learned_from = f"a sample of {limit:,} rows out of {learned_from}"
    hasher.model_.save(out)
    return FitResult(
        path=out,
        model=describe_model(hasher.model_),
        learned_from=learned_from,
        seconds=seconds,
        size=out.stat().st_size,
    )
