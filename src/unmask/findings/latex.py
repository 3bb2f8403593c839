"""Tables as LaTeX with booktabs rules; all text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from unmask.findings import Table

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
        "†": r"\textdagger{}",
        "✱": r"\textsuperscript{*}",
        **{mark: f"\\{mark}" for mark in "&%$#_"},
    }
)
_PREAMBLE = "% Needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}; long tables also longtable."
LONG = 45  # more rows than this do not fit on a page


def document(tables: Sequence[Table]) -> str:
    """Tables one after the other, to be included in a document; empty ones are left out."""
    return "\n\n".join([_PREAMBLE, *(table(each) for each in tables if each.rows)]) + "\n"


def table(of: Table) -> str:
    """One table; a long one may break across pages."""
    rows = [[text(cell) for cell in row] for row in of.texts()]
    styler = pd.DataFrame(rows, columns=[text(name) for name in of.columns]).style.hide(axis="index")
    caption = " ".join(part for part in (f"{text(of.title)}.", text(of.note)) if part)
    columns = "".join("r" if of.is_numeric(index) else "l" for index in range(len(of.columns)))
    short: dict[str, Any] = {"position": "t", "position_float": "centering"}
    place = {"environment": "longtable"} if len(of.rows) > LONG else short
    return str(styler.to_latex(hrules=True, caption=caption, column_format=columns, **place)).strip()


def text(plain: str) -> str:
    """Escape LaTeX commands and join lines."""
    return " ".join(plain.translate(_ESCAPES).split())
