"""The paper's statements, each checked by an explicit rule on the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .methods import METHODS
from .spread import Numbers, Spread

__all__ = ["AGREES", "DISAGREES", "PARTLY", "Finding", "check_statements"]

AGREES, PARTLY, DISAGREES = "agrees", "partly", "does not agree"
_OURS = [key for key, method in METHODS.items() if method.ours]
_BASELINE, _SEARCHED = "cm-ssh", "cm-ssh-5"


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
    evidence : tuple of str
        The numbers.
    """

    statement: str
    rule: str
    verdict: str
    evidence: tuple[str, ...]


def check_statements(numbers: Numbers) -> list[Finding]:
    """All statements that the settings allow to check."""
    checks: list[Callable[[Numbers], Finding | None]] = [
        _accuracy,
        _accuracy_at_all_lengths,
        _accuracy_against_search,
        _training_time,
        _order_of_times,
        _more_classes,
        _long_hashes,
        _linear_limit,
        _gamma,
        _gamma_limit,
    ]
    return [finding for check in checks if (finding := check(numbers)) is not None]


def _accuracy(numbers: Numbers) -> Finding:
    return Finding(
        "“Our methods clearly outperform CM-SSH […] in accuracy” (section 6, Figure 1)",
        "At the lengths of Figure 1, the worst seed of each of the paper's methods is better than the best "
        "seed of CM-SSH, in EER and in mAP.",
        _verdict(_comparisons(numbers, _BASELINE)),
        tuple(_accuracy_lines(numbers, _BASELINE)),
    )


def _accuracy_against_search(numbers: Numbers) -> Finding:
    return Finding(
        "The same, against CM-SSH that tries five directions for each bit (a passage that is commented out in the "
        "paper's source says that CM-SSH searched a subspace of several singular vectors)",
        "As above, with the best of the first five singular pairs taken for each bit of CM-SSH.",
        _verdict(_comparisons(numbers, _SEARCHED)),
        tuple(_accuracy_lines(numbers, _SEARCHED)),
    )


def _comparisons(numbers: Numbers, baseline: str) -> list[tuple[bool, bool]]:
    """(better in the mean, better for all seeds), for each method, number of classes and measure."""
    found = []
    for n_classes in numbers.results.settings.classes:
        for measure, sign in (("eer", -1), ("map", 1)):
            theirs = numbers.accuracy(baseline, n_classes, _length(numbers, baseline, n_classes), measure)
            for key in _OURS:
                ours = numbers.accuracy(key, n_classes, _length(numbers, key, n_classes), measure)
                found.append((sign * (ours.mean - theirs.mean) > 0, _clearly_better(ours, theirs, sign)))
    return found


def _clearly_better(ours: Spread, theirs: Spread, sign: int) -> bool:
    return ours.low > theirs.high if sign > 0 else ours.high < theirs.low


def _accuracy_lines(numbers: Numbers, baseline: str) -> Iterable[str]:
    for n_classes in numbers.results.settings.classes:
        parts = []
        for key in (baseline, *_OURS):
            length = _length(numbers, key, n_classes)
            eer, map_ = (numbers.accuracy(key, n_classes, length, measure) for measure in ("eer", "map"))
            parts.append(f"{METHODS[key].short} {eer.mean:.3f} / {map_.mean:.3f}")
        yield f"K = {n_classes}, EER / mAP: {'; '.join(parts)}."


def _accuracy_at_all_lengths(numbers: Numbers) -> Finding:
    settings = numbers.results.settings
    outcomes, lines = [], []
    for key in _OURS:
        lost = []
        for n_classes in settings.classes:
            for m in settings.bits:
                if m <= METHODS[key].longest(settings):
                    ours, theirs = (numbers.accuracy(k, n_classes, m, "eer").mean for k in (key, _BASELINE))
                    outcomes.append((ours < theirs, ours < theirs))
                    if ours >= theirs:
                        lost.append((n_classes, m))
        where = "; ".join(
            f"K = {k}: m = {', '.join(str(m) for n, m in lost if n == k)}"
            for k in dict.fromkeys(n for n, _ in lost)
        )
        lines.append(
            f"{METHODS[key].short}: " + (f"higher EER than CM-SSH at {where}." if lost else "always lower.")
        )
    return Finding(
        "The same at every hash length (Figure 2)",
        "The mean EER of each of the paper's methods is below that of CM-SSH at every length of the same K.",
        _verdict(outcomes),
        tuple(lines),
    )


def _training_time(numbers: Numbers) -> Finding:
    seconds = {key: numbers.training_seconds(key) for key in METHODS}
    base = seconds[_BASELINE]
    return Finding(
        "“Our methods clearly outperform CM-SSH both in accuracy and training time” (section 6)",
        "The slowest fit of each of the paper's methods is faster than the fastest of CM-SSH.",
        _verdict([(seconds[k].mean < base.mean, seconds[k].high < base.low) for k in _OURS]),
        tuple(f"{METHODS[key].short}: {seconds[key].mean:.2f} s." for key in METHODS),
    )


def _order_of_times(numbers: Numbers) -> Finding:
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
        "The order is the same. Ratios are shown and not judged: machines and libraries are 15 years apart.",
        _verdict([(here[a] < here[b],) * 2 for a, b in pairs]),
        tuple(lines),
    )


def _more_classes(numbers: Numbers) -> Finding | None:
    settings = numbers.results.settings
    few, many = min(settings.classes), max(settings.classes)
    if few == many:
        return None

    def at(key: str, n_classes: int) -> float:
        return numbers.accuracy(key, n_classes, _length(numbers, key, n_classes), "map").mean

    loss = {key: 1 - at(key, many) / max(at(key, few), 1e-9) for key in METHODS}
    falls = loss[_BASELINE] > 0.3
    stay = [loss[key] < loss[_BASELINE] / 2 for key in _OURS]
    verdict = AGREES if falls and all(stay) else PARTLY if falls and any(stay) else DISAGREES
    return Finding(
        "“The performance of CM-SSH seems to fall dramatically with […] more classes, while our methods continue "
        "producing good performance” (section 6)",
        f"From K = {few} to K = {many}, at the lengths of Figure 1, CM-SSH loses more than 30 % of its mAP, and each "
        "of the paper's methods less than half of what CM-SSH loses.",
        verdict,
        tuple(
            f"{METHODS[key].short}: mAP {at(key, few):.3f} → {at(key, many):.3f} ({-100 * loss[key]:+.0f} %)."
            for key in METHODS
        ),
    )


def _long_hashes(numbers: Numbers) -> Finding:
    settings = numbers.results.settings
    outcomes, lines = [], []
    for n_classes in settings.classes:
        curve = {m: numbers.accuracy(_BASELINE, n_classes, m, "map").mean for m in settings.bits}
        best = max(curve, key=curve.__getitem__)
        parts = []
        for key in _OURS:
            lengths = [m for m in settings.bits if m <= METHODS[key].longest(settings)]
            enough = [m for m in lengths if numbers.accuracy(key, n_classes, m, "map").mean >= curve[best]]
            outcomes.append((bool(enough) and enough[0] < best,) * 2)
            parts.append(f"{METHODS[key].short} " + (f"with {enough[0]} bits" if enough else "at no length"))
        lines.append(
            f"K = {n_classes}: CM-SSH is best with {best} bits, mAP {curve[best]:.3f}; that is reached by "
            + ", ".join(parts)
            + "."
        )
    return Finding(
        "Boosting has a “tendency to find unnecessary long hashes” (section 3)",
        "Each of the paper's methods reaches the best mAP of CM-SSH with fewer bits.",
        _verdict(outcomes),
        tuple(lines),
    )


def _linear_limit(numbers: Numbers) -> Finding:
    settings = numbers.results.settings
    lengths = [m for m in settings.bits if m <= METHODS["cm-dif"].longest(settings)]
    outcomes, lines = [], []
    for n_classes in settings.classes:
        curve = {m: numbers.accuracy("cm-dif", n_classes, m, "map").mean for m in lengths}
        best = max(curve, key=curve.__getitem__)
        outcomes.append((best == lengths[-1],) * 2)
        lines.append(
            f"K = {n_classes}: mAP is best at m = {best} ({curve[best]:.3f}); at m = {lengths[-1]} it is "
            f"{curve[lengths[-1]]:.3f}."
        )
    return Finding(
        "“The length of CM-DIF hash is limited by the data dimensionality” (Figure 2), which “may be too low” "
        "(section 5)",
        "More bits than 64 are indeed refused. It counts as a limit if the longest hash is the best one for every K; "
        "otherwise the number of classes is the tighter limit: they determine K − 1 bits, and the rest are noise.",
        AGREES if all(a for a, _ in outcomes) else PARTLY,
        tuple(lines),
    )


def _gamma(numbers: Numbers) -> Finding | None:
    settings = numbers.results.settings
    positive = [gamma for gamma in settings.gammas if gamma > 0]
    if len(positive) < 2:
        return None
    outcomes, lines = [], []
    for key in _OURS:
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
    return Finding(
        "“The parameter γ controls the tradeoff between FPR and FNR” (section 4)",
        "Among γ > 0, FNR and FPR (section 2: the mean share of bits that differ on positives, and that agree on "
        "negatives) change by more than 0.02, and by more than they do between seeds. Here γ weighs the covariances; "
        "thresholds weigh both errors equally, since γ = 10 there makes bits constant.",
        _verdict(outcomes),
        tuple(lines),
    )


def _gamma_limit(numbers: Numbers) -> Finding | None:
    settings = numbers.results.settings
    if not {1000.0, float("inf")} <= set(settings.gammas):
        return None
    outcomes, lines = [], []
    for key in _OURS:
        large, limit = (numbers.sweep(key, "map", gamma=g).mean for g in (1000.0, float("inf")))
        outcomes.append((abs(large - limit) < 0.01,) * 2)
        lines.append(f"{METHODS[key].short}: mAP {large:.3f} at γ = 1000, {limit:.3f} with positives only.")
    return Finding(
        "“The limit case γ ≫ 1 effectively considers only the positive pairs” (section 4)",
        "mAP at γ = 1000 is within 0.01 of that with γ = ∞.",
        _verdict(outcomes),
        tuple(lines),
    )


def _gamma_text(gamma: float) -> str:
    return "∞" if gamma == float("inf") else f"{gamma:g}"


def _length(numbers: Numbers, key: str, n_classes: int) -> int:
    settings = numbers.results.settings
    return min(settings.roc_length(n_classes), METHODS[key].longest(settings))


def _verdict(outcomes: list[tuple[bool, bool]]) -> str:
    """All clearly so; some so; none.

    Examples
    --------
    >>> _verdict([(True, True), (True, False)])
    'partly'
    """
    if all(clearly for _, clearly in outcomes):
        return AGREES
    return PARTLY if any(mean for mean, _ in outcomes) else DISAGREES
