"""Edit distance by recursion, and the fusion of two rankings entry by entry: slow and obvious."""

from __future__ import annotations

from functools import cache


def edit_distance(a, b):
    """Insertions, deletions, replacements and exchanges of neighbours that turn a into b."""

    @cache
    def of(i, j):
        if i == 0 or j == 0:
            return i + j
        best = min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            best = min(best, of(i - 2, j - 2) + 1)
        return best

    return of(len(a), len(b))


def fused(by_codes, captioned, by_words, word_ranks, shares):
    """List of (entry, score, in codes, in words), best first; at equal scores codes come first, then words."""
    scores = {}
    for rank, (entry, has_caption) in enumerate(zip(by_codes, captioned, strict=True)):
        scores[entry] = (1 if has_caption else 1 + max(shares, default=0) ** 2) / (60 + rank)
    for entry, rank, share in zip(by_words, word_ranks, shares, strict=True):
        scores[entry] = scores.get(entry, 0) + 3 * share**2 / (60 + rank)
    first = {entry: place for place, entry in reversed(list(enumerate([*by_codes, *by_words])))}
    order = sorted(scores, key=lambda entry: (-scores[entry], first[entry]))
    return [(entry, scores[entry], entry in by_codes, entry in by_words) for entry in order]
