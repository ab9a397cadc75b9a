"""One and two modalities: RefinedHash learns the codes that it learned before there were more."""

from __future__ import annotations

import numpy as np
import pytest

from .make_refined_codes import HASHERS, PATH, cases, codes_of

GOLDEN = np.load(PATH)


@pytest.mark.parametrize("name", HASHERS)
def test_refined_codes_of_one_and_two_modalities_have_not_changed(name):
    wrong = total = 0
    for case in cases():
        if case.split("/")[0] != name:
            continue
        for modality, codes in codes_of(case).items():
            different = np.bitwise_count(codes ^ GOLDEN[f"{case}/{modality}"])
            assert different.sum() <= 0.02 * codes.size * 8, (case, modality)
            wrong, total = wrong + int(different.sum()), total + codes.size * 8
    assert wrong <= 1e-4 * total


def test_there_are_golden_refined_codes_of_every_case():
    assert {key.rsplit("/", 1)[0] for key in GOLDEN} == set(cases())
