"""Check the claims of the paper about training time and about gamma."""

from __future__ import annotations

from .methods import METHODS
from .seed_statistics import SeedStatistics
from .verdicts import BASELINE, OURS, Finding, verdict

__all__ = ["gamma", "gamma_limit", "order_of_times", "training_time"]


def training_time(numbers: SeedStatistics) -> Finding:
    """Section 6: the methods of the paper train faster than CM-SSH."""
    seconds = {key: numbers.training_seconds(key) for key in METHODS}
    base = seconds[BASELINE]
    slower = [METHODS[key].short for key in OURS if seconds[key].mean >= base.mean]
    return Finding(
        "“Our methods clearly outperform CM-SSH both in accuracy and training time” (section 6)",
        "The slowest fit of each of the paper's methods is faster than the fastest fit of CM-SSH.",
        verdict([(seconds[k].mean < base.mean, seconds[k].high < base.low) for k in OURS]),
        f"Slower than CM-SSH here: {', '.join(slower)}." if slower else "All of them are faster than CM-SSH.",
        tuple(f"{METHODS[key].short}: {seconds[key].mean:.2f} s." for key in METHODS),
    )


def order_of_times(numbers: SeedStatistics) -> Finding:
    """Section 6: the order of the methods by training time."""
    paper = {key: seconds for key in METHODS if (seconds := METHODS[key].paper_seconds) is not None}
    here = {key: numbers.training_seconds(key).mean for key in paper}
    lines = [
        f"{METHODS[key].short}: {here[key] / here['cm-dif']:.1f} times CM-DIF, in the paper "
        f"{paper[key] / paper['cm-dif']:.0f} times."
        for key in paper
        if key != "cm-dif"
    ]
    pairs = [(a, b) for a in paper for b in paper if paper[a] < paper[b]]
    return Finding(
        "Training took 162, 0.62 and 28 seconds for CM-SSH, CM-DIF and MM-kDIF (section 6)",
        "The order is the same. Ratios are shown but not judged: machines and libraries are 15 years apart.",
        verdict([(here[a] < here[b],) * 2 for a, b in pairs]),
        f"Fastest to slowest here: {', '.join(METHODS[key].short for key in sorted(here, key=here.__getitem__))}.",
        tuple(lines),
    )


def gamma(numbers: SeedStatistics) -> Finding | None:
    """Section 4: gamma trades one kind of error for the other."""
    settings = numbers.results.settings
    positive = [gamma for gamma in settings.gammas if gamma > 0]
    if len(positive) < 2:
        return None
    outcomes, lines = [], []
    for key in OURS:
        spreads = {
            rate: {g: numbers.sweep(key, rate, gamma=g) for g in settings.gammas} for rate in ("fnr", "fpr")
        }
        for by_gamma in spreads.values():
            means = [by_gamma[gamma].mean for gamma in positive]
            noise = max(by_gamma[gamma].high - by_gamma[gamma].low for gamma in positive)
            outcomes.append((max(means) - min(means) > max(noise, 0.02),) * 2)
        values = ", ".join(
            f"{spreads['fnr'][g].mean:.3f} / {spreads['fpr'][g].mean:.3f} (γ = {_gamma_text(g)})"
            for g in settings.gammas
        )
        lines.append(f"{METHODS[key].short}, FNR / FPR: {values}.")
    some = any(mean for mean, _ in outcomes)
    conclusion = (
        "Some rates change by more than the noise." if some else "No rate changes by more than the noise."
    )
    if 0.0 in settings.gammas:
        zero = [numbers.sweep(key, "map", gamma=0.0).mean < numbers.sweep(key, "map").mean for key in OURS]
        conclusion += (
            f" γ = 0, which uses negatives alone, lowers the mAP of {sum(zero)} of the {len(zero)} methods."
        )
    return Finding(
        "“The parameter γ controls the tradeoff between FPR and FNR” (section 4)",
        "For γ > 0, FNR and FPR change by more than 0.02 and by more than they do between seeds. (Section 2: FNR is "
        "the mean share of bits that differ on positives, FPR the share that agree on negatives.) Here γ weights "
        "the covariances only. Thresholds weight both errors equally, because γ = 10 there makes bits constant.",
        verdict(outcomes),
        conclusion,
        tuple(lines),
    )


def gamma_limit(numbers: SeedStatistics) -> Finding | None:
    """Section 4: with a large gamma only the positive pairs count."""
    settings = numbers.results.settings
    if not {1000.0, float("inf")} <= set(settings.gammas):
        return None
    outcomes, lines = [], []
    for key in OURS:
        large, limit = (numbers.sweep(key, "map", gamma=g).mean for g in (1000.0, float("inf")))
        outcomes.append((abs(large - limit) < 0.01,) * 2)
        lines.append(f"{METHODS[key].short}: mAP {large:.3f} at γ = 1000, {limit:.3f} with positives only.")
    return Finding(
        "“The limit case γ ≫ 1 effectively considers only the positive pairs” (section 4)",
        "mAP at γ = 1000 is within 0.01 of that with γ = ∞.",
        verdict(outcomes),
        "γ = 1000 gives nearly the same result as γ = ∞."
        if all(mean for mean, _ in outcomes)
        else "They differ.",
        tuple(lines),
    )


def _gamma_text(gamma: float) -> str:
    return "∞" if gamma == float("inf") else f"{gamma:g}"
