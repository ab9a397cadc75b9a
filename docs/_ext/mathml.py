"""Formulas as MathML, made when the pages are built: no script, nothing fetched when they are read."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _mathml(node: nodes.Element, *, block: bool) -> str:
    # The converter of docutils knows \ldots, but not the \dots that people write.
    source = re.sub(r"\\dots\b", r"\\ldots", node.astext())
    try:
        return tex2mathml(source, as_block=block)
    except MathError as error:
        logger.warning("%s in the formula %r", error, source, location=node)
        return f"<code>{source}</code>"


def _visit_inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _visit_block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer under the name that conf.py asks for."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
