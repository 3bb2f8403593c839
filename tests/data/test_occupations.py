"""Occupations: the Bureau's numbers, for every profession the templates ask about."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from unmask import data

OCCUPATIONS = data.read("occupations")


def test_shares() -> None:
    assert len({one.name for one in OCCUPATIONS}) == len(OCCUPATIONS) == data.card("occupations").size
    assert all(0 < one.women < 1 for one in OCCUPATIONS)
    by_name = {one.name: one.women for one in OCCUPATIONS}
    assert (by_name["nurse"], by_name["firefighter"]) == (0.874, 0.044)


def test_one_row_of_the_table_has_one_share() -> None:
    rows = defaultdict(set)
    for one in OCCUPATIONS:
        rows[one.bls].add(one.women)
    assert all(len(shares) == 1 for shares in rows.values())


def test_number_of_group_shares_is_as_on_the_card() -> None:
    groups = [one.name for one in OCCUPATIONS if one.bls.endswith("occupations")]
    assert f"{len(groups)} of the {len(OCCUPATIONS)} bear" in data.card("occupations").problems
    assert {"optometrist", "manager"} <= set(groups)


def test_every_profession_of_the_templates_is_covered() -> None:
    asked = {item.groups["word"] for item in data.load("pronoun-templates").items if item.groups["goal"] == "zero"}
    assert len(asked) == 136
    assert asked <= {one.name for one in OCCUPATIONS}


def test_the_numbers_are_the_bureaus(published: Path) -> None:
    with (published / "bls" / "cpsaat11.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) > 2]
    assert rows[3][1] == "2020"
    women = {row[0].strip(): row[2] for row in rows if row[0].strip()}
    for one in OCCUPATIONS:
        assert f"{one.women * 100:.1f}" == women[one.bls], one.name
