"""The overview of all tables and figures: a row that promises what no study makes would mislead a reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from unmask.studies import STUDIES

README = Path(__file__).parents[2] / "docs" / "studies" / "README.md"
ROMAN = {name: number for number, name in enumerate(("I", "II", "III", "IV", "V"), 1)}
TEXTS = {  # every table and figure that the texts have
    "aul": [*(f"Table {n}" for n in range(1, 6)), "Figure 1"],
    "paraphrase": ["Table 1", "Table 2", *(f"Figure {n}" for n in range(1, 5))],
    "debiasing": ["Table 1", "Table 2", "Figure 1", "Figure 2"],
    "prompts": [f"Table {name}" for name in ROMAN],
    "gbef": [*(f"Table {n}" for n in range(1, 6)), *(f"Figure {n}" for n in range(1, 20))],
}


def rows() -> list[dict[str, str]]:
    """The rows of the overview."""
    text = README.read_text(encoding="utf-8")
    lines = [line for line in text.partition("## Every table and figure")[2].splitlines() if line.startswith("|")]
    head, _, *found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    table = [dict(zip(head, row, strict=True)) for row in found if row[0].startswith("`") and len(row) == len(head)]
    return [row for row in table if row["study"].strip("`") in TEXTS]


def expand(part: str) -> Iterator[str]:
    """`Figures 8, 9, 14–19` one by one."""
    kind, _, numbers = part.partition(" ")
    for number in numbers.split(", "):
        first, _, last = number.partition("–")
        names = range(int(first), int(last) + 1) if last else [number]
        yield from (f"{kind.removesuffix('s')} {name}" for name in names)


@pytest.mark.parametrize("name", TEXTS)
def test_every_table_and_figure_of_the_texts_has_its_row(name: str) -> None:
    listed = [part for row in rows() if row["study"] == f"`{name}`" for part in expand(row["part"])]
    assert sorted(listed) == sorted(TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_what_the_overview_calls_done_is_what_a_dry_run_names(name: str) -> None:
    """And nothing else: what a study makes is in the overview."""
    done = {
        part
        for row in rows()
        if row["study"] == f"`{name}`" and row["as published"] != "–"
        for part in expand(row["part"])
    }
    named = {part for part in STUDIES[name].parts if re.match(r"(Table|Figure) ", part)}
    assert done == named


def test_what_is_not_done_says_why() -> None:
    for row in rows():
        assert row["as published"] != "–" or row["not possible, and why"] != "–", row
