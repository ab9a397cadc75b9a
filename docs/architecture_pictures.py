"""Draw the pictures of the architecture page, each for light and dark pages: python docs/architecture_pictures.py."""

from __future__ import annotations

from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent / "_static"
THEMES = {
    "light": {"text": "#1f2937", "soft": "#566070", "box": "#eef2f7", "edge": "#8a97a8", "main": "#d9e8fb"},
    "dark": {"text": "#e6e9ee", "soft": "#a9b3c1", "box": "#262d38", "edge": "#6f7d90", "main": "#23405f"},
}
WIDTH = 660

#: Heading, then the steps: what comes out, and where the code is. A star marks what the next column takes over.
COLUMNS = (
    (
        "Learn",
        (
            ("views + pairs", "pairs/"),
            ("feature map", "maps/"),
            ("sums over pairs", "learning/"),
            ("directions", "learning/subspace"),
            ("refinement (optional)", "learning/refinement"),
            ("thresholds", "learning/thresholds"),
            ("model *", "model/  (.dhm)"),
        ),
    ),
    (
        "Search",
        (
            ("raw object", "text, picture, …"),
            ("features of one modality", "featurizers/"),
            ("prepared encoder", "maps/prepared_encoder"),
            ("packed codes *", "codes, native/"),
            ("index or store", "search/, stores/  (.dh)"),
            ("neighbours", "native/cpp/"),
            ("hits with chances", "search/calibration"),
        ),
    ),
    (
        "Evaluate",
        (
            ("codes + labels", "evaluation/"),
            ("distance table", "native/distance_table"),
            ("metrics", "evaluation/metrics"),
            ("report", "report/"),
        ),
    ),
)
#: Layers of packages, first the ones that import nothing else of the package.
LAYERS = (
    ("vocabulary", ("errors", "types", "validation", "codes", "threads", "…")),
    ("basis", ("native", "pairs", "maps", "featurizers", "model")),
    ("learning", ("learning",)),
    ("measuring, searching", ("evaluation", "search")),
    ("methods, data", ("hashers", "datasets", "files", "comparison")),
    ("storing", ("stores: sqlite, postgres, milvus, http, memory",)),
    ("whole tasks", ("workflows", "cluster")),
    ("surfaces", ("report", "experiments", "service", "cli")),
)


class Drawing:
    """Lines of an SVG file."""

    def __init__(self, title: str, height: int, colours: dict[str, str]) -> None:
        self.colours = colours
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'font-family="Helvetica, Arial, sans-serif">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{colours["edge"]}"/></marker></defs>',
        ]

    def box(self, x: float, y: float, width: float, height: float, *, main: bool = False) -> None:
        """A rectangle with round corners."""
        fill = self.colours["main" if main else "box"]
        self.lines.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" '
            f'stroke="{self.colours["edge"]}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: int,
        *,
        soft: bool = False,
        bold: bool = False,
        anchor: str = "middle",
    ) -> None:
        """One line of words."""
        weight = ' font-weight="bold"' if bold else ""
        self.lines.append(
            f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{weight} '
            f'fill="{self.colours["soft" if soft else "text"]}">{escape(words)}</text>'
        )

    def arrow(self, *points: tuple[float, float], dashed: bool = False) -> None:
        """A line through points with a tip at its end."""
        path = " L".join(f"{x} {y}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.lines.append(
            f'<path d="M{path}" fill="none" stroke="{self.colours["edge"]}" stroke-width="1.5"{dash} '
            'marker-end="url(#tip)"/>'
        )

    def save(self, name: str) -> None:
        """Write the file."""
        (FOLDER / name).write_text("\n".join([*self.lines, "</svg>", ""]), encoding="utf-8")


def way_of_the_data(colours: dict[str, str]) -> Drawing:
    """Three columns of steps; dashed arrows lead from the model to encoding, and from codes to evaluation."""
    width, height, step, top = 188, 44, 66, 44
    drawing = Drawing("The way of the data: learn, search, evaluate", top + 7 * step, colours)
    lefts = [8 + column * 228 for column in range(3)]
    for left, (heading, steps) in zip(lefts, COLUMNS, strict=True):
        middle = left + width / 2
        drawing.text(middle, 24, heading, 17, bold=True)
        for number, (result, place) in enumerate(steps):
            y = top + number * step
            drawing.box(left, y, width, height, main=result.endswith("*"))
            drawing.text(middle, y + 19, result.removesuffix(" *"), 14, bold=True)
            drawing.text(middle, y + 36, place, 12, soft=True)
            if number:
                drawing.arrow((middle, y - step + height), (middle, y - 2))
    # The model is used by the encoder, and codes are what is evaluated.
    right, between = lefts[0] + width, lefts[0] + width + 20
    model, encoder = top + 6 * step + height / 2, top + 2 * step + height / 2
    drawing.arrow((right, model), (between, model), (between, encoder), (lefts[1] - 2, encoder), dashed=True)
    right, between = lefts[1] + width, lefts[1] + width + 20
    codes, labelled = top + 3 * step + height / 2, top + height / 2
    drawing.arrow(
        (right, codes), (between, codes), (between, labelled), (lefts[2] - 2, labelled), dashed=True
    )
    return drawing


def tree(colours: dict[str, str]) -> Drawing:
    """Layers of packages, and the direction of imports."""
    height, step, top, left = 36, 48, 12, 150
    drawing = Drawing("The packages in layers; imports go upwards only", top + len(LAYERS) * step, colours)
    for number, (name, packages) in enumerate(LAYERS):
        y = top + number * step
        drawing.text(left - 12, y + 23, name, 13, soft=True, anchor="end")
        gap, room = 8, WIDTH - left - 48
        width = (room - gap * (len(packages) - 1)) / len(packages)
        for column, package in enumerate(packages):
            x = round(left + column * (width + gap), 1)
            drawing.box(x, y, round(width, 1), height)
            drawing.text(round(x + width / 2, 1), y + 23, package, 13)
    x = WIDTH - 24
    drawing.arrow((x, top + len(LAYERS) * step - 14), (x, top + 2))
    middle = top + len(LAYERS) * step / 2
    drawing.lines.append(
        f'<text x="{x + 16}" y="{middle}" font-size="13" text-anchor="middle" fill="{colours["soft"]}" '
        f'transform="rotate(-90 {x + 16} {middle})">imports</text>'
    )
    return drawing


if __name__ == "__main__":
    for theme, colours in THEMES.items():
        way_of_the_data(colours).save(f"data-{theme}.svg")
        tree(colours).save(f"tree-{theme}.svg")
