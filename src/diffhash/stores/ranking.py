"""What the calibration of the model says about a search: the order of its hits, chances, and a limit of the distance.

Ranking is by Hamming distance, or *asymmetric*: the query keeps its real values, and an item is scored by how well its
bits agree with them. The values are weighted by how reliable they are for each bit. The items that are ranked in this
way are the nearest by Hamming distance, see :func:`diffhash.search.asymmetric_search`.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CalibrationError, ParameterError
from ..model import HashModel
from ..model.calibration import CoupleCalibration
from ..search.calibration import FalseMatchLimit, chance_at, false_match_limit
from ..types import FloatArray
from .search_options import SearchOptions

__all__ = ["Judgement", "check_options", "judge", "match_limit", "ranking_scale"]

_LARGEST = 1e300
_RANKINGS = ("auto", "hamming", "asymmetric")


@dataclass(frozen=True)
class Judgement:
    """What is known about hits in one modality.

    Attributes
    ----------
    radius : int or None
        Largest distance of a hit; -1 if nothing may be found, None without a limit.
    chances : float array of shape (n_bits + 1,) or None
        Chance that a hit at each distance is right.
    """

    radius: int | None = None
    chances: FloatArray | None = None

    def allows(self, distance: int) -> bool:
        """Whether a hit at this distance may be shown."""
        return self.radius is None or distance <= self.radius

    def chance(self, distance: int) -> float | None:
        """Chance of a hit at this distance."""
        return None if self.chances is None else float(self.chances[distance])


def check_options(options: SearchOptions, *, caller: str) -> None:
    """Raise unless the options that concern words and the calibration are valid."""
    if not isinstance(options.rank, str) or options.rank not in _RANKINGS:
        raise ParameterError(
            f'{caller}: rank must be "auto", "hamming" or "asymmetric", got {options.rank!r:.60}.'
        )
    if options.words is not None and not isinstance(options.words, bool):
        raise ParameterError(f"{caller}: words must be True, False or None, got {options.words!r:.60}.")
    for name in ("max_false_matches", "expected_matches"):
        value = getattr(options, name)
        if value is not None and not _is_positive(value):
            raise ParameterError(f"{caller}: {name} must be a finite number above 0, got {value!r:.60}.")
    if options.max_false_matches is not None and options.modality is None:
        raise CalibrationError(
            f"{caller}: max_false_matches needs queries of one known modality. Say which one: modality=..."
        )


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    # Compared before it is converted: a whole number may be too large for a float.
    return is_number and bool(0 < value <= _LARGEST)


def ranking_scale(
    model: HashModel, into: Sequence[str], options: SearchOptions, *, caller: str
) -> FloatArray | None:
    """Divisors of the query's values for asymmetric ranking; None to rank by distance.

    Parameters
    ----------
    model : HashModel
    into : list of str
        Modalities that are searched.
    options : SearchOptions
    caller : str
    """
    slopes = model.fusion_slopes or {}
    # The model is going to say what is wrong with a modality that is not a string.
    query = options.modality if isinstance(options.modality, str) else None
    if options.rank == "asymmetric" and query not in slopes:
        raise CalibrationError(
            f'{caller}: rank="asymmetric" needs a calibrated model, and a query of one of its modalities. '
            "Fit with calibrate=True, or call hasher.calibrate."
        )
    if options.rank == "hamming" or query is None or query not in slopes:
        return None
    if options.rank == "auto":
        couples = [_couple(model, query, name) for name in into]
        if not couples or not all(couple is not None and couple.prefers_asymmetric for couple in couples):
            return None
    return 1.0 / slopes[query]


def judge(
    model: HashModel | None, sizes: Sequence[tuple[str, int]], options: SearchOptions, *, caller: str
) -> list[Judgement]:
    """What is known about the hits of a search, for each modality that is searched.

    Parameters
    ----------
    model : HashModel or None
    sizes : list of (modality, number of items that are searched)
    options : SearchOptions
    caller : str

    Raises
    ------
    CalibrationError
        If ``max_false_matches`` cannot be promised.
    """
    total = sum(n for _, n in sizes)
    found = []
    for name, n in sizes:
        couple = None if model is None else _couple(model, options.modality, name)
        radius = options.radius
        if options.max_false_matches is not None and n:
            # The promise is for all modalities together; each takes its share.
            share = float(options.max_false_matches) * n / total
            promised = match_limit(model, couple, (options.modality, name), n, share, caller=caller).radius
            radius = promised if radius is None else min(radius, promised)
        expected = options.expected_matches
        if expected is not None:
            expected = float(expected) * n / max(total, 1)
        found.append(Judgement(radius, None if couple is None or not n else chance_at(couple, n, expected)))
    return found


def match_limit(
    model: HashModel | None,
    couple: CoupleCalibration | None,
    names: tuple[str | None, str],
    n_items: int,
    max_false_matches: float,
    *,
    caller: str,
) -> FalseMatchLimit:
    """:func:`false_match_limit` of a couple that may be unknown."""
    if couple is not None:
        return false_match_limit(couple, n_items, max_false_matches, caller=caller)
    if model is None or model.calibration is None:
        raise CalibrationError(
            f"{caller}: max_false_matches needs a calibrated model. Fit with calibrate=True, or call "
            "hasher.calibrate and give the model to the collection again."
        )
    known = ", ".join(f"{a!r} into {b!r}" for a, b in model.calibration.couples)
    raise CalibrationError(
        f"{caller}: the calibration says nothing about searches with {names[0]!r} into {names[1]!r}. It knows {known}."
    )


def _couple(model: HashModel, query: str | None, into: str) -> CoupleCalibration | None:
    calibration = model.calibration
    if calibration is None or not isinstance(query, str) or not isinstance(into, str):
        return None
    return calibration.couple(query, into)
