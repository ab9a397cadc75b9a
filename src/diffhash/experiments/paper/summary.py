"""Compute the content of the report: curves, tables, findings."""

from __future__ import annotations

import numpy as np

from .claims import check_claims
from .content import Chart, Curve, Panel, Summary, Table, curve_of
from .measures import DIRECTIONS, RATES
from .methods import METHODS
from .results import Results
from .seed_statistics import SeedStatistics
from .within_summary import within_chart, within_table

__all__ = ["summarise"]

MEASURES = {"eer": "Equal error rate", "map": "Mean average precision"}


def summarise(results: Results) -> Summary:
    """Compute curves, tables and findings of a finished run."""
    numbers = SeedStatistics(results)
    charts = (
        _roc_chart(numbers),
        *_length_charts(numbers),
        _scale_chart(numbers),
        _gamma_chart(numbers),
        within_chart(numbers),
    )
    tables = (_accuracy_table(numbers), _time_table(numbers), within_table(numbers))
    return Summary(results, charts, tables, tuple(check_claims(numbers)))


def _roc_chart(numbers: SeedStatistics) -> Chart:
    settings = numbers.results.settings
    panels = []
    for n_classes in settings.classes:
        curves = [_rate_curve(key, numbers.roc(key, n_classes)) for key in METHODS]
        curves += [_rate_curve(f"euclidean-{m}", numbers.euclidean_roc(m, n_classes)) for m in ("x", "y")]
        wanted = settings.roc_length(n_classes)
        shorter = min(wanted, METHODS["cm-dif"].longest(settings))
        note = "" if shorter == wanted else f" (CM-DIF: {shorter})"
        panels.append(Panel(f"K = {n_classes}, m = {wanted}{note}", tuple(curves)))
    return Chart(
        "figure-1-roc",
        "roc",
        "Figure 1: ROC curves",
        "True against false positive rate, mean of both directions. On the thin grey line both errors are "
        "equal. Dotted: Euclidean retrieval within one modality, without hashing.",
        "True positive rate",
        tuple(panels),
    )


def _rate_curve(series: str, rows: list[list[float]]) -> Curve:
    values = np.asarray(rows)
    return Curve(
        series,
        tuple(RATES.tolist()),
        tuple(values.mean(axis=0).tolist()),
        tuple(values.min(axis=0).tolist()),
        tuple(values.max(axis=0).tolist()),
    )


def _length_charts(numbers: SeedStatistics) -> list[Chart]:
    settings = numbers.results.settings
    charts = []
    for number, (measure, label) in enumerate(MEASURES.items(), start=2):
        panels = []
        for n_classes in settings.classes:
            curves = []
            for method in METHODS.values():
                lengths = [m for m in settings.bits if m <= method.longest(settings)]
                curves.append(
                    curve_of(
                        method.key,
                        lengths,
                        [numbers.accuracy(method.key, n_classes, m, measure) for m in lengths],
                    )
                )
            curves += _flat(numbers, n_classes, measure, settings.bits)
            panels.append(Panel(f"K = {n_classes}", tuple(curves), (n_classes - 1.0, "K − 1")))
        charts.append(
            Chart(
                f"figure-{number}-{measure}",
                "bits",
                f"Figure {number}: {label.lower()} against the hash length",
                f"{label} of unseen objects, mean of both directions. CM-DIF has at most 64 bits. The vertical "
                "line is at K − 1 bits, the number that K classes determine. Dotted: Euclidean retrieval within one "
                "modality." + (" The paper has no such figure." if measure == "map" else ""),
                label,
                tuple(panels),
            )
        )
    return charts


def _scale_chart(numbers: SeedStatistics) -> Chart:
    settings = numbers.results.settings
    k, m = settings.sweep_classes, settings.sweep_bits
    panels = []
    for measure, label in MEASURES.items():
        curves = [
            curve_of(key, settings.scales, [numbers.sweep(key, measure, scale=s) for s in settings.scales])
            for key in METHODS
        ]
        curves += [
            curve_of(
                f"euclidean-{modality}",
                settings.scales,
                [numbers.euclidean(modality, k, measure, scale=s) for s in settings.scales],
            )
            for modality in ("x", "y")
        ]
        panels.append(Panel(label, tuple(curves), (settings.center_scale, "used above")))
    return Chart(
        "figure-4-scale",
        "scale",
        "Figure 4: how far apart the classes are",
        f"The paper does not state the scale of its centres, which decides how hard its data are. K = {k}, m = {m}.",
        "",
        tuple(panels),
        "sweeps",
    )


def _gamma_chart(numbers: SeedStatistics) -> Chart:
    settings = numbers.results.settings
    methods = [key for key, method in METHODS.items() if method.uses_gamma]
    panels = [
        Panel(
            label,
            tuple(
                curve_of(
                    key, settings.gammas, [numbers.sweep(key, measure, gamma=g) for g in settings.gammas]
                )
                for key in methods
            ),
        )
        for measure, label in MEASURES.items()
    ]
    return Chart(
        "figure-5-gamma",
        "gamma",
        "Figure 5: the weight γ of the positive pairs",
        f"γ is the weight of the positive pairs in the projections. K = {settings.sweep_classes}, "
        f"m = {settings.sweep_bits}.",
        "",
        tuple(panels),
        "sweeps",
    )


def _flat(numbers: SeedStatistics, n_classes: int, measure: str, x: tuple[int, ...]) -> list[Curve]:
    ends = (x[0], x[-1])
    spreads = {m: numbers.euclidean(m, n_classes, measure) for m in ("x", "y")}
    return [curve_of(f"euclidean-{m}", ends, [spread, spread]) for m, spread in spreads.items()]


def _accuracy_table(numbers: SeedStatistics) -> Table:
    settings = numbers.results.settings
    rows = []
    for n_classes in settings.classes:
        for method in METHODS.values():
            m = min(settings.roc_length(n_classes), method.longest(settings))
            eer = numbers.accuracy(method.key, n_classes, m, "eer").text()
            precision = [
                numbers.accuracy(method.key, n_classes, m, "map", direction).text()
                for direction in (None, *DIRECTIONS)
            ]
            rows.append((method.label, str(n_classes), str(m), eer, *precision))
        for modality in ("x", "y"):
            eer, ap = (numbers.euclidean(modality, n_classes, measure).text() for measure in MEASURES)
            rows.append((f"Euclidean within {modality}", str(n_classes), "–", eer, ap, "–", "–"))
    return Table(
        "Accuracy at the lengths of Figure 1",
        "Mean over seeds, with the range in brackets. x→y: queries from x, database from y. EER pools all pairs of a "
        "query and an item, so it is the same in both directions.",
        ("Method", "K", "m", "EER", "mAP", "mAP x→y", "mAP y→x"),
        tuple(rows),
    )


def _time_table(numbers: SeedStatistics) -> Table:
    settings = numbers.results.settings
    seconds = {key: numbers.training_seconds(key) for key in METHODS}
    base, paper_base = seconds["cm-dif"].mean, METHODS["cm-dif"].paper_seconds or 1.0
    rows = []
    for key, method in METHODS.items():
        paper = method.paper_seconds
        rows.append(
            (
                method.label,
                seconds[key].text(2),
                f"{seconds[key].mean / base:.1f}",
                "–" if paper is None else f"{paper:g}",
                "–" if paper is None else f"{paper / paper_base:.1f}",
            )
        )
    most = numbers.training_threads("cm-dif")
    threads = "one thread" if most == 1 else f"at most {most} threads"
    return Table(
        "Training time",
        f"Seconds of the processor for m = {settings.sweep_bits}, here with K = {settings.sweep_classes} (the paper "
        f"does not state its K) and {threads}. The paper is from 2011: machines and libraries "
        "are 15 years apart, so compare the ratios to CM-DIF.",
        ("Method", "Seconds here", "Ratio here", "Seconds in the paper", "Ratio in the paper"),
        tuple(rows),
    )
