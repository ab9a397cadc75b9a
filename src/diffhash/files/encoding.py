"""From a feature file to codes, in constant memory and on all cores."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from ..errors import InputError
from ..threads import one_blas_thread
from ..types import CodeArray
from .features import FeatureFile

__all__ = ["Encoder", "encode_file"]


class Encoder(Protocol):
    """What is needed of a hasher."""

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Codes of objects of one modality."""


def encode_file(
    hasher: Encoder, file: FeatureFile, modality: str | None = None, *, n_threads: int | None = None
) -> Iterator[CodeArray]:
    """Codes of all rows of a file, block by block, in the order of the rows.

    Parameters
    ----------
    hasher : a fitted hasher
    file : FeatureFile
    modality : str
        May be left out when the model has only one.
    n_threads : int, optional
        Blocks in work at a time; as many as there are cores by default. Each is worked by one
        thread: of small matrices BLAS on several threads multiplies fast, but what comes before and
        after it would run on one.

    Raises
    ------
    InputError
        If a row cannot be encoded; the message names the file and the rows of the block.

    Examples
    --------
    >>> import diffhash as dh, pathlib, tempfile
    >>> from diffhash.files import open_features
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> import numpy as np
    >>> np.save(path, data.test.views["x"])
    >>> [codes.shape for codes in encode_file(hasher, open_features(path), "x")]
    [(10, 1)]
    """
    n_threads = n_threads or os.cpu_count() or 1
    waiting: deque[tuple[int, Future[CodeArray]]] = deque()
    start = 0
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        try:
            # One block more than there are threads is at hand, so that none of them waits for the file.
            for block in file.blocks(keep=n_threads + 1):
                waiting.append((start, pool.submit(hasher.encode, block, modality)))
                start += len(block)
                if len(waiting) > n_threads:
                    yield _result(file, *waiting.popleft())
            while waiting:
                yield _result(file, *waiting.popleft())
        finally:
            for _, future in waiting:
                future.cancel()


def _result(file: FeatureFile, start: int, future: Future[CodeArray]) -> CodeArray:
    try:
        return future.result()
    except InputError as error:
        raise type(error)(f"{file.source}, block of rows from {start}: {error}") from error
