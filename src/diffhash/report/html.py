"""The HTML frame of all pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

__all__ = ["html_page", "page_css"]


def html_page(title: str, css: str, body: Iterable[str]) -> str:
    """Return a complete page that runs no script and loads nothing from the network, whatever its texts contain.

    Parameters
    ----------
    title : str
        Plain text; it is escaped here.
    css : str
    body : iterable of str
        HTML in which all text from outside is already escaped.

    Examples
    --------
    >>> "<title>1 &lt; 2</title>" in html_page("1 < 2", "", ["<p>True.</p>"])
    True
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title>",
            f"<style>\n{css}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def page_css() -> str:
    """Return the style sheet that all pages share."""
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")
