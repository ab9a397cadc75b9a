"""A long attack: targets in turn, on several processes, with new seeds until the time is over."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from .runner import describe, runner
from .targets import CRASH_TARGETS
from .worker import Worker

__all__ = ["Counts", "run_campaign"]


@dataclass
class Counts:
    """What came of all cases, by target; findings only once for each place."""

    seed: int
    seconds: float = 0.0
    outcomes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    findings: dict[str, str] = field(default_factory=dict)

    def table(self) -> str:
        """The counts as a Markdown table."""
        lines = ["| target | cases | accepted | refused | findings |", "|---|--:|--:|--:|--:|"]
        total: Counter[str] = Counter()
        for name, counts in [*sorted(self.outcomes.items()), ("**all**", total)]:
            n, accepted, refused = counts.total(), counts["accepted"], counts["refused"]
            lines.append(f"| {name} | {n:,} | {accepted:,} | {refused:,} | {n - accepted - refused:,} |")
            total += counts
        return "\n".join(lines)


def run_campaign(
    targets: Sequence[str], seconds: float, n_workers: int, seed: int | None = None, turn: float = 5.0
) -> Counts:
    """Attack the targets until the time is over, and print every new finding.

    Each target has the seeds from ``seed`` on; by default they begin at a random number. A process spends ``turn``
    seconds on one target before it goes on to the next.
    """
    counts = Counts(random.SystemRandom().randrange(10**9) if seed is None else seed)
    seeds = {name: itertools.count(counts.seed) for name in targets}
    turns = itertools.cycle(targets)
    lock = threading.Lock()
    started = time.monotonic()

    def attack() -> None:
        with ExitStack() as stack:
            workers: dict[bool, Worker] = {}
            while time.monotonic() - started < seconds:
                with lock:
                    name = next(turns)
                kind = name in CRASH_TARGETS
                if kind not in workers:
                    workers[kind] = stack.enter_context(runner(name))
                end = min(time.monotonic() + turn, started + seconds)
                while time.monotonic() < end:
                    with lock:
                        number = next(seeds[name])
                    result = workers[kind].run(name, number)
                    with lock:
                        counts.outcomes[name][result.outcome] += 1
                        place = f"{name}: {result.signature}"
                        if result.is_finding and place not in counts.findings:
                            counts.findings[place] = f"{name}:{number}"
                            print(describe(name, number, result), flush=True)

    threads = [threading.Thread(target=attack) for _ in range(n_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.seconds = time.monotonic() - started
    return counts
