"""The paper's statements, each checked by an explicit rule on the numbers."""

from __future__ import annotations

from collections.abc import Callable

from . import accuracy_claims
from . import time_and_gamma_claims as cost_claims
from .seed_statistics import Numbers
from .verdicts import Finding

__all__ = ["check_statements"]

_CHECKS: tuple[Callable[[Numbers], Finding | None], ...] = (
    accuracy_claims.accuracy,
    accuracy_claims.accuracy_at_all_lengths,
    accuracy_claims.accuracy_against_search,
    cost_claims.training_time,
    cost_claims.order_of_times,
    accuracy_claims.more_classes,
    accuracy_claims.long_hashes,
    accuracy_claims.linear_limit,
    cost_claims.gamma,
    cost_claims.gamma_limit,
)


def check_statements(numbers: Numbers) -> list[Finding]:
    """All statements that the settings allow to check."""
    return [finding for check in _CHECKS if (finding := check(numbers)) is not None]
