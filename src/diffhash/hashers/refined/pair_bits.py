"""Bits from paired directions: weights, rotation, and refinement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...codes import pack
from ...learning.contrastive_loss import ContrastiveLoss
from ...learning.couple_loss import CoupleLoss
from ...learning.paired_directions import PairedDirections
from ...learning.refinement import Affine, CodeLoss, refine
from ...learning.rotation import rotated_frame, sample_rows
from ...pairs.couples import ResolvedCouples
from ...types import CodeArray, FloatArray, IntArray

__all__ = ["BitSetting", "Bits", "Frames", "fit_bits", "rotated_settings"]

#: Directions with at least this share of the largest held-out strength are useful.
_USEFUL_SHARE = 0.1
#: Steps to fit a rotation, and rows that it is fitted to.
_ROTATION_STEPS, _ROTATION_ROWS = 15, 2000
#: Pairs of each couple that take part in a refinement with the softmax loss.
_CONTRASTED_PAIRS = 2048


@dataclass(frozen=True)
class BitSetting:
    """How directions become bits.

    Attributes
    ----------
    n_directions : int
        Only the strongest directions are used.
    power : float
        The coordinates are weighted by this power of their strengths.
    held_out : tuple of tuples of float, or None
        For each view, strengths of the directions on held-out objects. They replace the strengths on the
        learning objects, and the coordinates are scaled to equal variance.
    penalty, negative_target : float or None
        For the refinement with the squared loss. None: the rotated directions are used as they are.
    contrast : float or None
        For the refinement with the softmax loss, which has no target.
    """

    n_directions: int
    power: float
    held_out: tuple[tuple[float, ...], ...] | None = None
    penalty: float | None = None
    negative_target: float | None = None
    contrast: float | None = None

    def __str__(self) -> str:
        kind = "strength" if self.held_out is None else "held-out strength"
        start = f"{self.n_directions} directions, weights {kind}^{self.power:g}"
        if self.penalty is None:
            return f"rotated, {start}"
        if self.contrast is not None:
            return f"refined, {start}, penalty {self.penalty:g}, contrast {self.contrast:g}"
        return f"refined, {start}, penalty {self.penalty:g}, negative target {self.negative_target:g}"


#: By the setting without its refinement: the rotated frame, and the state of the random generator afterwards.
Frames = dict[BitSetting, tuple[FloatArray, Any]]


@dataclass(frozen=True)
class Bits:
    """For each view: weights (n_directions, n_bits) and offsets (n_bits,) of the values of the directions."""

    weights: list[FloatArray]
    offsets: list[FloatArray]
    losses: list[float]

    def codes(self, values: list[FloatArray]) -> list[CodeArray]:
        """For each view, packed codes of rows from their values along the directions."""
        return [pack(self.projected(side, rows) >= 0) for side, rows in enumerate(values)]

    def projected(self, side: int, values: FloatArray) -> FloatArray:
        """Real values whose signs are the bits."""
        weights = self.weights[side]
        return np.asarray(values[:, : len(weights)] @ weights.astype(values.dtype) + self.offsets[side])


def rotated_settings(n_bits: int, n_found: int, held_out: FloatArray) -> list[BitSetting]:
    """Settings without refinement, the plainest first: regularised CCA and rotations.

    Parameters
    ----------
    n_bits : int
    n_found : int
        Number of directions.
    held_out : array of shape (n_views, n), decreasing
        Strengths of the directions on held-out objects.
    """
    largest = held_out.max(axis=0)
    n_useful = max(1, int((largest > _USEFUL_SHARE * largest[0]).sum()))

    def setting(n: int, power: float, weights: FloatArray | None = None) -> BitSetting:
        n = max(1, min(n, n_found))
        return BitSetting(n, power, None if weights is None else tuple(map(tuple, weights[:, :n].tolist())))

    tried = [
        setting(n_bits, 1.0),
        setting(n_bits, 0.5),
        # Rotations of more directions take long.
        setting(min(2 * n_bits, max(n_bits, 128)), 1.0),
        setting(n_useful, 1.0),
        setting(min(n_useful, n_bits // 2), 0.5),
    ]
    if largest[0] > 0:
        few, half = min(n_useful, n_bits), min(n_useful, n_bits // 2)
        tried += [setting(n_useful, 1.0, held_out), setting(few, 0.5, held_out)]
        # With few bits, steep weights and few directions: each bit should depend on what partners share most.
        tried += [setting(few, 1.0, held_out), setting(few, 2.0, held_out), setting(half, 1.0, held_out)]
    return list(dict.fromkeys(tried))


def fit_bits(
    values: list[FloatArray],
    directions: PairedDirections,
    couples: ResolvedCouples,
    setting: BitSetting,
    *,
    n_bits: int,
    positive_weight: float,
    max_iter: int,
    random_state: int | None,
    frames: Frames | None = None,
) -> Bits:
    """Learn bits from the values of training rows along the directions.

    Parameters
    ----------
    values : list of arrays of shape (n, n_directions)
        Of each view.
    directions : PairedDirections
        Only the strengths are used.
    couples : ResolvedCouples
        Pairs between the rows of ``values``.
    setting : BitSetting
    n_bits : int
    positive_weight, max_iter
        For the refinement.
    random_state : int or None
    frames : dict, optional
        Rotated frames that are known already, for the same values and random state; new ones are added. Refinements
        of one start share its frame, which takes as long to find as a short refinement.
    """
    rng = np.random.default_rng(random_state)
    k = setting.n_directions
    strengths = np.tile(directions.strengths[:k], (len(values), 1))
    if setting.held_out is not None:
        strengths = np.array(setting.held_out)[:, :k]
    largest = strengths[:, 0].max()
    of_views = (strengths / largest) ** setting.power if largest > 0 else np.ones_like(strengths)
    factors = []
    for side, weights in zip(values, of_views, strict=True):
        if setting.held_out is not None:
            deviations = side[:, :k].std(axis=0, dtype=np.float64)
            weights = np.divide(weights, deviations, out=np.zeros(k), where=deviations > 0)
        spread = float((side[:, :k] * weights.astype(side.dtype)).std(dtype=np.float64))
        # Signs approximate the values best if the values have about the size of signs.
        factors.append(weights / (spread if spread > 0 else 1.0))
    frames = {} if frames is None else frames
    start = replace(setting, penalty=None, negative_target=None, contrast=None)
    if start not in frames:
        rotated = _rotate(values, factors, n_bits, rng)
        frames[start] = rotated, rng.bit_generator.state
    frame, rng.bit_generator.state = frames[start]
    zeros = np.zeros(n_bits)
    if setting.penalty is None:
        return Bits([factor[:, None] * frame for factor in factors], [zeros] * len(values), [])
    losses: list[float] = []
    if setting.contrast is not None:
        values, couples = _fewer_pairs(values, couples, rng)
    scaled = [side[:, :k] * factor.astype(side.dtype) for side, factor in zip(values, factors, strict=True)]
    loss: CodeLoss
    if setting.contrast is not None:
        loss = ContrastiveLoss(couples, n_bits, setting.contrast, random_state)
    else:
        assert setting.negative_target is not None, "the squared loss needs a target"
        loss = CoupleLoss(couples, n_bits, setting.negative_target, positive_weight)
    found, _ = refine(
        scaled,
        loss,
        Affine((frame,) * len(values), (zeros,) * len(values)),
        penalty=setting.penalty,
        slopes=(1.0, 2.0),
        max_iter=max_iter,
        progress=lambda _, loss: losses.append(loss),
    )
    weights_of_side = [f[:, None] * w for f, w in zip(factors, found.weights, strict=True)]
    return Bits(weights_of_side, list(found.offsets), losses)


def _rotate(
    values: list[FloatArray], factors: list[FloatArray], n_bits: int, rng: np.random.Generator
) -> FloatArray:
    """The rotated frame of weighted values of all views together."""
    limit = _ROTATION_ROWS // len(values)
    sampled = [
        sample_rows(side[:, : len(factor)], rng, limit) * factor
        for side, factor in zip(values, factors, strict=True)
    ]
    return rotated_frame(np.concatenate(sampled).astype(np.float64), n_bits, rng, _ROTATION_STEPS)


def _fewer_pairs(
    values: list[FloatArray], couples: ResolvedCouples, rng: np.random.Generator
) -> tuple[list[FloatArray], ResolvedCouples]:
    """Rows of a bounded number of pairs of each couple, and the pairs between them."""
    if all(couple.pairs.n_positive <= _CONTRASTED_PAIRS for couple in couples):
        return values, couples
    rows: list[list[IntArray]] = [[] for _ in values]
    for couple in couples:
        assert couple.pairs.positive is not None, "the positives must be listed"
        drawn = rng.permutation(couple.pairs.n_positive)[:_CONTRASTED_PAIRS]
        for side, index in zip(couple.sides, couple.pairs.positive, strict=True):
            rows[side].append(index[drawn])
    kept = [np.unique(np.concatenate(each)) for each in rows]
    return [side[each] for side, each in zip(values, kept, strict=True)], couples.subset(kept)
