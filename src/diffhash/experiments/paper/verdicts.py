"""A finding, and the rule that turns outcomes into a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from .methods import METHODS
from .seed_statistics import SeedStatistics

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
#: The methods that the paper proposes.
OURS = [key for key, method in METHODS.items() if method.ours]
#: The method that the paper compares with, and the same method with more directions per bit.
BASELINE, SEARCHED = "cm-ssh", "cm-ssh-5"


@dataclass(frozen=True)
class Finding:
    """One claim of the paper and the result of checking it.

    Attributes
    ----------
    statement : str
        The words of the paper, or what its figure shows.
    rule : str
        Condition under which the results agree with the claim.
    verdict : {"agrees", "partly", "does not agree"}
    conclusion : str
        What the numbers show, in one or two sentences.
    evidence : tuple of str
        The numbers, one line per method or K.
    """

    statement: str
    rule: str
    verdict: str
    conclusion: str
    evidence: tuple[str, ...]


def figure_length(numbers: SeedStatistics, key: str, n_classes: int) -> int:
    """Hash length of a method in Figure 1: the number of classes, or fewer bits if the method cannot have so many."""
    settings = numbers.results.settings
    return min(settings.roc_length(n_classes), METHODS[key].longest(settings))


def verdict(outcomes: list[tuple[bool, bool]]) -> str:
    """Return "agrees" if all outcomes are clear, "partly" if some hold on average, "does not agree" otherwise.

    Parameters
    ----------
    outcomes : list of (bool, bool)
        Whether something holds on average, and whether it holds clearly.

    Examples
    --------
    >>> verdict([(True, True), (True, False)])
    'partly'
    """
    if all(clearly for _, clearly in outcomes):
        return AGREES
    return PARTLY if any(mean for mean, _ in outcomes) else DISAGREES
