"""What cards say was measured: a number without the command that printed it could not be checked by anyone."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest

from unmask import data
from unmask.core.errors import UnknownName
from unmask.diagnose import DIAGNOSES

ROWS = list(csv.DictReader((Path(data.__file__).parent / "card_facts.csv").read_text(encoding="utf-8").splitlines()))
ABOUT = {"reliability", "smallest visible difference", "design effect"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['data']}, {row['about']}")
def test_every_fact_names_its_data_command_and_date(row: dict[str, str]) -> None:
    assert all(name in data.SOURCES for name in row["data"].split(" "))
    assert row["about"] in ABOUT
    assert re.search(r"\d", row["value"])
    assert re.fullmatch(r"2026-\d\d-\d\d", row["date"])
    words = shlex.split(row["command"])
    assert words[0] == "unmask"
    if words[1] == "diagnose":
        assert words[2] in DIAGNOSES
    named = [words[place + 1] for place, word in enumerate(words) if word == "--data"]
    assert named
    assert all(name in data.SOURCES for names in named for name in names.split(","))


def test_a_difference_that_data_can_show_is_that_of_unrelated_models() -> None:
    """`unmask compare` finds far smaller differences of related models: the number would be taken for a limit."""
    rows = [row for row in ROWS if row["about"].startswith("smallest") and row["command"].startswith("unmask audit")]
    assert rows
    for row in rows:
        assert "of two unrelated models" in row["value"]
        assert row["value"].endswith("in 80 of 100 cases; related ones need unmask compare")


def test_facts_are_those_of_the_dataset() -> None:
    for row in ROWS:
        for name in row["data"].split(" "):
            assert row["value"] in [fact.value for fact in data.facts(name)]
    assert data.facts("prompts") == ()
    with pytest.raises(UnknownName):
        data.facts("nothing")


def test_labels_of_annotators(data_dir: Path) -> None:
    """Five a pair, in the order of the file; votes are those that name the pair's own category."""
    labels = data.labels("crows-pairs", data_dir=data_dir)
    items = data.load("crows-pairs", data_dir=data_dir).items
    assert len(labels) == len(items)
    assert {len(unit) for unit in labels} == {5}
    assert [str(unit.count(item.groups["category"])) for unit, item in zip(labels, items, strict=True)] == [
        item.groups["votes"] for item in items
    ]
    assert data.labels("nine-axes") == []
    assert data.labels("prompts") == []
