"""Encode a feature file in parallel, with constant memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from numpy.typing import NDArray

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
    # The file is closed last, when no thread reads any more.
    with file.block_readers(keep=2 * n_threads) as readers, one_blas_thread():
        if n_threads == 1:
            # Another thread would only add the time in which two threads wait for each other.
            for start, read in readers:
                yield _encode(hasher, file, modality, start, read)
            return
        waiting: deque[Future[CodeArray]] = deque()
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                for start, read in readers:
                    waiting.append(pool.submit(_encode, hasher, file, modality, start, read))
                    # One block waits for each thread, so that no thread waits for the one that takes the codes.
                    if len(waiting) == 2 * n_threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def _encode(
    hasher: Encoder, file: FeatureFile, modality: str | None, start: int, read: Callable[[], NDArray[Any]]
) -> CodeArray:
    block = read()
    try:
        return hasher.encode(block, modality)
    except InputError as error:
        raise type(error)(f"{file.source}, block of rows from {start}: {error}") from error
