"""CrowS-Pairs and its family: one pair per row, column names differ slightly.

crows-pairs: 1,508 pairs written and judged by crowd workers in the US (Nangia et al., 2020).
crows-pairs-revised, crows-pairs-fr: revised English and French pairs (Névéol et al., 2022).
crows-pairs-nl: Dutch pairs (Strazda & Spanakis, 2025).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from unmask.core.errors import DataError, quote
from unmask.core.types import Pair
from unmask.data.formats import read_table
from unmask.data.items import DatasetSource, LoadedItems, read_card, with_warnings

Row = Mapping[str, str]
_ANNOTATIONS = re.compile(
    r"\[(?:\[(?:'[^'\\]*'(?:, (?!\]))?)*\](?:, (?!\]))?)*\]"
)  # [['gender'], ['age', 'race-color']]


def load_table(
    path: Path,
    name: str,
    facts: Callable[[Row, str], dict[str, str]],
    *,
    encoding: str = "utf-8-sig",
    delimiter: str = ",",
    suffix: str = "",
) -> LoadedItems:
    """Load every row as a pair: `sent_more` is the stereotyping sentence in both directions.

    Rows with an empty sentence are left out, with a warning. `facts` adds a row's own groups, `suffix` ends
    the names of the columns (`_fr_FR`).
    """
    if not (rows := read_table(path, "the published file", encoding, delimiter)):
        raise DataError(f"{path.name}: no rows; expected the published file, fetch it again")
    columns = [stem + suffix for stem in ("sent_more", "sent_less", "stereo_antistereo", "bias_type")]
    if missing := [column for column in columns if column not in rows[0]]:
        raise DataError(
            f"{path.name}: no column {missing[0]!r}; found {quote(list(rows[0]))}; is it the published file?"
        )
    items, warnings = [], []
    for number, row in enumerate(rows):
        more, less, direction, category = (row[column] for column in columns)
        at = rows.at(number)
        if not more.strip() or not less.strip():
            warnings.append(f"row {number} of {path.name} has an empty sentence and was left out")
            continue
        if direction not in ("stereo", "antistereo"):
            raise DataError(f"{at}: direction {quote(direction)}, expected 'stereo' or 'antistereo'")
        groups = {"category": category, "direction": direction, **facts(row, at)}
        items.append(Pair(f"{name}/{number:04}", more, less, groups=groups))
    return with_warnings(items, warnings)


def votes_and_writer(row: Row, at: str) -> dict[str, str]:
    """How many of the five annotators named the row's category, and who wrote the pair."""
    lists = row.get("annotations", "")
    if not _ANNOTATIONS.fullmatch(lists) or "anon_writer" not in row:
        raise DataError(
            f"{at}: no readable `annotations` and `anon_writer`; expected a list of label lists as published, "
            f"found {quote(lists)}"
        )
    votes = sum(row["bias_type"] in labels for labels in _label_lists(lists))
    return {"votes": str(votes), "writer": row["anon_writer"]}


def annotator_labels(path: Path) -> list[tuple[str, ...]]:
    """The bias type that each of the five annotators of a pair named, or `none`."""
    rows = read_table(path, "the published file")
    return [
        tuple(labels[0] if labels else "none" for labels in _label_lists(row.get("annotations", ""))) for row in rows
    ]


def _label_lists(lists: str) -> list[list[str]]:
    """The labels of each annotator."""
    return [re.findall(r"'([^']*)'", labels) for labels in re.findall(r"\[([^][]*)\]", lists)]


def original_id(row: Row, at: str) -> dict[str, str]:
    """The row of the original CrowS-Pairs that a translated or revised pair is based on."""
    if not row.get("id"):
        raise DataError(f"{at}: no value in column 'id'; expected the number of the original pair")
    return {"original_id": row["id"]}


DATASETS = (
    DatasetSource(
        read_card("crows-pairs"), partial(load_table, name="crows-pairs", facts=votes_and_writer), annotator_labels
    ),
    DatasetSource(
        read_card("crows-pairs-revised"),
        partial(load_table, name="crows-pairs-revised", facts=original_id, delimiter="\t", suffix="_en_US"),
    ),
    DatasetSource(
        read_card("crows-pairs-fr"),
        partial(load_table, name="crows-pairs-fr", facts=original_id, delimiter="\t", suffix="_fr_FR"),
    ),
    DatasetSource(
        read_card("crows-pairs-nl"), partial(load_table, name="crows-pairs-nl", facts=original_id, encoding="mac_roman")
    ),
)
