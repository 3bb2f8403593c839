"""CSV text for people: no cell that a spreadsheet would run as a formula.

A cell that begins like a formula gets an apostrophe in front, as spreadsheets mark text; `unescape` takes it
off again, so what we write can be filled in and read back.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = tuple("=+-@＝＋－＠")
_SPACES = ("\t", "\r", "\n")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)


def escape(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; only text is changed."""
    if not isinstance(cell, str):
        return cell
    bare = cell.lstrip("'")  # what `unescape` could take for an escaped cell is escaped, too
    runs = bare.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(bare)
    return f"'{cell}" if runs or bare.startswith(_SPACES) else cell


def unescape(cell: str) -> str:
    """Inverse of `escape`."""
    return cell[1:] if cell.startswith("'") and escape(cell[1:]) == cell else cell


def to_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as the text of a CSV file for people."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([escape(cell) for cell in row] for row in rows)
    return text.getvalue()
