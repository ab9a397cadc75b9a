"""One and two modalities: RefinedHash learns the codes that it learned before there were more."""

from __future__ import annotations

import numpy as np
import pytest

from .kept_codes import assert_same_codes
from .make_refined_codes import HASHERS, PATH, cases, codes_of

GOLDEN = np.load(PATH)


@pytest.mark.parametrize("name", HASHERS)
def test_refined_codes_of_one_and_two_modalities_have_not_changed(name):
    assert_same_codes(GOLDEN, [case for case in cases() if case.split("/")[0] == name], codes_of)


def test_there_are_golden_refined_codes_of_every_case():
    assert {key.rsplit("/", 1)[0] for key in GOLDEN} == set(cases())
