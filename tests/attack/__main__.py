"""Run the attack: ``python -m tests.attack``, or one case of it: ``python -m tests.attack --case TARGET:SEED``."""

from __future__ import annotations

import argparse
import os

from .campaign import run_campaign
from .report import write_report
from .runner import runner
from .targets import TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument(
        "--case", metavar="TARGET:SEED", action="append", help="run only this case and say what came of it"
    )
    parser.add_argument("--minutes", type=float, default=60, help="how long to attack (default: 60)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="number of processes (default: one for each core)"
    )
    parser.add_argument("--seed", type=int, default=None, help="first seed (default: from the clock)")
    parser.add_argument(
        "--target", action="append", choices=sorted(TARGETS), help="only this target; repeat for more"
    )
    parser.add_argument("--no-report", action="store_true", help="do not write the counts into SECURITY.md")
    options = parser.parse_args()
    if options.case:
        raise SystemExit(_show_cases(options.case))
    counts = run_campaign(
        options.target or sorted(TARGETS), options.minutes * 60, options.workers, options.seed
    )
    print(counts.table())
    if not options.no_report:
        write_report(counts)
    raise SystemExit(bool(counts.findings))


def _show_cases(cases: list[str]) -> int:
    found = 0
    for case in cases:
        name, _, seed = case.partition(":")
        with runner(name) as worker:
            result = worker.run(name, int(seed))
        print(f"{case}: {result.outcome}\n{result.detail}")
        found += result.is_finding
    return int(found > 0)


if __name__ == "__main__":
    main()
