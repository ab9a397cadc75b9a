"""Wald's test for one pair and one bit at a time, and a search that scores every item."""

from __future__ import annotations

import math


def bit(code, b):
    """Bit b of a packed code, little bit order."""
    return (int(code[b // 8]) >> (b % 8)) & 1


def agreement(codes_x, codes_y, pairs, n_bits):
    """Smoothed share of pairs whose two sides agree, for each bit."""
    return [
        (1 + sum(bit(codes_x[i], b) == bit(codes_y[j], b) for i, j in pairs)) / (len(pairs) + 2)
        for b in range(n_bits)
    ]


def log_ratio(agrees, positive, negative):
    """Log-likelihood ratio of a similar pair, given a bit that agrees or does not."""
    return math.log(positive / negative) if agrees else math.log((1 - positive) / (1 - negative))


def decide(code_x, code_y, ratios, order, lower, upper, cut):
    """Whether the pair is similar, the number of bits used, and whether a bound was reached."""
    total = 0.0
    for used, b in enumerate(order, start=1):
        total += ratios[int(bit(code_x, b) == bit(code_y, b))][b]
        if total >= upper:
            return True, used, True
        if total <= lower:
            return False, used, True
    return total >= cut, len(order), False


def rank(codes, ids, values, k):
    """(score, id) of the k best items. Every item is scored bit by bit."""
    scored = []
    for code, item in zip(codes, ids, strict=True):
        scored.append((-sum(v * (1 if bit(code, b) else -1) for b, v in enumerate(values)), int(item)))
    return sorted(scored)[:k]


def nearest(codes, ids, query, n_bits, n_candidates):
    """Row numbers of the nearest codes by (Hamming distance, id)."""
    keyed = [
        (sum(bit(code, b) != bit(query, b) for b in range(n_bits)), int(item), row)
        for row, (code, item) in enumerate(zip(codes, ids, strict=True))
    ]
    return [row for _, _, row in sorted(keyed)[:n_candidates]]
