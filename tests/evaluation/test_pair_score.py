"""The score of codes on listed or implied pairs."""

from __future__ import annotations

import numpy as np

import diffhash as dh
from diffhash.evaluation.pair_score import score_codes


def test_within_one_view_a_query_does_not_score_against_itself():
    codes = np.array([[0], [0], [255], [255]], dtype=np.uint8)
    assert score_codes(codes, codes, dh.Pairs(positive=([0, 2], [1, 3])).resolve(4)) == 1.0
    assert score_codes(codes, codes, dh.Pairs.from_labels([0, 0, 1, 1]).resolve(4)) == 1.0
