"""Asymmetric ranking: the query has real values, the database has only codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, NonFiniteError
from ..native import argument_checks, pack_signs
from ..native.search import IndexedCodes, run_top_k
from ..types import CodeArray, FloatArray, IntArray
from ..validation import as_array, check_count
from .index import HammingIndex

__all__ = ["RankedResult", "asymmetric_scale", "asymmetric_scores", "asymmetric_search"]

_BLOCK_CELLS = 1 << 20
# Entry (b, v) is +1 if bit b of the byte v is one, otherwise -1.
_SIGNS = np.where(np.arange(256) >> np.arange(8)[:, None] & 1, 1.0, -1.0)


@dataclass(frozen=True)
class RankedResult:
    """The best items of every query, in order of (score, id).

    Attributes
    ----------
    ids : int64 array of shape (q, min(k, n))
    scores : float64 array of shape (q, min(k, n))
    distances : uint16 array of shape (q, min(k, n))
        Hamming distances between the codes of the items and the signs of the query.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]
    distances: NDArray[np.uint16]


def asymmetric_search(
    index: HammingIndex | CodeArray,
    query_values: Any,
    k: int,
    *,
    n_candidates: int | None = None,
    scale: Any = None,
    radius: int | None = None,
    n_threads: int | None = None,
) -> RankedResult:
    r"""Find the nearest codes, then rank them by the query's real values.

    The score of an item with bits :math:`s_b = \pm 1` is :math:`-\sum_b v_b s_b / \sigma_b`. It is a
    weighted Hamming distance: up to a constant of the query it equals
    :math:`2 \sum |v_b| / \sigma_b` over the bits that differ. Bits with a value near 0 count little.

    Parameters
    ----------
    index : HammingIndex, or packed codes of shape (n, bytes)
        For codes the ids are the row numbers.
    query_values : float array of shape (q, n_bits)
        From ``hasher.project``. The signs of the values are the query's code.
    k : int
        At least 1. If there are fewer than k items, all of them are returned.
    n_candidates : int, optional
        How many of the nearest codes, in order of (distance, id), are ranked by score. At least k,
        by default the larger of 10 k and 1,000. With ``len(index)`` all items are ranked.
    scale : array of shape (n_bits,), optional
        Divisor of each bit's values; by default they are used as they are. A bit with larger
        values does not always tell more than others. :func:`~diffhash.search.asymmetric_scale`
        learns a scale from training data, which gives much better rankings.
    radius : int, optional
        Items at a larger Hamming distance come after all others, with an infinite score.
    n_threads : int, optional
        Number of threads of the search for candidates.

    Returns
    -------
    RankedResult
        ``.ids``, ``.scores`` and ``.distances`` of shape (q, min(k, n)). The lowest score is first; equal
        scores are ordered by id.

    Examples
    --------
    The query's first value is far from 0, the second is not. Each item differs in one bit:

    >>> codes = np.array([[0b10], [0b01]], dtype=np.uint8)
    >>> asymmetric_search(codes, np.array([[2.0, 0.1, -1, -1, -1, -1, -1, -1]]), k=2)
    RankedResult(ids=array([[1, 0]]), scores=array([[-7.9, -4.1]]), distances=array([[1, 1]], dtype=uint16))
    """
    caller = "asymmetric_search"
    if not isinstance(index, HammingIndex):
        index = HammingIndex(argument_checks.check_kernel_codes(index, caller=caller, name="codes"))
    k = check_count(k, "k", caller=caller)
    if n_candidates is None:
        n_candidates = max(10 * k, 1000)
    n_candidates = check_count(n_candidates, "n_candidates", caller=caller, minimum=k)
    values = _check_values(query_values, caller)
    # One snapshot, because other threads may add or remove codes.
    stored = index._buffer.current
    codes = stored.codes
    if values.shape[1] != stored.n_bits and not (
        stored.n_bits == 8 * codes.shape[1] and -(-values.shape[1] // 8) == codes.shape[1]
    ):
        raise InputError(
            f"{caller}: the index has codes of {stored.n_bits} bits, query_values has shape {values.shape}. "
            "Use values and codes of the same hasher."
        )
    weights = _scaled(values, scale, caller)
    k = min(k, len(codes))
    everything = n_candidates >= len(codes)
    row_of = _RowsById(stored)
    found_ids = np.empty((len(values), k), dtype=np.int64)
    scores = np.empty((len(values), k))
    distances = np.empty((len(values), k), dtype=np.uint16)
    step = max(1, _BLOCK_CELLS // max(1, min(n_candidates, len(codes))))
    for start in range(0, len(values) if k else 0, step):
        rows = slice(start, start + step)
        queries = pack_signs(values[rows])
        if everything:
            items = np.broadcast_to(row_of.order, (len(values[rows]), len(codes)))
        else:
            near = run_top_k(
                stored,
                queries,
                n_candidates,
                bitmap=None,
                n_threads=n_threads,
                caller=caller,
            )
            # Sorted by id, so that the stable sort by score keeps equal scores in order of their ids.
            items = row_of(np.sort(near.ids, axis=1))
        block = _table_scores(weights[rows], codes, items)
        if radius is not None:
            block[_distances(queries, codes, items) > radius] = np.inf
        best = np.argsort(block, axis=1, kind="stable")[:, :k]
        chosen = np.take_along_axis(items, best, axis=1)
        found_ids[rows] = chosen if stored.ids is None else stored.ids[chosen]
        scores[rows] = np.take_along_axis(block, best, axis=1)
        distances[rows] = _distances(queries, codes, chosen)
    return RankedResult(found_ids, scores, distances)


def asymmetric_scores(codes: CodeArray, query_values: Any, *, scale: Any = None) -> FloatArray:
    """Compute the scores of :func:`asymmetric_search` for all items and all queries.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes)
    query_values : float array of shape (q, n_bits)
    scale : array of shape (n_bits,), optional

    Returns
    -------
    array of shape (q, n)
        Lower is nearer, so :func:`diffhash.evaluation.evaluate_distances` accepts them as distances.
        Equal codes have exactly equal scores.

    Examples
    --------
    >>> asymmetric_scores(np.array([[0b01], [0b11]], dtype=np.uint8), np.array([[2.0, -0.5]]))
    array([[-2.5, -1.5]])
    """
    caller = "asymmetric_scores"
    codes = argument_checks.check_kernel_codes(codes, caller=caller, name="codes")
    values = _check_values(query_values, caller)
    if -(-values.shape[1] // 8) != codes.shape[1]:
        raise InputError(
            f"{caller}: codes have {codes.shape[1]} bytes, query_values has shape {values.shape}. "
            "Use values and codes of the same hasher."
        )
    every = np.broadcast_to(np.arange(len(codes)), (len(values), len(codes)))
    return _table_scores(_scaled(values, scale, caller), codes, every)


def asymmetric_scale(values: Any, agreement: Any) -> FloatArray:
    r"""Learn the ``scale`` of :func:`asymmetric_search`: bits that tell more get more weight.

    Parameters
    ----------
    values : float array of shape (n, n_bits)
        From ``hasher.project``, for training objects *of the query's modality*.
    agreement : array of shape (2, n_bits)
        Shares of the similar and of the dissimilar pairs that agree in each bit, from
        :func:`diffhash.evaluation.bit_agreement` or ``SequentialTest.agreement_``. They are the
        same for both directions of search.

    Returns
    -------
    array of shape (n_bits,)
        :math:`r_b / w_b`, with the root mean square :math:`r_b` of the bit's values and
        :math:`w_b = \log \frac{p_b}{1 - p_b} - \log \frac{q_b}{1 - q_b}`, the change of the pair's
        log-likelihood ratio when the bit agrees instead of differs. Shares are clipped to 0.01 and
        0.99. A bit that tells nothing gets almost no weight.

    Examples
    --------
    >>> values = np.array([[1.0, 10.0], [-1.0, -10.0]])
    >>> asymmetric_scale(values, [[0.9, 0.9], [0.5, 0.5]]).round(2)
    array([0.46, 4.55])
    """
    caller = "asymmetric_scale"
    known = _check_values(values, caller)
    shares = as_array(agreement, f"{caller}: agreement").astype(np.float64)
    if shares.shape != (2, known.shape[1]) or not ((shares >= 0) & (shares <= 1)).all() or not len(known):
        raise InputError(
            f"{caller}: expected values of at least one object, and shares of shape (2, n_bits) between 0 and 1; "
            f"got shapes {known.shape} and {shares.shape}."
        )
    positive, negative = np.clip(shares, 0.01, 0.99)
    worth = np.log(positive / (1 - positive)) - np.log(negative / (1 - negative))
    sizes = np.sqrt(np.mean(known**2, axis=0))
    return np.asarray(np.where(sizes > 0, sizes, 1.0) / np.maximum(worth, 1e-6))


class _RowsById:
    """Rows of ids. ``order`` has all rows in the order of their ids."""

    def __init__(self, stored: IndexedCodes) -> None:
        self.ids = stored.ids
        if stored.increasing or stored.ids is None:
            self.order = np.arange(len(stored.codes))
        else:
            self.order = np.argsort(stored.ids)

    def __call__(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of ids. All of them must be in the index."""
        return ids if self.ids is None else self.order[np.searchsorted(self.ids, ids, sorter=self.order)]


def _distances(queries: CodeArray, codes: CodeArray, rows: IntArray) -> NDArray[np.uint16]:
    """Hamming distances of some rows of ``codes`` for each query."""
    return np.asarray(np.bitwise_count(codes[rows] ^ queries[:, None]).sum(axis=2, dtype=np.uint16))


def _check_values(query_values: Any, caller: str) -> FloatArray:
    values = as_array(query_values, f"{caller}: query_values")
    if values.ndim != 2 or not values.shape[1] or values.dtype.kind not in "fiub":
        raise InputError(
            f"{caller}: query_values must be real numbers of shape (q, n_bits), as from hasher.project, "
            f"got {values.dtype} of shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise NonFiniteError(f"{caller}: query_values contains NaN or infinity.")
    return values.astype(np.float64)


def _scaled(values: FloatArray, scale: Any, caller: str) -> FloatArray:
    if scale is None:
        return values
    divisor = as_array(scale, f"{caller}: scale").astype(np.float64)
    if divisor.shape != (values.shape[1],):
        raise InputError(f"{caller}: scale must have shape ({values.shape[1]},), got {divisor.shape}.")
    if not (np.isfinite(divisor) & (divisor > 0)).all():
        bit = int(np.flatnonzero(~(np.isfinite(divisor) & (divisor > 0)))[0])
        raise InputError(
            f"{caller}: scale must be positive, got {divisor[bit]} for bit {bit}. "
            "For a bit that never changes use any positive number, such as 1."
        )
    return np.asarray(values / divisor)


def _table_scores(weights: FloatArray, codes: CodeArray, rows: IntArray) -> FloatArray:
    """Scores of some rows of ``codes`` for each query, from tables with the contribution of each byte.

    A matrix product may round the scores of equal codes differently. These sums are made byte by
    byte in the same order for every item, so that equal codes have equal scores.
    """
    n_queries, n_bits = weights.shape
    padded = np.zeros((n_queries, 8 * codes.shape[1]))
    padded[:, :n_bits] = weights
    tables = -padded.reshape(n_queries, codes.shape[1], 8) @ _SIGNS
    scores = np.zeros(rows.shape)
    for byte in range(codes.shape[1]):
        scores += np.take_along_axis(tables[:, byte], codes[rows, byte].astype(np.intp), axis=1)
    return scores
