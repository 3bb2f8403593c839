"""`human` against plain counting: votes from the file, scores one sentence at a time, areas by loops."""

from __future__ import annotations

import ast
import atexit
import csv
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.types import Dataset
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.human import HUMAN
from unmask.findings import Section, Value

from .plainly import run, slow_scores

ROWS = tuple(range(16))
NAME = Path("crows_pairs") / "crows_pairs_anonymized.csv"
MEASURES = {"bert-uncased": ("cps", "aul", "sss"), "roberta": ("cps", "aula", "sld"), "gpt2": ("ll", "sld")}


@cache
def folder() -> Path:
    """A data directory: the hard cases of the miniature CrowS-Pairs, every number of votes among them."""
    made = Path(tempfile.mkdtemp(prefix="unmask-votes-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    with (zoo.MINIATURE / NAME).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[: len(ROWS)]
    for number, row in enumerate(rows):
        own, other = row["bias_type"], "age" if row["bias_type"] != "age" else "gender"
        labels: list[list[str]] = [[own]] * (number % 6) + [[other], [], [other, "race"], [], [other]]
        if number % 6:
            labels[0] = [other, own]
        row["annotations"] = repr(labels[:5])
    (made / NAME).parent.mkdir()
    with (made / NAME).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return made


@cache
def part(rows: tuple[int, ...] = ROWS) -> Dataset:
    whole = datasets.load("crows-pairs", data_dir=folder())
    return replace(whole, items=tuple(whole.items[row] for row in rows))


def found_by(architecture: str, data: Dataset, **settings: Any) -> Section:
    chosen = DiagnosisSettings(measures=MEASURES[architecture], **settings)
    options = unmask.Options(store=False)
    (found,) = run([HUMAN], [zoo.folder(architecture)], data=data, settings=chosen, options=options)
    return found


def people() -> dict[str, int]:
    """By item: how many of six named the category, the writer always one of them."""
    with (folder() / NAME).open(encoding="utf-8", newline="") as file:
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
def scores(architecture: str, name: str) -> dict[str, float | None]:
    """By item: the difference, its size for sld, None where there is none."""
    made: dict[str, float | None] = {}
    for item in part().items:
        sides = slow_scores(architecture, name, item)
        difference = None if sides is None else sides["more"] - sides["less"]
        made[item.id] = abs(difference) if difference is not None and name == "sld" else difference
    return made


def areas(architecture: str, votes: int) -> dict[str, tuple[float, int, int]]:
    """By measure: area, biased pairs, other pairs, by comparing every two."""
    said, made = people(), {}
    for name in MEASURES[architecture]:
        known = {item: one for item, one in scores(architecture, name).items() if one is not None}
        ups = [one for item, one in known.items() if said[item] > votes]
        downs = [one for item, one in known.items() if said[item] <= votes]
        wins = sum(1.0 if x > y else 0.5 if x == y else 0.0 for x in ups for y in downs)
        made[name] = (wins / (len(ups) * len(downs)), len(ups), len(downs))
    return made


@pytest.mark.thorough
@pytest.mark.parametrize("votes", [3, 5])
@pytest.mark.parametrize("architecture", MEASURES)
def test_areas_are_those_of_plain_counting(architecture: str, votes: int) -> None:
    data = part()
    found = found_by(architecture, data, votes=votes)
    table, compared = found.finding.tables
    expected = areas(architecture, votes)
    seen = {row[2]: row for row in table.rows}
    assert set(seen) == set(expected)
    assert {*people().values()} == {1, 2, 3, 4, 5, 6}
    for name, (area, biased, other) in expected.items():
        cell = seen[name][3]
        assert isinstance(cell, Value)
        assert cell.value == pytest.approx(area, abs=1e-9)
        assert seen[name][4:7] == (biased, other, len(data.items) - biased - other)
    shown = [row[3].value for row in table.rows]  # type: ignore[union-attr]
    assert shown == sorted(shown, reverse=True)
    same = []
    for row in compared.rows:
        a, b = expected[str(row[2])], expected[str(row[3])]
        if a[1:] == b[1:]:
            same.append(row)
            assert row[4].value == pytest.approx(a[0] - b[0], abs=1e-9)  # type: ignore[union-attr]
    assert same
    assert len(compared.rows) == len(expected) * (len(expected) - 1) // 2
    assert [plot.id for plot in found.finding.plots] == ["human-roc"]


def test_a_pair_with_an_empty_span_is_left_out_of_its_measure_only() -> None:
    found = found_by("bert-uncased", part())
    unscored = {row[2]: row[6] for row in found.finding.tables[0].rows}
    assert unscored["sss"] > 0
    assert unscored["cps"] == unscored["aul"] == 0
    pairs = {(row[2], row[3]): row[5] for row in found.finding.tables[1].rows}
    assert pairs["cps", "aul"] == len(ROWS)
    assert pairs["cps", "sss"] == len(ROWS) - unscored["sss"]


def test_the_curve_runs_from_corner_to_corner() -> None:
    found = found_by("roberta", part())
    spec = found.finding.plots[0].chart.to_dict()
    (values,) = (rows for rows in spec["datasets"].values() if "series" in rows[0])
    for name in MEASURES["roberta"]:
        points = [(one["x"], one["y"]) for one in values if one["series"] == name]
        assert points[0] == (0.0, 0.0)
        assert points[-1] == (1.0, 1.0)
        area = np.trapezoid([y for _, y in points], [x for x, _ in points])
        expected = next(row[3].value for row in found.finding.tables[0].rows if row[2] == name)  # type: ignore[union-attr]
        assert area == pytest.approx(expected)


def test_people_who_all_agree_leave_no_curve() -> None:
    sure = tuple(row for row in ROWS if people()[f"crows-pairs/{row:04}"] > 3)[:4]
    found = found_by("roberta", part(sure))
    assert found.finding.tables[0].rows == ()
    assert found.finding.plots == ()
    assert "in all of 4 pairs" in found.finding.notes[0]


def test_one_pair_only() -> None:
    assert found_by("roberta", part((0,))).finding.answers == ()


def test_pairs_without_votes_are_left_out_and_counted() -> None:
    data = part()
    first = replace(data.items[0], groups={"category": "age"})
    found = found_by("roberta", replace(data, items=(first, *data.items[1:])))
    assert "1 pairs without votes" in found.finding.notes[0]
    row = found.finding.tables[0].rows[0]
    assert row[4] + row[5] + row[6] == len(ROWS) - 1  # type: ignore[operator]


@pytest.mark.parametrize("votes", [0, 6])
def test_a_threshold_nobody_can_miss_or_reach_is_refused(votes: int) -> None:
    with pytest.raises(DataError, match="expected 1 to 5: of six people"):
        found_by("roberta", part(), votes=votes)


def test_votes_that_are_no_number_are_refused() -> None:
    data = part()
    odd = replace(data.items[0], groups={**data.items[0].groups, "votes": "many"})
    with pytest.raises(DataError, match="votes 'many', expected"):
        found_by("roberta", replace(data, items=(odd, *data.items[1:])))


def test_data_without_votes_is_refused() -> None:
    data = datasets.from_records([("He cooks.", "She cooks.")])
    with pytest.raises(DataError, match="no votes of annotators; without `data` it uses crows-pairs"):
        run([HUMAN], [zoo.folder("roberta")], data=data)
