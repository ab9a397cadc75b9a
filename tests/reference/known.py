"""Adding codes that are not known, one after the other."""

from __future__ import annotations

import numpy as np

from .joins import distance


def add_one_by_one(
    stored: list[tuple[object, np.ndarray]], codes: np.ndarray, ids: list[object], radius: int
) -> list[tuple[object, bool]]:
    """For each code the id under which it is known afterwards, and whether it was added."""
    content, result = list(stored), []
    for code, id_ in zip(codes, ids, strict=True):
        near = [(distance(code, other), place) for place, (_, other) in enumerate(content)]
        d, place = min(near, default=(radius + 1, -1))
        if d <= radius:
            result.append((content[place][0], False))
        else:
            content.append((id_, code))
            result.append((id_, True))
    return result
