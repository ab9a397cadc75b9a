"""From scores of a new modality to bits: the scores themselves, or refined with the old codes frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..codes import pack
from ..evaluation.pair_score import score_codes
from ..learning.frozen_refinement import FrozenCouple, refine_to_frozen
from ..learning.pair_loss import PairLoss
from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..pairs.objects import HeldOutCouples
from ..types import FloatArray, IntArray

__all__ = ["HeldOutLayers", "Layer"]

#: Choices for the refinement: weight of the distance from the start, and desired product of dissimilar codes.
_PENALTIES, _TARGETS = (0.01, 0.1), (-0.3, 0.0)
#: The refinement must be better than the regression by this.
_SIMPLER_WITHIN = 0.002


@dataclass(frozen=True)
class Layer:
    """An affine function from scores to values whose signs are the bits."""

    weights: FloatArray
    offsets: FloatArray

    def values(self, scores: FloatArray) -> FloatArray:
        """Values of rows, of shape (n, n_bits)."""
        return np.asarray(scores @ self.weights + self.offsets)


class HeldOutLayers:
    """Layers for scores of a new modality, compared on held-out objects.

    Parameters
    ----------
    rows : int array of shape (n,)
        Rows of the new modality that have scores.
    values : arrays of shape (n', n_bits), one for each modality
        Projections; those of the new modality, the first, are not read.
    splits : list of HeldOutCouples
    couples : ResolvedCouples
    """

    def __init__(
        self,
        rows: IntArray,
        values: list[FloatArray],
        splits: Sequence[HeldOutCouples],
        couples: ResolvedCouples,
    ) -> None:
        self._values, self._splits, self._couples = values, splits, couples
        self._place = np.full(couples.n_rows[0], -1)
        self._place[rows] = np.arange(len(rows))
        parts = [
            (
                _Part.of(split.fit_rows, split.fit, self._place, values),
                _Part.of(split.scored_rows, split.scored, self._place, values),
            )
            for split in splits
        ]
        self._parts = [(fit, held) for fit, held in parts if fit.usable and held.usable]

    def plain_score(self, scores: FloatArray, mean: FloatArray) -> float:
        """How well the signs of scores find held-out partners; 0 if no objects can be held out.

        Parameters
        ----------
        scores : array of shape (n, n_bits)
            Scores of the rows by regressions without them.
        mean : array of shape (n_bits,)
            Constant term of the regression.
        """
        plain = Layer(np.eye(len(mean)), mean)
        return _mean([held.score(plain, scores) for _, held in self._parts]) if self._parts else 0.0

    def choose(self, scores: FloatArray, mean: FloatArray) -> Layer:
        """The scores themselves, or refined if that is better on held-out objects; see :meth:`plain_score`."""
        plain, parts = Layer(np.eye(len(mean)), mean), self._parts
        if not parts:
            return plain
        best, best_score = None, self.plain_score(scores, mean) + _SIMPLER_WITHIN
        for penalty in _PENALTIES:
            for target in _TARGETS:
                layers = [fit.refined(plain, scores, penalty, target) for fit, _ in parts]
                score = _mean(
                    [held.score(layer, scores) for (_, held), layer in zip(parts, layers, strict=True)]
                )
                if score > best_score:
                    best, best_score = (penalty, target), score
        if best is None:
            return plain
        values, couples = self._values, self._couples
        drawn = [
            np.unique(np.concatenate([split.fit_rows[m], split.scored_rows[m]]))
            for split in self._splits[:1]
            for m in range(len(values))
        ]
        return _Part.of(drawn, couples.subset(drawn), self._place, values).refined(plain, scores, *best)


@dataclass(frozen=True)
class _Part:
    """Some objects: places of their scores, signs of the known modalities, and the pairs between them."""

    places: IntArray
    signs: list[FloatArray]
    couples: ResolvedCouples

    @classmethod
    def of(
        cls, rows: Sequence[IntArray], couples: ResolvedCouples, place: IntArray, values: list[FloatArray]
    ) -> _Part:
        scored = place[rows[0]]
        signs = [np.where(v[r] >= 0, 1.0, -1.0) for v, r in zip(values[1:], rows[1:], strict=True)]
        if (scored >= 0).all():
            return cls(scored, signs, _with_pairs(couples))
        # Rows without any partner have no score. There are none if rows are aligned.
        kept = [np.flatnonzero(scored >= 0), *(np.arange(len(r)) for r in rows[1:])]
        return cls(scored[kept[0]], signs, _with_pairs(couples.subset(kept)))

    @property
    def usable(self) -> bool:
        return len(self.places) >= 2 and len(self.couples) > 0

    def refined(self, start: Layer, scores: FloatArray, penalty: float, target: float) -> Layer:
        """The layer, refined on these objects."""
        x = scores[self.places]
        scale = np.maximum(x.std(axis=0), 1e-9)
        n_bits = x.shape[1]
        frozen = [
            FrozenCouple(
                PairLoss(c.pairs, n_bits, target, per_query=c.pairs.positive is None),
                self.signs[max(c.sides) - 1],
                c.first == 0,
                c.weight,
            )
            for c in self.couples
        ]
        weights, offsets = refine_to_frozen(
            x / scale,
            frozen,
            start.weights / scale.mean() * scale[:, None],
            start.offsets / scale.mean(),
            penalty=penalty,
        )
        return Layer(weights / scale[:, None], offsets)

    def score(self, layer: Layer, scores: FloatArray) -> float:
        """How well new codes and codes of partners find each other, on average over the couples."""
        new = pack(layer.values(scores[self.places]) >= 0)
        found = []
        for c in self.couples:
            known = pack(self.signs[max(c.sides) - 1] > 0)
            found.append(score_codes(*((new, known) if c.first == 0 else (known, new)), c.pairs))
        return _mean(found)


def _with_pairs(couples: ResolvedCouples) -> ResolvedCouples:
    """Only the couples that have positive and negative pairs."""
    kept: tuple[ResolvedCouple, ...] = tuple(c for c in couples if c.pairs.n_positive and c.pairs.n_negative)
    return ResolvedCouples(couples.n_rows, kept)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
