"""Formulas as MathML, which browsers draw themselves: no script, no font and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    formula = re.sub(r"\s+", " ", node.astext())
    writer.body.append(f'<div class="formula">{convert(formula, display="block")}</div>')
    raise nodes.SkipNode
