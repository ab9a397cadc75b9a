"""Settings of the documentation; ``make docs`` builds it."""

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "diffhash"
author = "the diffhash authors"
copyright = author
release = metadata.version("diffhash")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "command_options",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
# A shape such as (n, n_bits) is not a reference, although many classes have an attribute of that name.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"diffhash {release}"
html_static_path = ["_static"]
html_css_files = ["diffhash.css"]
pygments_style = "friendly"
pygments_dark_style = "native"


def _append_unreleased(_app, docname, source):
    """Show the fragments that a release has not gathered yet at the end of the changelog."""
    if docname != "reference/changelog":
        return
    fragments = sorted((HERE.parent / "changelog.d").glob("*.*.md"))
    if fragments:
        source[0] += "\n## Not yet released\n\n"
        for fragment in fragments:
            text = " ".join(fragment.read_text(encoding="utf-8").split())
            source[0] += f"- {fragment.name.split('.')[-2].capitalize()}: {text}\n"


def setup(app):
    app.connect("source-read", _append_unreleased)
