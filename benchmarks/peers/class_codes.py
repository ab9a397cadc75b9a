"""Codes of classes that are far apart, for peers that predict them."""

from __future__ import annotations

import numpy as np

from diffhash.types import FloatArray

_CANDIDATES = 256


def separated_class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> FloatArray:
    """Codes of ±1, shape (n_classes, n_bits), chosen one after the other.

    Each class takes the candidate whose nearest code so far is farthest away; among equals the one
    that leaves the sums of the bits smallest, so that bits are balanced. Candidates are random codes and
    the opposites of the codes so far.

    Examples
    --------
    >>> codes = separated_class_codes(4, 8, np.random.default_rng(0))
    >>> int((codes @ codes.T - 8 * np.eye(4)).max())  # nearest two: at least half of the bits differ
    0
    """
    codes = np.empty((n_classes, n_bits))
    for place in range(n_classes):
        chosen = codes[:place]
        drawn = rng.choice([-1.0, 1.0], size=(_CANDIDATES, n_bits))
        tried = np.vstack([drawn, -chosen])
        nearest = (tried @ chosen.T).max(axis=1, initial=-n_bits)
        imbalance = np.sum((chosen.sum(axis=0) + tried) ** 2, axis=1)
        codes[place] = tried[np.lexsort((imbalance, nearest))[0]]
    return codes
