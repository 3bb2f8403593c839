"""Tables of the CrowS-Pairs family: one pair per row, column names differ slightly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from unmask.core.errors import DataError
from unmask.core.types import Pair
from unmask.data.formats import decode, table
from unmask.data.items import LoadedItems, with_warnings

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CrowsLayout:
    """The file format of one member of the family."""

    encoding: str = "utf-8-sig"
    delimiter: str = ","
    suffix: str = ""  # suffix of its column names: "_fr_FR"

    def column(self, name: str) -> str:
        """The name of a column in this file."""
        return name + self.suffix


def load_table(
    path: Path, name: str, layout: CrowsLayout, facts: Callable[[Row, str], dict[str, str]]
) -> LoadedItems:
    """Load every row as a pair: `sent_more` is the stereotyping sentence in both directions.

    Rows with an empty sentence are left out, with a warning. `facts` adds a row's own groups.
    """
    rows = table(decode(path.read_bytes(), path.name, layout.encoding), path.name, layout.delimiter)
    _check_columns(rows, layout, path.name)
    items, warnings = [], []
    for number, row in enumerate(rows):
        more, less = (row[layout.column(f"sent_{side}")] for side in ("more", "less"))
        if not more.strip() or not less.strip():
            warnings.append(f"row {number} of {path.name} has an empty sentence and was left out")
            continue
        at = f"{path.name}, row {number} (from 0)"
        groups = _groups(row, layout, at) | facts(row, at)
        items.append(Pair(f"{name}/{number:04}", more, less, groups=groups))
    return with_warnings(items, warnings)


def _check_columns(rows: list[dict[str, str]], layout: CrowsLayout, where: str) -> None:
    """Check that there is at least one row and that all columns exist."""
    if not rows:
        raise DataError(f"{where}: no rows; expected the published file, fetch it again")
    needed = map(layout.column, ("sent_more", "sent_less", "stereo_antistereo", "bias_type"))
    missing = [column for column in needed if column not in rows[0]]
    if missing:
        raise DataError(
            f"{where}: no column {missing[0]!r}; found: {', '.join(rows[0])}; is it the published file?"
        )


def _groups(row: Row, layout: CrowsLayout, at: str) -> dict[str, str]:
    """Category and direction of a row."""
    direction = row[layout.column("stereo_antistereo")]
    if direction not in ("stereo", "antistereo"):
        raise DataError(f"{at}: direction {direction!r}, expected 'stereo' or 'antistereo'")
    return {"category": row[layout.column("bias_type")], "direction": direction}


def original_id(row: Row, at: str) -> dict[str, str]:
    """The row of the original CrowS-Pairs that a translated or revised pair is based on."""
    if not row.get("id"):
        raise DataError(f"{at}: no value in column 'id'; expected the number of the original pair")
    return {"original_id": row["id"]}
