"""Check all claims of the paper; each has an explicit rule on the numbers."""

from __future__ import annotations

from collections.abc import Callable

from . import accuracy_claims, within_claims
from . import time_and_gamma_claims as cost_claims
from .seed_statistics import SeedStatistics
from .verdicts import Finding

__all__ = ["check_claims"]

_CHECKS: tuple[Callable[[SeedStatistics], Finding | None], ...] = (
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
    within_claims.kernels_keep_distances,
)


def check_claims(numbers: SeedStatistics) -> list[Finding]:
    """Check all claims that can be checked with these settings."""
    return [finding for check in _CHECKS if (finding := check(numbers)) is not None]
