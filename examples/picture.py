"""Draw docs/_static/overview.svg: ``python examples/picture.py``.

Left: one query and two answers with their real features and codes. Right: mean average precision
against the number of bits, from one model of each method, cut to its first bits. Everything is
measured on the paper's synthetic data when this runs; it needs nothing beyond the package.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import diffhash as dh

TARGET = Path(__file__).parent.parent / "docs" / "_static" / "overview.svg"
SEEDS = (0, 1, 2)
BITS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64)
SHOWN_BITS = 24
METHODS = (
    ("KernelDiffHash", "#0b6e99", lambda: dh.KernelDiffHash(n_bits=64)),
    ("DiffHash", "#c2410c", lambda: dh.DiffHash(n_bits=64)),
    ("BoostedHash", "#6b7280", lambda: dh.BoostedHash(n_bits=64, n_directions=5)),
)
#: Where a curve's name stands: at which bits, how far beside that point, and how it is anchored.
LABELS = {
    "KernelDiffHash": (40, 6, -10, "start"),
    "DiffHash": (40, -8, 14, "end"),
    "BoostedHash": (64, 0, 24, "end"),
}


def draw_job(seed):
    data = dh.datasets.make_paper_data(n_classes=25, random_state=seed)
    labels = data.train.labels
    return data, dh.Pairs.from_labels(labels["x"], labels["y"], 10_000, 100_000, random_state=seed)


def precision_by_bits(hasher, test):
    """Mean average precision, both directions averaged, for the first bits of one fitted model."""
    bits = {m: hasher.project(test.views[m], modality=m) >= 0 for m in ("x", "y")}
    scores = []
    for n in BITS:
        x, y = (dh.codes.pack(bits[m][:, :n]) for m in ("x", "y"))
        results = (dh.evaluate(a, b, test.labels["x"], test.labels["x"]) for a, b in ((x, y), (y, x)))
        scores.append(np.mean([result.mean_average_precision for result in results]))
    return scores


class Svg:
    """A list of SVG elements."""

    def __init__(self, width, height):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="Helvetica, Arial, sans-serif" role="img">',
            "<title>Features of two modalities become comparable codes; mAP against the number of bits</title>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
        ]

    def text(self, x, y, words, size=14, color="#1f2937", anchor="start", weight="normal", turn=0):
        spin = f' transform="rotate({turn} {x} {y})"' if turn else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
            f'font-weight="{weight}"{spin}>{words}</text>'
        )

    def rect(self, x, y, w, h, fill, stroke="none"):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{fill}" stroke="{stroke}"/>'
        )

    def line(self, points, color, width=2.5):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>')

    def save(self, path):
        path.write_text("\n".join([*self.parts, "</svg>"]) + "\n", encoding="utf-8")


def draw_codes(svg, hasher, test):
    """A query of y, an object of x of its class, and one of another class."""
    bits = {m: (hasher.project(test.views[m], modality=m) >= 0)[:, :SHOWN_BITS] for m in ("x", "y")}
    query = 0
    label = test.labels["y"][query]
    distance = (bits["x"] != bits["y"][query]).sum(axis=1)
    like = int(np.flatnonzero(test.labels["x"] == label)[0])
    unlike = int(np.flatnonzero(test.labels["x"] != label)[0])
    rows = (
        ("y", query, f"query: 64 features in y, class {label}"),
        ("x", like, f"128 features in x, class {label}"),
        ("x", unlike, f"128 features in x, class {test.labels['x'][unlike]}"),
    )
    for place, (modality, row, title) in enumerate(rows):
        top = 78 + 104 * place
        svg.text(28, top, title)
        features = test.views[modality][row]
        for f, value in enumerate(features):
            strength = min(abs(float(value)) / 18, 1)
            shade = "#0b6e99" if value > 0 else "#c2410c"
            svg.parts.append(
                f'<rect x="{28 + f * 1.7:.1f}" y="{top + 10}" width="1.8" height="34" '
                f'fill="{shade}" fill-opacity="{strength:.2f}"/>'
            )
        svg.text(258, top + 34, "→", size=20, color="#6b7280")
        for b, bit in enumerate(bits[modality][row]):
            differs = place > 0 and bit != bits["y"][query][b]
            svg.rect(290 + b * 10, top + 14, 9, 26, "#1f2937" if bit else "#e5e7eb")
            if differs:
                svg.rect(290 + b * 10, top + 43, 9, 4, "#c2410c")
        note = f"{SHOWN_BITS} bits" if place == 0 else f"{distance[row]} of {SHOWN_BITS} bits differ"
        svg.text(290, top + 64, note, size=13, color="#6b7280" if place == 0 else "#c2410c")


def draw_curves(svg, curves):
    left, right, top, bottom = 620, 960, 66, 330

    def place(bits, value):
        return left + (right - left) * bits / 64, bottom - (bottom - top) * value

    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        svg.line([place(0, value), place(64, value)], "#e5e7eb", 1)
        svg.text(left - 8, place(0, value)[1] + 4, f"{value:g}", size=12, color="#6b7280", anchor="end")
    for bits in (8, 16, 24, 32, 48, 64):
        svg.text(place(bits, 0)[0], bottom + 18, str(bits), size=12, color="#6b7280", anchor="middle")
    svg.text((left + right) / 2, bottom + 38, "bits", size=13, color="#6b7280", anchor="middle")
    svg.text(left - 42, (top + bottom) / 2, "mAP", size=13, color="#6b7280", anchor="middle", turn=-90)
    svg.parts.append(
        f'<line x1="{place(24, 0)[0]:.1f}" y1="{bottom}" x2="{place(24, 0)[0]:.1f}" y2="{top}" '
        'stroke="#9ca3af" stroke-dasharray="3 4"/>'
    )
    svg.text(place(24, 0)[0] + 6, bottom - 8, "classes − 1", size=12, color="#6b7280")
    for name, color, scores in curves:
        points = [place(b, s) for b, s in zip(BITS, scores, strict=True)]
        svg.line(points, color)
        for x, y in points:
            svg.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>')
        where, dx, dy, anchor = LABELS[name]
        x, y = points[BITS.index(where)]
        svg.text(x + dx, y + dy, name, color=color, anchor=anchor, weight="bold")


def main() -> None:
    # The spectral methods say that 64 bits are more than the pairs determine: the curves show it.
    warnings.simplefilter("ignore", dh.errors.RankWarning)
    scores = {name: [] for name, _, _ in METHODS}
    for seed in SEEDS:
        data, pairs = draw_job(seed)
        for name, _, make in METHODS:
            hasher = make().fit(data.train.views, pairs)
            scores[name].append(precision_by_bits(hasher, data.test))
            if seed == SEEDS[0] and name == "KernelDiffHash":
                shown = hasher, data.test
    svg = Svg(1000, 390)
    svg.text(28, 38, "Two kinds of features, one kind of code", size=17, weight="bold")
    svg.text(620, 38, "Finding y by x and x by y, 25 classes", size=17, weight="bold")
    draw_codes(svg, *shown)
    draw_curves(svg, [(name, color, np.mean(scores[name], axis=0)) for name, color, _ in METHODS])
    TARGET.parent.mkdir(exist_ok=True)
    svg.save(TARGET)
    for name, found in scores.items():
        print(
            f"{name:<16}", " ".join(f"{b}:{s:.3f}" for b, s in zip(BITS, np.mean(found, axis=0), strict=True))
        )
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
