"""Masks for a join: codes within the radius agree on all bits of at least one mask.

Bits are dealt to ``radius + e`` blocks. Two codes that differ in at most ``radius`` bits agree on at least ``e``
blocks, so the masks are the unions of ``e`` blocks. The larger ``e`` is, the more masks there are, and the fewer
codes agree on one by chance. The cost of each choice is estimated on a sample of the codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from ..types import CodeArray
from .equal_codes import code_words, hash_words

__all__ = ["choose_masks"]

_SAMPLE = 2048
_MAX_MASKS = 200
#: Seconds to hash, sort and read one code for one mask; to compare two codes, and for each byte of them.
_SORT, _COMPARE, _COMPARE_BYTE = 3e-7, 1e-10, 1.5e-11


def choose_masks(left: CodeArray, right: CodeArray | None, n_bits: int, radius: int) -> CodeArray:
    """The masks of the cheapest way to join, shape (p, bytes). One mask without bits: compare all with all.

    Parameters
    ----------
    left : uint8 array of shape (n, bytes)
    right : uint8 array of shape (m, bytes), or None to join the left codes with themselves
    """
    width = left.shape[1]
    compare = _COMPARE + _COMPARE_BYTE * width
    n, m = len(left), len(left if right is None else right)
    n_pairs = n * m / (2 if right is None else 1)
    best, best_cost = np.zeros((1, width), dtype=np.uint8), n_pairs * compare
    if radius >= n_bits or best_cost < 1e-3:
        return best
    rng = np.random.default_rng(0)
    sample = _sample(left, rng)
    other = None if right is None else _sample(right, rng)
    everything = sample if other is None else np.concatenate([sample, other])
    for masks in _candidates(everything, n_bits, radius, rng):
        sorting = len(masks) * (n if right is None else n + m) * _SORT
        if sorting < best_cost:
            cost = sorting + n_pairs * compare * _collisions(sample, other, masks)
            if cost < best_cost:
                best, best_cost = masks, cost
    return best


def _candidates(codes: CodeArray, n_bits: int, radius: int, rng: np.random.Generator) -> Iterator[CodeArray]:
    share = np.unpackbits(codes, axis=1, count=n_bits, bitorder="little").mean(axis=0)
    # Dealt from the most even bit to the most constant one, every block gets as much information.
    orders = [
        np.argsort(np.abs(share - 0.5), kind="stable"),
        rng.permutation(n_bits),
        rng.permutation(n_bits),
    ]
    for extra in range(1, 2 if radius == 0 else n_bits - radius + 1):
        n_blocks = radius + extra
        if comb(n_blocks, extra) > _MAX_MASKS:
            return
        for order in orders:
            block_of = np.empty(n_bits, dtype=np.int64)
            block_of[order] = np.arange(n_bits) % n_blocks
            bits = [np.isin(block_of, chosen) for chosen in combinations(range(n_blocks), extra)]
            yield np.packbits(np.array(bits), axis=1, bitorder="little")


def _collisions(sample: CodeArray, other: CodeArray | None, masks: CodeArray) -> float:
    """Expected number of masks on which two codes agree."""
    words, total = code_words(sample), 0.0
    right = None if other is None else code_words(other)
    for mask in code_words(masks):
        keys, counts = np.unique(hash_words(words, mask), return_counts=True)
        if right is None:
            total += float((counts * (counts - 1.0)).sum()) / max(len(words) * (len(words) - 1.0), 1.0)
        else:
            others, amounts = np.unique(hash_words(right, mask), return_counts=True)
            _, i, j = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
            total += float((counts[i] * amounts[j]).sum()) / (len(words) * len(right))
    return total


def _sample(codes: CodeArray, rng: np.random.Generator) -> CodeArray:
    if len(codes) <= _SAMPLE:
        return codes
    rows: NDArray[np.int64] = rng.choice(len(codes), _SAMPLE, replace=False)
    return codes[np.sort(rows)]
