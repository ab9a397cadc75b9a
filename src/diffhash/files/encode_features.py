"""Encode a feature file in parallel, with constant memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from ..errors import InputError
from ..threads import one_blas_thread, thread_count
from ..types import CodeArray
from .features import FeatureFile

__all__ = ["Encoder", "encode_file"]


class Encoder(Protocol):
    """What :func:`encode_file` needs of a hasher or a model."""

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Encode features of one modality."""


def encode_file(
    hasher: Encoder, file: FeatureFile, modality: str | None = None, *, n_threads: int | None = None
) -> Iterator[CodeArray]:
    """Encode all rows of a file; yields the codes block by block, in the order of the rows.

    Parameters
    ----------
    hasher : a fitted hasher or a model
    file : FeatureFile
    modality : str
        May be omitted if the model has only one.
    n_threads : int, optional
        Number of blocks that are encoded at the same time, by default ``DIFFHASH_NUM_THREADS`` or
        the number of CPUs that this process may use. Each block is encoded by one thread, because
        several threads in BLAS would speed up only the matrix product.

    Raises
    ------
    InputError
        If a row cannot be encoded. The message names the file and the first row of the block.

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
    n_threads = thread_count(n_threads, caller="encode_file")
    waiting: deque[tuple[int, Future[CodeArray]]] = deque()
    start = 0
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        try:
            # Read one block more than there are threads, so that no thread waits for the file.
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
