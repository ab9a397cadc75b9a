"""One order from two: by codes, and by the words of captions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..types import BoolArray

__all__ = ["FusedRanking", "fuse_rankings"]

#: Added to ranks: the first few ranks count nearly the same. The usual constant of reciprocal rank fusion.
_OFFSET = 60
#: A caption with all words of the query counts this much; the code counts 1.
_WORDS_WEIGHT = 3.0


class FusedRanking(NamedTuple):
    """Entries in their new order; rows of the same number belong together.

    Attributes
    ----------
    entries : int array of shape (m,)
    scores : float array of shape (m,)
        What the order is by; larger is better.
    by_codes, by_words : bool arrays of shape (m,)
        Which of the two rankings have the entry.
    """

    entries: NDArray[np.int64]
    scores: NDArray[np.float64]
    by_codes: BoolArray
    by_words: BoolArray


def fuse_rankings(
    by_codes: NDArray[np.int64],
    captioned: BoolArray,
    by_words: NDArray[np.int64],
    word_ranks: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> FusedRanking:
    r"""Reciprocal rank fusion, in which a caption counts by the share of the query that it has.

    With the ranks :math:`c` by codes and :math:`w` by words (from 0), and the share :math:`s`, the score is

    .. math:: \frac{1}{60 + c} + \frac{3 s^2}{60 + w},

    where a ranking that does not have the entry adds nothing. An object without a caption cannot match
    words. So that this does not count against it, its second term is its first one times the square of the
    largest share: if no caption has a word of the query, words say nothing about any object, and the order is by
    codes.

    Parameters
    ----------
    by_codes : distinct entries of shape (n,), nearest first
    captioned : bool array of shape (n,)
        Which of them have a caption.
    by_words : distinct entries of shape (m,)
    word_ranks : int array of shape (m,)
        Their ranks by words; several entries may have the same.
    shares : array of shape (m,)
        The share of the query that each of their captions has, by the weight of the words.

    Examples
    --------
    >>> fused = fuse_rankings(
    ...     np.array([7, 8]), np.array([True, True]), np.array([9, 8]), np.array([0, 1]), np.array([1.0, 0.5])
    ... )
    >>> fused.entries.tolist(), fused.by_codes.tolist(), fused.by_words.tolist()
    ([9, 8, 7], [False, True, True], [True, True, False])
    """
    entries = np.concatenate([by_codes, by_words])
    code_score = 1 / (_OFFSET + np.arange(len(by_codes)))
    word_score = _WORDS_WEIGHT * shares**2 / (_OFFSET + word_ranks)
    distinct, place = np.unique(entries, return_inverse=True)
    n = len(by_codes)
    scores = np.zeros(len(distinct))
    scores[place[:n]] += code_score * (1 + ~captioned * shares.max(initial=0.0) ** 2)
    scores[place[n:]] += word_score
    has_code, has_words = np.zeros((2, len(distinct)), dtype=np.bool_)
    has_code[place[:n]] = has_words[place[n:]] = True
    first = np.full(len(distinct), len(entries))
    np.minimum.at(first, place, np.arange(len(entries)))
    order = np.lexsort((first, -scores))
    return FusedRanking(distinct[order], scores[order], has_code[order], has_words[order])
