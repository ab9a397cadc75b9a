"""Golden codes in one file: they are made once, and later codes are compared with them."""

from __future__ import annotations

import numpy as np


def save_codes(path, cases, codes_of):
    """Keep the codes of every case; never again, because they show what earlier releases learned."""
    if path.exists():
        raise SystemExit(f"{path.name} exists. It shows what earlier releases learned and is not made again.")
    np.savez_compressed(path, **{f"{c}/{m}": codes for c in cases for m, codes in codes_of(c).items()})


def assert_same_codes(golden, cases, codes_of):
    """At least 99.99 % of all bits are equal, and 98 % of those of every modality of a case."""
    wrong = total = 0
    for case in cases:
        for modality, codes in codes_of(case).items():
            different = np.bitwise_count(codes ^ golden[f"{case}/{modality}"])
            assert different.sum() <= 0.02 * codes.size * 8, (case, modality)
            wrong, total = wrong + int(different.sum()), total + codes.size * 8
    assert wrong <= 1e-4 * total
