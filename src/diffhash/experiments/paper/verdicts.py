"""What a finding is, and how a verdict follows from outcomes."""

from __future__ import annotations

from dataclasses import dataclass

from .methods import METHODS
from .seed_statistics import Numbers

__all__ = [
    "AGREES",
    "BASELINE",
    "DISAGREES",
    "OURS",
    "PARTLY",
    "SEARCHED",
    "Finding",
    "figure_length",
    "verdict",
]

AGREES, PARTLY, DISAGREES = "agrees", "partly", "does not agree"
#: The paper's own methods, the method that it compares with, and that method with more search.
OURS = [key for key, method in METHODS.items() if method.ours]
BASELINE, SEARCHED = "cm-ssh", "cm-ssh-5"


@dataclass(frozen=True)
class Finding:
    """One statement of the paper beside what was measured.

    Attributes
    ----------
    statement : str
        The paper's words, or what its figure shows.
    rule : str
        When it counts as agreeing.
    verdict : {"agrees", "partly", "does not agree"}
    conclusion : str
        What follows, in one sentence, from the same numbers.
    evidence : tuple of str
        The numbers.
    """

    statement: str
    rule: str
    verdict: str
    conclusion: str
    evidence: tuple[str, ...]


def figure_length(numbers: Numbers, key: str, n_classes: int) -> int:
    """Bits of a method in Figure 1: as many as there are classes, or as it can give."""
    settings = numbers.results.settings
    return min(settings.roc_length(n_classes), METHODS[key].longest(settings))


def verdict(outcomes: list[tuple[bool, bool]]) -> str:
    """All clearly so; some so; none.

    Parameters
    ----------
    outcomes : list of (bool, bool)
        Whether something holds in the mean, and whether it clearly holds.

    Examples
    --------
    >>> verdict([(True, True), (True, False)])
    'partly'
    """
    if all(clearly for _, clearly in outcomes):
        return AGREES
    return PARTLY if any(mean for mean, _ in outcomes) else DISAGREES
