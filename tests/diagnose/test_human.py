"""`human` against plain counting: votes from the file, scores one sentence at a time, areas by loops."""

from __future__ import annotations

import ast
import csv
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
import unmask
import zoo
from unmask import data as datasets
from unmask.diagnose import Diagnosed, Settings, run
from unmask.diagnose.human import HUMAN
from unmask.errors import DataError
from unmask.findings import Ranged
from unmask.types import Dataset

ROWS = (0, 2, 4, 17, 100, 129, 231, 395, 507, 617, 833, 863, 899, 1101, 1129, 1442)
MEASURES = {
    "bert-uncased": ("cps", "aul", "sss"),
    "roberta": ("cps", "aula", "sld"),
    "gpt2": ("ll", "sld"),
}


def part(published: Path, rows: tuple[int, ...] = ROWS) -> Dataset:
    whole = datasets.load("crows-pairs", data_dir=published)
    return replace(whole, items=tuple(whole.items[row] for row in rows))


def found_by(architecture: str, data: Dataset, **settings: Any) -> Diagnosed:
    chosen = Settings(measures=MEASURES[architecture], **settings)
    options = unmask.Options(store=False)
    (found,) = run([HUMAN], [zoo.folder(architecture)], data=data, settings=chosen, options=options)
    return found


def people(published: Path) -> dict[str, int]:
    """By item: how many of six named the category, the writer always one of them."""
    path = published / "crows_pairs" / "crows_pairs_anonymized.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    said = {}
    for number, row in enumerate(rows):
        named = 1
        for labels in ast.literal_eval(row["annotations"]):
            if row["bias_type"] in labels:
                named += 1
        said[f"crows-pairs/{number:04}"] = named
    return said


@cache
def scores(architecture: str, name: str, published: Path) -> dict[str, float | None]:
    """By item: the difference, its size for sld, None where there is none."""
    model, tokenizer = reference.load(zoo.folder(architecture))
    made: dict[str, float | None] = {}
    for item in part(published).items:
        sides = reference.reference(name, model, tokenizer, item)
        difference = None if sides is None else sides["more"] - sides["less"]
        made[item.id] = abs(difference) if difference is not None and name == "sld" else difference
    return made


def areas(architecture: str, published: Path, votes: int) -> dict[str, tuple[float, int, int]]:
    """By measure: area, biased pairs, other pairs, by comparing every two."""
    said, made = people(published), {}
    for name in MEASURES[architecture]:
        known = {item: one for item, one in scores(architecture, name, published).items() if one is not None}
        ups = [one for item, one in known.items() if said[item] > votes]
        downs = [one for item, one in known.items() if said[item] <= votes]
        wins = sum(1.0 if x > y else 0.5 if x == y else 0.0 for x in ups for y in downs)
        made[name] = (wins / (len(ups) * len(downs)), len(ups), len(downs))
    return made


@pytest.mark.parametrize("votes", [3, 5])
@pytest.mark.parametrize("architecture", MEASURES)
def test_areas_are_those_of_plain_counting(architecture: str, votes: int, published: Path) -> None:
    data = part(published)
    found = found_by(architecture, data, votes=votes)
    table, compared = found.finding.tables
    expected = areas(architecture, published, votes)
    seen = {row[2]: row for row in table.rows}
    assert set(seen) == set(expected)
    for name, (area, biased, other) in expected.items():
        cell = seen[name][3]
        assert isinstance(cell, Ranged)
        assert cell.value == pytest.approx(area, abs=1e-9)
        assert seen[name][4:7] == (biased, other, len(data.items) - biased - other)
    shown = [row[3].value for row in table.rows]  # type: ignore[union-attr]
    assert shown == sorted(shown, reverse=True)
    for row in compared.rows:
        a, b = expected[str(row[2])], expected[str(row[3])]
        if a[1:] == b[1:]:
            assert row[4].value == pytest.approx(a[0] - b[0], abs=1e-9)  # type: ignore[union-attr]
    assert len(compared.rows) == len(expected) * (len(expected) - 1) // 2
    assert [plot.id for plot in found.finding.plots] == ["human-roc"]


def test_a_pair_with_an_empty_span_is_left_out_of_its_measure_only(published: Path) -> None:
    found = found_by("bert-uncased", part(published))
    unscored = {row[2]: row[6] for row in found.finding.tables[0].rows}
    assert unscored["sss"] > 0
    assert unscored["cps"] == unscored["aul"] == 0
    pairs = {(row[2], row[3]): row[5] for row in found.finding.tables[1].rows}
    assert pairs["cps", "aul"] == len(ROWS)
    assert pairs["cps", "sss"] == len(ROWS) - unscored["sss"]


def test_the_curve_runs_from_corner_to_corner(published: Path) -> None:
    found = found_by("roberta", part(published))
    spec = found.finding.plots[0].chart.to_dict()
    (values,) = (rows for rows in spec["datasets"].values() if "series" in rows[0])
    for name in MEASURES["roberta"]:
        points = [(one["x"], one["y"]) for one in values if one["series"] == name]
        assert points[0] == (0.0, 0.0)
        assert points[-1] == (1.0, 1.0)
        area = np.trapezoid([y for _, y in points], [x for x, _ in points])
        expected = next(row[3].value for row in found.finding.tables[0].rows if row[2] == name)  # type: ignore[union-attr]
        assert area == pytest.approx(expected)


def test_people_who_all_agree_leave_no_curve(published: Path) -> None:
    sure = tuple(row for row in range(60) if people(published)[f"crows-pairs/{row:04}"] > 3)[:4]
    found = found_by("roberta", part(published, sure))
    assert found.finding.tables[0].rows == ()
    assert found.finding.plots == ()
    assert "in all of 4 pairs" in found.finding.notes[0]


def test_one_pair_only(published: Path) -> None:
    assert found_by("roberta", part(published, (0,))).finding.answers == ()


def test_pairs_without_votes_are_left_out_and_counted(published: Path) -> None:
    data = part(published)
    first = replace(data.items[0], groups={"category": "age"})
    found = found_by("roberta", replace(data, items=(first, *data.items[1:])))
    assert "1 pairs without votes" in found.finding.notes[0]
    row = found.finding.tables[0].rows[0]
    assert row[4] + row[5] + row[6] == len(ROWS) - 1  # type: ignore[operator]


@pytest.mark.parametrize("votes", [0, 6])
def test_a_threshold_nobody_can_miss_or_reach_is_refused(votes: int, published: Path) -> None:
    with pytest.raises(DataError, match="1 to 5 of six people"):
        found_by("roberta", part(published), votes=votes)


def test_votes_that_are_no_number_are_refused(published: Path) -> None:
    data = part(published)
    odd = replace(data.items[0], groups={**data.items[0].groups, "votes": "many"})
    with pytest.raises(DataError, match="votes 'many', expected"):
        found_by("roberta", replace(data, items=(odd, *data.items[1:])))


def test_data_without_votes_is_refused() -> None:
    data = datasets.from_records([("He cooks.", "She cooks.")])
    with pytest.raises(DataError, match="no votes of annotators; without --data it reads crows-pairs"):
        run([HUMAN], [zoo.folder("roberta")], data=data)
