"""The kernels in NumPy. They run if the extension was not built, and the extension is tested against them.

Names, arguments and results are those of the extension module ``_kernels``. Rows are read in blocks,
so that little memory is needed. Each query takes one pass over the codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import CodeArray, FloatArray

BLOCK_ROWS = 1 << 16


def kernels() -> list[str]:
    """Names of the kernels in this module."""
    return ["numpy"]


def _words(codes: CodeArray) -> NDArray[Any]:
    """View the codes as the widest words that fit their width; nothing is copied."""
    width = codes.shape[1]
    for dtype in (np.uint64, np.uint32, np.uint16):
        if width % np.dtype(dtype).itemsize == 0:
            return codes.view(dtype)
    return codes


def _distances(codes: CodeArray, query: CodeArray) -> NDArray[np.uint16]:
    words, key = _words(codes), _words(query[None, :])
    distances = np.empty(len(codes), dtype=np.uint16)
    for start in range(0, len(codes), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        np.bitwise_count(words[block] ^ key).sum(axis=1, dtype=np.uint16, out=distances[block])
    return distances


def _allowed_rows(allowed: NDArray[np.uint8] | None, n: int) -> NDArray[np.int64] | None:
    if allowed is None:
        return None
    return np.flatnonzero(np.unpackbits(allowed, count=n, bitorder="little"))


def _scored(
    codes: CodeArray,
    queries: CodeArray,
    ids: NDArray[np.int64] | None,
    allowed: NDArray[np.uint8] | None,
) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.int64] | None, NDArray[np.int64] | None]]:
    """For each query: distances of the allowed rows, their row numbers, and the ids that order ties."""
    rows = _allowed_rows(allowed, len(codes))
    kept = codes if rows is None else codes[rows]
    ties = ids if ids is None or rows is None else ids[rows]
    for query in queries:
        yield _distances(kept, query), rows, ties


def _ordered(
    found: NDArray[np.int64], distances: NDArray[np.uint16], ties: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Sort positions, which are in row order, by (distance, id)."""
    if ties is None:
        return found[np.argsort(distances[found], kind="stable")]
    return found[np.lexsort((ties[found], distances[found]))]


def top_k(
    codes: CodeArray,
    queries: CodeArray,
    ids: NDArray[np.int64] | None,
    allowed: NDArray[np.uint8] | None,
    n_threads: int,  # noqa: ARG001 - NumPy uses one thread
    kernel: str,  # noqa: ARG001 - there is only one kernel
    rows: NDArray[np.int64],
    distances: NDArray[np.uint16],
) -> None:
    """Write the k nearest rows of every query. k is the width of ``rows``."""
    k = rows.shape[1]
    if k == 0:
        return
    for q, (scores, row_numbers, ties) in enumerate(_scored(codes, queries, ids, allowed)):
        bound = np.partition(scores, k - 1)[k - 1]
        best = _ordered(np.flatnonzero(scores <= bound), scores, ties)[:k]
        rows[q] = best if row_numbers is None else row_numbers[best]
        distances[q] = scores[best]


def within(
    codes: CodeArray,
    queries: CodeArray,
    radius: int,
    ids: NDArray[np.int64] | None,
    allowed: NDArray[np.uint8] | None,
    n_threads: int,  # noqa: ARG001 - as above
    kernel: str,  # noqa: ARG001 - as above
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    """Find all rows within the radius of every query: offsets, rows and distances."""
    offsets = np.zeros(len(queries) + 1, dtype=np.int64)
    all_rows = [np.empty(0, dtype=np.int64)]
    all_distances = [np.empty(0, dtype=np.uint16)]
    for q, (scores, row_numbers, ties) in enumerate(_scored(codes, queries, ids, allowed)):
        found = _ordered(np.flatnonzero(scores <= radius), scores, ties)
        offsets[q + 1] = offsets[q] + len(found)
        all_rows.append(found if row_numbers is None else row_numbers[found])
        all_distances.append(scores[found])
    return offsets, np.concatenate(all_rows), np.concatenate(all_distances)


def join(
    left: CodeArray,
    right: CodeArray,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    todo: NDArray[np.int64],
    radius: int,
    masks: CodeArray,
    limit: int,
    n_threads: int,  # noqa: ARG001 - as above
    kernel: str,  # noqa: ARG001 - as above
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64]]:
    """Find pairs within the radius: left row ``p`` with right rows ``first[p]`` to ``last[p]``.

    Returns left rows, right rows, distances, and the ranges of left rows that are still to be done.
    """
    words, others, mask_words = _words(left), _words(right), _words(masks)
    ranges = [(int(begin), int(end)) for begin, end in todo]
    i, j = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    distances, total = [np.empty(0, dtype=np.uint16)], 0
    while ranges and total < limit:
        begin, end = ranges.pop()
        widest = max(int((last - first)[begin:end].max(initial=0)), 1)
        stop = min(end, begin + max(limit // widest, 1))
        if stop < end:
            ranges.append((stop, end))
        for rows, columns in _candidates(begin, stop, widest, first, last):
            different = words[rows] ^ others[columns]
            scores = np.bitwise_count(different).sum(axis=1, dtype=np.uint16)
            near = np.flatnonzero(scores <= radius)
            near = near[_first_agreement(different[near], mask_words) == len(masks) - 1]
            i.append(rows[near] if rows.size == scores.size else np.full(len(near), rows[0]))
            j.append(columns[near])
            distances.append(scores[near])
            total += len(near)
    rest = np.array(ranges, dtype=np.int64).ravel()
    return np.concatenate(i), np.concatenate(j), np.concatenate(distances), rest


def _candidates(
    begin: int, stop: int, widest: int, first: NDArray[np.int64], last: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Left rows and the right rows to compare them with, in a loop over whichever of the two is shorter."""
    if stop - begin < widest:
        for row in range(begin, stop):
            if first[row] < last[row]:
                yield np.array([row]), np.arange(first[row], last[row])
        return
    rows = np.arange(begin, stop)
    for offset in range(widest):
        rows = rows[first[rows] + offset < last[rows]]
        if len(rows):
            yield rows, first[rows] + offset


def _first_agreement(different: NDArray[Any], masks: NDArray[Any]) -> NDArray[np.int64]:
    """Number of the first mask under which nothing is different; the number of masks if there is none."""
    first = np.full(len(different), len(masks))
    for number in range(len(masks) - 1, -1, -1):
        first[~(different & masks[number]).any(axis=1)] = number
    return first


def unite(parents: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]) -> None:
    """Join the sets of the elements of each pair, in place."""
    while True:
        # Every element points to the first of its set before sets are joined.
        while not np.array_equal(above := parents[parents], parents):
            parents[:] = above
        a, b = parents[i], parents[j]
        apart = a != b
        if not apart.any():
            return
        np.minimum.at(parents, np.maximum(a, b)[apart], np.minimum(a, b)[apart])


def distance_table(
    codes: CodeArray,
    queries: CodeArray,
    run_starts: NDArray[np.int64],
    run_labels: NDArray[np.uint64],
    query_labels: NDArray[np.uint64],
    any_bit: bool,
    n_threads: int,  # noqa: ARG001 - as above
    kernel: str,  # noqa: ARG001 - as above
    table: NDArray[np.int64],
) -> None:
    """Add the numbers of rows of each grade at each distance of each query to ``table``."""
    bins, n_grades = table.shape[1:]
    lengths = np.diff(run_starts)
    for q, query in enumerate(queries):
        if any_bit:
            shared = np.bitwise_count(run_labels & query_labels[q]).sum(axis=1, dtype=np.int64)
            grades = np.minimum(shared, n_grades - 1)
        else:
            grades = (run_labels == query_labels[q]).all(axis=1).astype(np.int64)
        shifted = _distances(codes, query) + np.repeat(grades, lengths) * bins
        table[q] += np.bincount(shifted, minlength=n_grades * bins).reshape(n_grades, bins).T


def joint_counts(
    x: NDArray[np.uint8],
    y: NDArray[np.uint8],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    n_threads: int,  # noqa: ARG001 - as above
    result: NDArray[np.generic],
) -> None:
    """Write the number (or the summed weights) of the pairs in each cell of each bit to ``result``."""
    n_bins = result.shape[1]
    for bit, (row_x, row_y) in enumerate(zip(x, y, strict=True)):
        # Converted to wider integers before the gathering, because there are fewer objects than pairs.
        cells = (row_x.astype(np.intp) * n_bins).take(i)
        cells += row_y.astype(np.intp).take(j)
        result[bit] = np.bincount(cells, weights, minlength=n_bins**2).reshape(n_bins, n_bins)


def error_shares_int(
    positive: NDArray[Any], negative: NDArray[Any], miss_weight: float, costs: NDArray[np.float64]
) -> None:
    """Write ``miss_weight * FN + FP`` at every pair of thresholds to ``costs``."""
    # A few bits at a time stay in the cache.
    for start in range(0, len(costs), 8):
        bits = slice(start, start + 8)
        missed = _share(positive[bits], agree=False)
        missed *= miss_weight
        np.add(missed, _share(negative[bits], agree=True), out=costs[bits])


error_shares_float = error_shares_int


def _share(counts: NDArray[Any], *, agree: bool) -> NDArray[np.float64]:
    """Share of the pairs that agree (or do not agree) at every pair of thresholds; 0 if there are no pairs."""
    below = counts.cumsum(axis=1).cumsum(axis=2)
    total = below[:, -1:, -1:]
    agreeing = 2 * below[:, :-1, :-1] + total - below[:, :-1, -1:] - below[:, -1:, :-1]
    return np.asarray((agreeing if agree else total - agreeing) / np.where(total > 0, total, 1))


def bin32(
    values: FloatArray,
    first: FloatArray,
    inverse: FloatArray,
    n_bins: int,
    n_own: int,
    n_threads: int,  # noqa: ARG001 - as above
    bins: NDArray[np.uint8],
    low: NDArray[np.float64] | None,
    high: NDArray[np.float64] | None,
) -> None:
    """Write the interval of every value; update the extremes of the intervals, if they are given."""
    positions = (values.T - first[:, None]) * inverse[:, None]
    positions += 1
    np.clip(positions, 0, n_bins - 1, out=positions)
    bins[...] = positions.astype(np.uint8)
    if low is not None and high is not None:
        for bit, row in enumerate(bins[:, :n_own]):
            np.minimum.at(low[bit], row, values[:n_own, bit].astype(np.float64))
            np.maximum.at(high[bit], row, values[:n_own, bit].astype(np.float64))


bin64 = bin32


def count_bins(bins: NDArray[np.uint8], n_own: int, counts: NDArray[np.int64]) -> None:
    """Write how many of the first values of each bit are in each interval to ``counts``."""
    for bit, row in enumerate(bins[:, :n_own]):
        counts[bit] = np.bincount(row, minlength=counts.shape[1])[: counts.shape[1]]


def column_moments32(
    values: FloatArray,
    shift: FloatArray,
    total: NDArray[np.float64],
    squares: NDArray[np.float64] | None,
    low: FloatArray | None,
    high: FloatArray | None,
) -> None:
    """Add sums (and sums of squares) of the columns, after ``shift`` was subtracted; update the extremes."""
    few = 256
    buffer = np.empty((min(len(values), few), values.shape[1]), values.dtype)
    for start in range(0, len(values), few):
        rows = values[start : start + few]
        with np.errstate(over="ignore", invalid="ignore"):
            centred = np.subtract(rows, shift, out=buffer[: len(rows)])
            total += np.add.reduce(centred, axis=0)
            if squares is not None and low is not None and high is not None:
                np.multiply(centred, centred, out=centred)
                squares += np.add.reduce(centred, axis=0)
                np.minimum(low, np.minimum.reduce(rows, axis=0), out=low)
                np.maximum(high, np.maximum.reduce(rows, axis=0), out=high)


column_moments64 = column_moments32


def pack32(
    values: FloatArray,
    thresholds: FloatArray,
    n_threads: int,  # noqa: ARG001 - as above
    kernel: str,  # noqa: ARG001 - as above
    codes: CodeArray,
) -> None:
    """Write one bit per value: 1 if the value is at least the threshold."""
    codes[...] = np.packbits(values >= thresholds, axis=1, bitorder="little")


pack64 = pack32
