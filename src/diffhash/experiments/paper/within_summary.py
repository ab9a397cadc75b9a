"""What the paper asks of codes within a modality: a chart and a table."""

from __future__ import annotations

import numpy as np

from .content import Chart, Panel, Table, curve_of
from .measures import WITHIN
from .methods import METHODS
from .seed_statistics import SeedStatistics, Spread
from .verdicts import figure_length

__all__ = ["within_chart", "within_table"]


def within_chart(numbers: SeedStatistics) -> Chart:
    """Rank correlation of Hamming distances with the original distances, against the hash length."""
    settings = numbers.results.settings
    panels = []
    for n_classes in settings.classes:
        curves = []
        for method in METHODS.values():
            lengths = [m for m in settings.bits if m <= method.longest(settings)]
            spreads = [numbers.within(method.key, n_classes, m, "rho") for m in lengths]
            curves.append(curve_of(method.key, lengths, spreads))
        classes = _mean([numbers.euclidean(m, n_classes, "class_rho") for m in WITHIN.values()])
        curves.append(curve_of("classes", (settings.bits[0], settings.bits[-1]), [classes, classes]))
        panels.append(Panel(f"K = {n_classes}", tuple(curves), (n_classes - 1.0, "K − 1")))
    return Chart(
        "figure-6-within",
        "bits",
        "Figure 6: rank correlation of Hamming distances with the distances within a modality",
        "Spearman's ρ over pairs of unseen objects of one modality, mean of both modalities; the distance is the one "
        "of section 6, Mahalanobis with a diagonal covariance matrix. Dotted: codes that tell only whether two objects "
        "are of the same class. The paper asks for such codes (section 2), but has no such figure.",
        "Rank correlation",
        tuple(panels),
        "within",
    )


def within_table(numbers: SeedStatistics) -> Table:
    """Rank correlation and retrieval within each modality, at the lengths of Figure 1."""
    rows = []
    for n_classes in numbers.results.settings.classes:
        for key, method in METHODS.items():
            m = figure_length(numbers, key, n_classes)
            cells = (
                numbers.accuracy(key, n_classes, m, measure, name).text()
                for measure in ("rho", "map")
                for name in WITHIN
            )
            rows.append((method.label, str(n_classes), str(m), *cells))
        cells = (numbers.euclidean(x, n_classes, "class_rho").text() for x in WITHIN.values())
        rows.append(("Same class or not", str(n_classes), "–", *cells, "–", "–"))
        cells = (numbers.euclidean(x, n_classes, "map").text() for x in WITHIN.values())
        rows.append(("Euclidean distance", str(n_classes), "–", "–", "–", *cells))
    return Table(
        "Codes within each modality, at the lengths of Figure 1",
        "ρ: Spearman's rank correlation of the Hamming distance with the Mahalanobis distance (diagonal covariance "
        "matrix) of the same pairs; tied pairs have the mean of their ranks. mAP: queries and database from the same "
        "modality, relevant is the same class, the query's own object is left out. Mean over seeds, with the range in "
        "brackets.",
        ("Method", "K", "m", "ρ in x", "ρ in y", "mAP x→x", "mAP y→y"),
        tuple(rows),
        "within",
    )


def _mean(spreads: list[Spread]) -> Spread:
    return Spread(*(float(np.mean([getattr(s, name) for s in spreads])) for name in ("mean", "low", "high")))
