"""Statistics of single bits: balance, entropy, correlation, agreement on pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..codes import unpack
from ..learning.histograms import JointHistogram
from ..pairs import Pairs
from ..types import CodeArray, FloatArray

__all__ = ["BitDiagnostics", "bit_agreement", "bit_diagnostics"]


@dataclass(frozen=True)
class BitDiagnostics:
    """Statistics of single bits.

    Attributes
    ----------
    balance : array of shape (n_bits,)
        Share of ones; 0.5 is best.
    entropy : array of shape (n_bits,)
        Entropy of each bit, in bits; 0 for a constant bit.
    correlation : array of shape (n_bits, n_bits)
        Correlation of each two bits; 0 if one of them is constant.
    """

    balance: FloatArray
    entropy: FloatArray
    correlation: FloatArray


def bit_diagnostics(codes: CodeArray, n_bits: int) -> BitDiagnostics:
    """Compute balance, entropy and correlation of the bits in packed codes.

    Parameters
    ----------
    codes : uint8 array of shape (n, ceil(n_bits / 8))
    n_bits : int

    Examples
    --------
    >>> bit_diagnostics(np.array([[0b00], [0b01], [0b10], [0b11]], dtype=np.uint8), 2).entropy
    array([1., 1.])
    """
    bits = unpack(codes, n_bits).astype(np.float32)
    share = bits.mean(axis=0, dtype=np.float64)
    logs = [np.log2(p, out=np.zeros_like(p), where=p > 0) for p in (share, 1 - share)]
    entropy = -(share * logs[0] + (1 - share) * logs[1])
    covariance = (bits.T @ bits) / len(bits) - np.outer(share, share)
    deviation = np.sqrt(share * (1 - share))
    scale = np.outer(deviation, deviation)
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    return BitDiagnostics(share, entropy + 0.0, correlation)


def bit_agreement(
    codes_x: CodeArray, codes_y: CodeArray | None, pairs: Pairs, n_bits: int
) -> tuple[FloatArray, FloatArray]:
    """For each bit, compute the share of positive and of negative pairs on which both sides agree.

    Parameters
    ----------
    codes_x, codes_y : uint8 arrays of shape (n, n_bytes), (n', n_bytes)
        ``codes_y`` is None for pairs within one view.
    pairs : Pairs
        Pairs that are not listed are counted in closed form.
    n_bits : int

    Returns
    -------
    positive, negative : arrays of shape (n_bits,)
        For a good bit the first is near 1 and the second near 0.5, which is chance.

    Examples
    --------
    >>> codes = np.array([[0b0], [0b1]], dtype=np.uint8)
    >>> bit_agreement(codes, codes, Pairs.aligned(2), 1)
    (array([1.]), array([0.]))
    """
    bits_x = unpack(codes_x, n_bits).T.astype(np.uint8)
    bits_y = None if codes_y is None else unpack(codes_y, n_bits).T.astype(np.uint8)
    n_y = None if bits_y is None else bits_y.shape[1]
    resolved = pairs.resolve(bits_x.shape[1], n_y, caller="bit_agreement")
    groups = resolved.scheme.groups
    histogram = JointHistogram(resolved.scheme, n_bits, 2).update(
        bits_x,
        bits_y,
        positive=resolved.positive,
        negative=resolved.negative,
        groups_x=None if groups is None else groups.x,
        groups_y=None if groups is None else groups.y,
    )
    positive, negative = (
        (table[:, 0, 0] + table[:, 1, 1]) / np.maximum(table.sum(axis=(1, 2)), 1)
        for table in histogram.counts()
    )
    return positive, negative
