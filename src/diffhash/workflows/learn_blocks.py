"""Learning from files that are larger than the memory, block by block."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ..files import FeatureFile
from ..files.rows import FileRows
from ..hashers import BaseHasher, RefinedHash
from ..hashers.spectral import SpectralHasher
from ..hashers.training_data import block_source
from .feature_files import check_not_empty
from .learn_model import Learned
from .options import PairFiles
from .pair_files import read_pair_files
from .progress import Progress, Step, report

__all__ = ["are_large", "learn_blocks", "learns_in_blocks"]

#: Files with more bytes of float32 features than this are read in blocks.
IN_MEMORY_BYTES = 1 << 28


def learns_in_blocks(hasher: BaseHasher, files: Mapping[str, FeatureFile]) -> bool:
    """Whether a method learns from all rows of the files without having them in memory."""
    if isinstance(hasher, RefinedHash):
        return max(file.n_features for file in files.values()) <= RefinedHash.max_summed_features
    return isinstance(hasher, SpectralHasher)


def are_large(files: Mapping[str, FeatureFile]) -> bool:
    """Whether the files are read in blocks. Files whose number of rows is not known before are not."""
    sizes = [None if file.n_rows is None else 4 * file.n_rows * file.n_features for file in files.values()]
    return None not in sizes and sum(size or 0 for size in sizes) > IN_MEMORY_BYTES


def learn_blocks(
    hasher: BaseHasher,
    files: Mapping[str, FeatureFile],
    pair_files: PairFiles,
    *,
    progress: Progress | None,
) -> Learned:
    """Fit a hasher in passes over the blocks of feature files.

    Parameters
    ----------
    hasher : BaseHasher
    files : dict of FeatureFile by modality
    pair_files : PairFiles
    progress : function or None
    """
    rows = {name: FileRows(file) for name, file in files.items()}
    n_rows = {name: each.shape[0] for name, each in rows.items()}
    check_not_empty(files, n_rows)
    relation = read_pair_files(pair_files, n_rows)
    start = time.perf_counter()

    def read(done: int, total: int) -> None:
        report(progress, Step("learning", done, total, "rows"))

    hasher.fit_batches(block_source(hasher, rows, relation.pairs(), read))
    return Learned(hasher.model_, relation.describe(), time.perf_counter() - start)
