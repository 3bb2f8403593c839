"""Tables as LaTeX with booktabs rules; all text is escaped."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from unmask.findings import Table
from unmask.findings.html import format_cell

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "−": r"\ensuremath{-}",
        "–": "--",
        "✱": r"\textsuperscript{*}",
        **{mark: f"\\{mark}" for mark in "&%$#_"},
    }
)
_PREAMBLE = "% Needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}; long tables also longtable."
LONG = 45  # more rows than this do not fit on a page
_NUMERIC = {"value", "95% interval", "null", "n", "ties", "unscored", "p", "p (Holm)", "before", "after"}
_NUMERIC |= {"change", "flips", "left out"}


def document(tables: Sequence[Table]) -> str:
    """Tables one after the other, to be included in a document; empty ones are left out."""
    return "\n\n".join([_PREAMBLE, *(table(each) for each in tables if each.rows)]) + "\n"


def table(of: Table) -> str:
    """One table; a long one may break across pages."""
    rows = [
        [text(format_cell(c, name, of.digits)) for c, name in zip(r, of.columns, strict=True)]
        for r in of.rows
    ]
    styler = pd.DataFrame(rows, columns=[text(name) for name in of.columns]).style.hide(axis="index")
    caption = " ".join(part for part in (f"{text(of.title)}.", text(of.note)) if part)
    columns = "".join("r" if name in _NUMERIC else "l" for name in of.columns)
    if len(of.rows) > LONG:
        latex = styler.to_latex(hrules=True, caption=caption, column_format=columns, environment="longtable")
    else:
        latex = styler.to_latex(
            hrules=True, caption=caption, column_format=columns, position="t", position_float="centering"
        )
    return str(latex).strip()


def text(plain: str) -> str:
    """Escape LaTeX commands and join lines."""
    return " ".join(plain.translate(_ESCAPES).split())
