"""Error rates of one bit, counted with a loop over pairs."""

from __future__ import annotations


def cost(values_x, values_y, threshold_x, threshold_y, positive, negative, miss_weight):
    """``miss_weight * FN + FP``. A bit is 1 if its value is at least the threshold."""
    bit_x, bit_y = values_x >= threshold_x, values_y >= threshold_y
    missed = sum(bit_x[i] != bit_y[j] for i, j in positive) / max(len(positive), 1)
    accepted = sum(bit_x[i] == bit_y[j] for i, j in negative) / max(len(negative), 1)
    return miss_weight * missed + accepted


def smaller_share(values, threshold):
    """Share of the objects on the smaller side of a threshold."""
    above = int((values >= threshold).sum())
    return min(above, len(values) - above) / len(values)


def correlation(bit_x, bit_y, pairs, signs, weights):
    """Weighted correlation between a bit and the similarity of pairs; bits are +1 and -1."""
    return sum(w * s * bit_x[i] * bit_y[j] for (i, j), s, w in zip(pairs, signs, weights, strict=True))
