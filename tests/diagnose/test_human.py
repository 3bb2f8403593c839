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
from unmask.diagnose.human import HUMAN, HumanOptions
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
    chosen = HumanOptions(measures=MEASURES[architecture], **settings)
    options = unmask.Options(store=False)
    (found,) = run([HUMAN], [zoo.folder(architecture)], data=data, settings=chosen, options=options)
    return found


def people(writer: int = 1) -> dict[str, int]:
    """By item: how many named the category, of six with the writer, who always does, or of five annotators."""
    with (folder() / NAME).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    said = {}
    for number, row in enumerate(rows):
        named = writer
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


def areas(architecture: str, votes: int, writer: int = 1) -> dict[str, tuple[float, int, int]]:
    """By measure: area, biased pairs, other pairs, by comparing every two."""
    said, made = people(writer), {}
    for name in MEASURES[architecture]:
        known = {item: one for item, one in scores(architecture, name).items() if one is not None}
        ups = [one for item, one in known.items() if said[item] > votes]
        downs = [one for item, one in known.items() if said[item] <= votes]
        wins = sum(1.0 if x > y else 0.5 if x == y else 0.0 for x in ups for y in downs)
        made[name] = (wins / (len(ups) * len(downs)), len(ups), len(downs))
    return made


def rows_of(found: Section, table: int, rule: str = "six people") -> list[tuple[Any, ...]]:
    """The rows of a label rule, without its column."""
    return [(*row[:2], *row[3:]) for row in found.finding.tables[table].rows if row[2] == rule]


@pytest.mark.thorough
@pytest.mark.parametrize(("votes", "rule"), [(3, "six people"), (5, "six people"), (3, "five annotators")])
@pytest.mark.parametrize("architecture", MEASURES)
def test_areas_are_those_of_plain_counting(architecture: str, votes: int, rule: str) -> None:
    data = part()
    found = found_by(architecture, data, votes=votes)
    table, compared = rows_of(found, 0, rule), rows_of(found, 1, rule)
    expected = areas(architecture, votes, rule == "six people")
    seen = {row[2]: row for row in table}
    assert set(seen) == set(expected)
    assert {*people().values()} == {1, 2, 3, 4, 5, 6}
    for name, (area, biased, other) in expected.items():
        cell = seen[name][3]
        assert isinstance(cell, Value)
        assert cell.value == pytest.approx(area, abs=1e-9)
        assert seen[name][4:7] == (biased, other, len(data.items) - biased - other)
    shown = [row[3].value for row in table]
    assert shown == sorted(shown, reverse=True)
    same = []
    for row in compared:
        a, b = expected[str(row[2])], expected[str(row[3])]
        if a[1:] == b[1:]:
            same.append(row)
            assert row[4].value == pytest.approx(a[0] - b[0], abs=1e-9)
    assert same
    assert len(compared) == len(expected) * (len(expected) - 1) // 2
    rules = ["human-roc", *(["human-roc-five"] if votes < 5 else [])]  # none of five is more than five
    assert [plot.id for plot in found.finding.plots] == rules


def test_both_label_rules_stand_side_by_side() -> None:
    """The paper speaks of six annotators, its examples count the five of the file: other pairs are biased."""
    found = found_by("roberta", part())
    for rule, writer in (("six people", 1), ("five annotators", 0)):
        (row, *_) = rows_of(found, 0, rule)
        assert row[4] == sum(count > 3 for count in people(writer).values())


def test_pairs_of_low_agreement_are_listed() -> None:
    """With at most two of five votes, the fewest first; the file of the result has all of them."""
    found = unmask.diagnose([HUMAN], [zoo.folder("roberta")], data=part(), options=unmask.Options(store=False))
    low = sorted((votes, item) for item, votes in people(0).items() if votes <= 2)
    table = found.findings[0].finding.tables[2]
    assert [(row[3], row[1]) for row in table.rows] == low
    first = next(item for item in part().items if item.id == low[0][1])
    assert table.rows[0][4:] == (first.more, first.less)
    kept = found.meta["details"]["human"]["low_agreement"]["crows-pairs"]
    assert [(one["votes"], one["item"]) for one in kept] == low


def test_the_papers_two_examples_are_pairs_of_low_agreement(published: Path) -> None:
    items = datasets.load("crows-pairs", data_dir=published).items
    said = [items[row].groups["votes"] for row in (1246, 1476)]
    assert said == ["2", "2"], "of the five annotators alone, as the paper counts them"
    votes = [int(item.groups["votes"]) for item in items]
    assert (sum(n + 1 > 3 for n in votes), sum(n > 3 for n in votes)) == (1346, 1109)


def test_a_pair_with_an_empty_span_is_left_out_of_its_measure_only() -> None:
    found = found_by("bert-uncased", part())
    unscored = {row[2]: row[6] for row in rows_of(found, 0)}
    assert unscored["sss"] > 0
    assert unscored["cps"] == unscored["aul"] == 0
    pairs = {(row[2], row[3]): row[5] for row in rows_of(found, 1)}
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
        expected = next(row[3].value for row in rows_of(found, 0) if row[2] == name)
        assert area == pytest.approx(expected)


def test_people_who_all_agree_leave_no_curve() -> None:
    sure = tuple(row for row in ROWS if people(0)[f"crows-pairs/{row:04}"] > 3)[:4]
    found = found_by("roberta", part(sure))
    assert not any(table.title.startswith(("Area", "Measures compared")) for table in found.finding.tables)
    assert found.finding.plots == ()
    assert "in all of 4 pairs" in found.finding.notes[0]


def test_one_pair_only() -> None:
    assert found_by("roberta", part((0,))).finding.answers == ()


def test_pairs_without_votes_are_left_out_and_counted() -> None:
    data = part()
    first = replace(data.items[0], groups={"category": "age"})
    found = found_by("roberta", replace(data, items=(first, *data.items[1:])))
    assert "1 pairs without votes" in found.finding.notes[0]
    row = rows_of(found, 0)[0]
    assert row[4] + row[5] + row[6] == len(ROWS) - 1


@pytest.mark.parametrize("votes", [0, 6])
def test_a_threshold_nobody_can_miss_or_reach_is_refused(votes: int) -> None:
    with pytest.raises(DataError, match=f"votes is {votes}, expected at"):
        found_by("roberta", part(), votes=votes)


def test_votes_that_are_no_number_are_refused() -> None:
    data = part()
    odd = replace(data.items[0], groups={**data.items[0].groups, "votes": "many"})
    with pytest.raises(DataError, match="votes 'many', expected"):
        found_by("roberta", replace(data, items=(odd, *data.items[1:])))


def test_data_without_votes_is_refused() -> None:
    data = datasets.from_records([("He cooks.", "She cooks.")])
    with pytest.raises(DataError, match="its pairs have no votes; without `data` it uses crows-pairs"):
        run([HUMAN], [zoo.folder("roberta")], data=data)
