"""Check the claims of the paper about accuracy."""

from __future__ import annotations

from collections.abc import Iterable

from .methods import METHODS
from .seed_statistics import SeedStatistics, Spread
from .verdicts import AGREES, BASELINE, OURS, PARTLY, SEARCHED, Finding, figure_length, verdict

__all__ = [
    "accuracy",
    "accuracy_against_search",
    "accuracy_at_all_lengths",
    "linear_limit",
    "long_hashes",
    "more_classes",
]


def accuracy(numbers: SeedStatistics) -> Finding:
    """Section 6: the methods of the paper are better than CM-SSH at the lengths of Figure 1."""
    return Finding(
        "“Our methods clearly outperform CM-SSH […] in accuracy” (section 6, Figure 1)",
        "At the lengths of Figure 1, the worst seed of each of the paper's methods is better than the best "
        "seed of CM-SSH, in EER and in mAP.",
        *_compared(numbers, BASELINE),
        tuple(_accuracy_lines(numbers, BASELINE)),
    )


def accuracy_against_search(numbers: SeedStatistics) -> Finding:
    """The same claim, against a CM-SSH that tries several directions for each bit."""
    return Finding(
        "The same, against CM-SSH that tries five directions for each bit (a passage that is commented out in the "
        "paper's source says that CM-SSH searched a subspace of several singular vectors)",
        "As above, but CM-SSH uses the best of the first five singular pairs for each bit.",
        *_compared(numbers, SEARCHED),
        tuple(_accuracy_lines(numbers, SEARCHED)),
    )


def _compared(numbers: SeedStatistics, baseline: str) -> tuple[str, str]:
    """Compare the methods of the paper with a baseline, over all K and both measures; return verdict and conclusion."""
    outcomes: list[tuple[bool, bool]] = []
    worse, unclear = [], []
    for key in OURS:
        for n_classes in numbers.results.settings.classes:
            means, clear = [], []
            for measure, sign in (("eer", -1), ("map", 1)):
                ours, theirs = (
                    numbers.accuracy(k, n_classes, figure_length(numbers, k, n_classes), measure)
                    for k in (key, baseline)
                )
                means.append(sign * (ours.mean - theirs.mean) > 0)
                clear.append(_clearly_better(ours, theirs, sign))
            outcomes += zip(means, clear, strict=True)
            if not all(means):
                worse.append(f"{METHODS[key].short} at K = {n_classes}")
            elif not all(clear):
                unclear.append(f"{METHODS[key].short} at K = {n_classes}")
    name = METHODS[baseline].short
    conclusion = f"Worse than {name} in one measure or both: {', '.join(worse)}. " if worse else ""
    conclusion += f"Better on average, but not for all seeds: {', '.join(unclear)}. " if unclear else ""
    rest = "All others are" if worse or unclear else "All are"
    conclusion += f"{rest} clearly better." if any(clearly for _, clearly in outcomes) else ""
    return verdict(outcomes), conclusion.strip()


def _clearly_better(ours: Spread, theirs: Spread, sign: int) -> bool:
    return ours.low > theirs.high if sign > 0 else ours.high < theirs.low


def _accuracy_lines(numbers: SeedStatistics, baseline: str) -> Iterable[str]:
    for n_classes in numbers.results.settings.classes:
        parts = []
        for key in (baseline, *OURS):
            length = figure_length(numbers, key, n_classes)
            eer, map_ = (numbers.accuracy(key, n_classes, length, measure) for measure in ("eer", "map"))
            parts.append(f"{METHODS[key].short} {eer.mean:.3f} / {map_.mean:.3f}")
        yield f"K = {n_classes}, EER / mAP: {'; '.join(parts)}."


def accuracy_at_all_lengths(numbers: SeedStatistics) -> Finding:
    """Figure 2: the methods of the paper are better than CM-SSH at every length."""
    settings = numbers.results.settings
    outcomes, lines, beyond = [], [], 0
    for key in OURS:
        lost = []
        for n_classes in settings.classes:
            for m in settings.bits:
                if m <= METHODS[key].longest(settings):
                    ours, theirs = (numbers.accuracy(k, n_classes, m, "eer").mean for k in (key, BASELINE))
                    outcomes.append((ours < theirs, ours < theirs))
                    if ours >= theirs:
                        lost.append((n_classes, m))
                        beyond += m > n_classes - 1
        where = "; ".join(
            f"K = {k}: m = {', '.join(str(m) for n, m in lost if n == k)}"
            for k in dict.fromkeys(n for n, _ in lost)
        )
        lines.append(
            f"{METHODS[key].short}: " + (f"higher EER than CM-SSH at {where}." if lost else "always lower.")
        )
    won = sum(mean for mean, _ in outcomes)
    conclusion = f"Better in {won} of {len(outcomes)} cases."
    if won < len(outcomes):
        conclusion += (
            f" In {beyond} of the {len(outcomes) - won} other cases the hash has more than K − 1 bits."
        )
    return Finding(
        "The same at every hash length (Figure 2)",
        "The mean EER of each of the paper's methods is below that of CM-SSH at every length of the same K.",
        verdict(outcomes),
        conclusion,
        tuple(lines),
    )


def more_classes(numbers: SeedStatistics) -> Finding | None:
    """Section 6: with more classes CM-SSH gets worse, the methods of the paper do not."""
    settings = numbers.results.settings
    few, many = min(settings.classes), max(settings.classes)
    if few == many:
        return None

    def at(key: str, n_classes: int) -> float:
        return numbers.accuracy(key, n_classes, figure_length(numbers, key, n_classes), "map").mean

    loss = {key: 1 - at(key, many) / max(at(key, few), 1e-9) for key in METHODS}
    falls = loss[BASELINE] > 0.3
    stays = {key: loss[key] < loss[BASELINE] / 2 for key in OURS}
    fallen = [f"{METHODS[key].short} ({100 * loss[key]:.0f} %)" for key in OURS if not stays[key]]
    conclusion = f"CM-SSH loses {100 * loss[BASELINE]:.0f} %."
    if fallen:
        conclusion += f" Not much better, or worse: {', '.join(fallen)}."
    return Finding(
        "“The performance of CM-SSH seems to fall dramatically with […] more classes, while our methods continue "
        "producing good performance” (section 6)",
        f"From K = {few} to K = {many}, at the lengths of Figure 1, CM-SSH loses more than 30 % of its mAP, and each "
        "of the paper's methods loses less than half as much as CM-SSH.",
        verdict([(holds, holds) for holds in (falls, *stays.values())]),
        conclusion,
        tuple(
            f"{METHODS[key].short}: mAP {at(key, few):.3f} → {at(key, many):.3f} ({-100 * loss[key]:+.0f} %)."
            for key in METHODS
        ),
    )


def long_hashes(numbers: SeedStatistics) -> Finding:
    """Section 3: boosting needs longer hashes."""
    settings = numbers.results.settings
    outcomes, lines = [], []
    for n_classes in settings.classes:
        curve = {m: numbers.accuracy(BASELINE, n_classes, m, "map").mean for m in settings.bits}
        best = max(curve, key=curve.__getitem__)
        parts = []
        for key in OURS:
            lengths = [m for m in settings.bits if m <= METHODS[key].longest(settings)]
            enough = [m for m in lengths if numbers.accuracy(key, n_classes, m, "map").mean >= curve[best]]
            outcomes.append((bool(enough) and enough[0] < best,) * 2)
            parts.append(
                f"{METHODS[key].short} " + (f"with {enough[0]} bits" if enough else "at no length tried")
            )
        lines.append(
            f"K = {n_classes}: CM-SSH is best with {best} bits, mAP {curve[best]:.3f}. The same mAP is reached by "
            + ", ".join(parts)
            + "."
        )
    return Finding(
        "Boosting has a “tendency to find unnecessary long hashes” (section 3)",
        "Each of the paper's methods reaches the best mAP of CM-SSH with fewer bits.",
        verdict(outcomes),
        f"True in {sum(mean for mean, _ in outcomes)} of {len(outcomes)} cases.",
        tuple(lines),
    )


def linear_limit(numbers: SeedStatistics) -> Finding:
    """Figure 2: the dimension of the data limits the length of CM-DIF."""
    settings = numbers.results.settings
    lengths = [m for m in settings.bits if m <= METHODS["cm-dif"].longest(settings)]
    outcomes, lines = [], []
    for n_classes in settings.classes:
        curve = {m: numbers.accuracy("cm-dif", n_classes, m, "map").mean for m in lengths}
        best = max(curve, key=curve.__getitem__)
        outcomes.append(best == lengths[-1])
        lines.append(
            f"K = {n_classes}: mAP is best at m = {best} ({curve[best]:.3f}); at m = {lengths[-1]} it is "
            f"{curve[lengths[-1]]:.3f}."
        )
    return Finding(
        "“The length of CM-DIF hash is limited by the data dimensionality” (Figure 2), which “may be too low” "
        "(section 5)",
        "More than 64 bits are refused. This counts as a limit if the longest hash is the best one for every K. "
        "Otherwise the number of classes is the tighter limit: K classes determine K − 1 bits, the others are noise.",
        AGREES if all(outcomes) else PARTLY,
        "The longest hash is the best one."
        if all(outcomes)
        else "A hash shorter than the dimension allows is better.",
        tuple(lines),
    )
