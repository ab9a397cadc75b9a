"""Codes of twelve bits to put into stores."""

from __future__ import annotations

import numpy as np


def codes_of(*bits):
    """Codes of twelve bits that are set as listed."""
    codes = np.zeros((len(bits), 2), dtype=np.uint8)
    for row, listed in enumerate(bits):
        for bit in listed:
            codes[row, bit // 8] |= 1 << bit % 8
    return codes


def random_codes(n, seed=0):
    codes = np.random.default_rng(seed).integers(0, 256, (n, 2), dtype=np.uint8)
    codes[:, 1] &= 0x0F
    return codes
