"""A short attack in every test run: the same cases each time. ``make attack`` runs new ones for an hour."""

from __future__ import annotations

import pytest

from .runner import describe
from .targets import CRASH_TARGETS, TARGETS


def findings(worker, name):
    """Descriptions of the findings of a target, one for each place."""
    found = {}
    for seed in range(TARGETS[name].quick):
        result = worker.run(name, seed)
        if result.is_finding:
            found.setdefault(result.signature, describe(name, seed, result))
    return list(found.values())


@pytest.mark.parametrize("name", sorted(set(TARGETS) - CRASH_TARGETS))
def test_hostile_input_is_used_or_refused_with_an_error_of_ours(worker, name):
    found = findings(worker, name)

    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("name", sorted(CRASH_TARGETS))
def test_after_a_crash_every_acknowledged_call_is_there_and_no_call_in_part(crash_worker, name):
    found = findings(crash_worker, name)

    assert not found, "\n\n".join(found)
