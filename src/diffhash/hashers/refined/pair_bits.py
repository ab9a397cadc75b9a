"""Bits from paired directions: weights, rotation, and refinement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...codes import pack
from ...learning.pair_loss import PairLoss
from ...learning.paired_directions import PairedDirections
from ...learning.refinement import Affine, refine
from ...learning.rotation import rotated_frame, sample_rows
from ...pairs.resolved import ResolvedPairs
from ...types import CodeArray, FloatArray

__all__ = ["BitSetting", "Bits", "fit_bits", "rotated_settings"]

#: Steps to fit a rotation, and rows that it is fitted to.
_ROTATION_STEPS, _ROTATION_ROWS = 15, 3000


@dataclass(frozen=True)
class BitSetting:
    """How directions become bits.

    Attributes
    ----------
    n_directions : int
        Only the strongest directions are used.
    power : float
        The coordinates are weighted by this power of their strengths.
    penalty, negative_target : float or None
        For the refinement. None: the rotated directions are used as they are.
    """

    n_directions: int
    power: float
    penalty: float | None = None
    negative_target: float | None = None

    def __str__(self) -> str:
        start = f"{self.n_directions} directions, weights strength^{self.power:g}"
        if self.penalty is None:
            return f"rotated, {start}"
        return f"refined, {start}, penalty {self.penalty:g}, negative target {self.negative_target:g}"


@dataclass(frozen=True)
class Bits:
    """For each view: weights (n_directions, n_bits) and offsets (n_bits,) of the values of the directions."""

    weights: list[FloatArray]
    offsets: list[FloatArray]
    losses: list[float]

    def codes(self, side: int, values: FloatArray) -> CodeArray:
        """Packed codes of rows from their values along the directions."""
        return pack(self.projected(side, values) >= 0)

    def projected(self, side: int, values: FloatArray) -> FloatArray:
        """Real values whose signs are the bits."""
        weights = self.weights[side]
        return np.asarray(values[:, : len(weights)] @ weights.astype(values.dtype) + self.offsets[side])


def rotated_settings(n_bits: int, n_found: int, n_useful: int) -> list[BitSetting]:
    """Settings without refinement, the plainest first: regularised CCA and rotations."""

    def clipped(n: int) -> int:
        return max(1, min(n, n_found))

    tried = [
        BitSetting(clipped(n_bits), 1.0),
        BitSetting(clipped(n_bits), 0.5),
        BitSetting(clipped(2 * n_bits), 1.0),
        BitSetting(clipped(n_useful), 1.0),
        BitSetting(clipped(min(n_useful, n_bits // 2)), 0.5),
    ]
    return list(dict.fromkeys(tried))


def fit_bits(
    values: list[FloatArray],
    directions: PairedDirections,
    pairs: ResolvedPairs,
    setting: BitSetting,
    *,
    n_bits: int,
    positive_weight: float,
    max_iter: int,
    random_state: int | None,
) -> Bits:
    """Learn bits from the values of training rows along the directions.

    Parameters
    ----------
    values : one or two arrays of shape (n, n_directions)
    directions : PairedDirections
        Only the strengths are used.
    pairs : ResolvedPairs
        Between the rows of ``values``.
    setting : BitSetting
    n_bits : int
    positive_weight, max_iter
        For the refinement.
    random_state : int or None
    """
    rng = np.random.default_rng(random_state)
    k = setting.n_directions
    strengths = directions.strengths[:k]
    weights = (strengths / strengths[0]) ** setting.power if strengths[0] > 0 else np.ones(k)
    factors = []
    for side in values:
        spread = float((side[:, :k] * weights.astype(side.dtype)).std(dtype=np.float64))
        # Signs approximate the values best if the values have about the size of signs.
        factors.append(weights / (spread if spread > 0 else 1.0))
    limit = _ROTATION_ROWS // len(values)
    sampled = [
        sample_rows(side[:, :k], rng, limit) * factor for side, factor in zip(values, factors, strict=True)
    ]
    frame = rotated_frame(np.concatenate(sampled).astype(np.float64), n_bits, rng, _ROTATION_STEPS)
    zeros = np.zeros(n_bits)
    if setting.penalty is None or setting.negative_target is None:
        return Bits([factor[:, None] * frame for factor in factors], [zeros] * len(values), [])
    losses: list[float] = []
    scaled = [side[:, :k] * factor.astype(side.dtype) for side, factor in zip(values, factors, strict=True)]
    found, _ = refine(
        scaled[0],
        None if pairs.one_view else scaled[-1],
        PairLoss(pairs, n_bits, setting.negative_target, positive_weight),
        Affine((frame, frame), (zeros, zeros)),
        penalty=setting.penalty,
        slopes=(1.0, 2.0),
        max_iter=max_iter,
        progress=lambda _, loss: losses.append(loss),
    )
    weights_of_side = [f[:, None] * w for f, w in zip(factors, found.weights, strict=False)]
    return Bits(weights_of_side, list(found.offsets[: len(values)]), losses)
