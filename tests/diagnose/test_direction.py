"""`direction`: either score and their distance equal a slow count; edges say what happened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import fisher_exact
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.types import Dataset
from unmask.diagnose import UnitOptions
from unmask.diagnose.direction import DIRECTION
from unmask.findings import Section

from .plainly import as_whole, independent, run, slow_outcome

OPTIONS = unmask.Options(store=False)
MODELS = ("bert-uncased", "roberta", "gpt2")
MEASURES = {
    "bert-uncased": ("cps", "aul", "aula", "all-masked"),
    "roberta": ("cps", "aul", "aula", "all-masked"),
    "gpt2": ("ll", "cll"),
}
EACH = 7  # pairs of either direction


def part() -> Dataset:
    """The first pairs of CrowS-Pairs in either direction."""
    whole = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    chosen = [
        item
        for direction in ("stereo", "antistereo")
        for item in [one for one in whole.items if one.groups["direction"] == direction][:EACH]
    ]
    return independent(replace(whole, items=tuple(chosen)))


@cache
def diagnosed(model: str) -> Section:
    settings = UnitOptions(measures=MEASURES[model])
    (found,) = run([DIRECTION], [zoo.folder(model)], data=part(), settings=settings, options=OPTIONS)
    return found


def rows(found: Section) -> dict[str, dict[str, Any]]:
    (table,) = found.finding.tables
    made = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {row["measure"]: row for row in made}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_both_scores_and_their_distance_equal_a_slow_count(name: str) -> None:
    found = rows(diagnosed(name))
    assert set(found) == set(MEASURES[name])
    for measure, row in found.items():
        wins = {"stereo": 0, "antistereo": 0}
        for item in part().items:
            wins[item.groups["direction"]] += slow_outcome(name, measure, item) == "more"
        advantaged, disadvantaged = wins["antistereo"], wins["stereo"]
        for column, count in (("advantaged", advantaged), ("disadvantaged", disadvantaged)):
            low, high = proportion_confint(count, EACH, method="wilson")
            assert row[column].value == pytest.approx(100 * count / EACH)
            assert (row[column].low, row[column].high) == pytest.approx((100 * low, 100 * high), abs=1e-9)
        assert row["|Diff|"].value == pytest.approx(100 * abs(advantaged - disadvantaged) / EACH)
        ends = confint_proportions_2indep(advantaged, EACH, disadvantaged, EACH, method="newcomb")
        assert row["|Diff|"].high == pytest.approx(100 * max(abs(end) for end in ends))
        counts = [[advantaged, EACH - advantaged], [disadvantaged, EACH - disadvantaged]]
        assert row["p"] == pytest.approx(fisher_exact(counts).pvalue)
        assert row["published |Diff|"] is None


def test_the_measures_most_and_least_swayed_are_named() -> None:
    found = diagnosed("bert-uncased")
    (answer,) = found.finding.answers
    gaps = {name: row["|Diff|"].value for name, row in rows(found).items()}
    most = max(gaps, key=gaps.__getitem__)
    least = min(gaps, key=gaps.__getitem__)
    assert f"{gaps[least]:.1f} ({least}) to {gaps[most]:.1f} ({most})" in answer


def test_the_plot_shows_either_direction_of_every_measure() -> None:
    found = diagnosed("bert-uncased")
    (plot,) = found.finding.plots
    every = [row for data in plot.chart.to_dict()["datasets"].values() for row in data]
    drawn = [row for row in every if "series" in row]
    expected = {
        (measure, side): row[side].value
        for measure, row in rows(found).items()
        for side in ("advantaged", "disadvantaged")
    }
    assert {(row["label"].split(" · ")[0], row["series"]): row["value"] for row in drawn} == expected


@pytest.mark.thorough
def test_published_differences_stand_beside_ours(tmp_path: Path) -> None:
    folder = zoo.build("albert", tmp_path / "albert-large-v2")
    settings = UnitOptions(measures=("all-masked", "aul", "aula", "cps"))
    whole = {"all-masked": 9.7, "aul": 2.1, "aula": 1.26, "cps": None}
    for data, expected in ((as_whole(part()), whole), (part(), dict.fromkeys(whole))):  # part of the data: none
        (found,) = run([DIRECTION], [folder], data=data, settings=settings, options=OPTIONS)
        assert {name: row["published |Diff|"] for name, row in rows(found).items()} == expected


def test_data_without_directions_is_refused() -> None:
    data = datasets.from_records([("He is old.", "She is old.")], name="mine")
    with pytest.raises(DataError, match="cannot read mine: its pairs have no direction"):
        run([DIRECTION], [zoo.folder("bert-uncased")], data=data, options=OPTIONS)


def test_one_direction_alone_gives_no_row_and_no_plot() -> None:
    data = datasets.from_records([{"more": "He is old.", "less": "She is old.", "direction": "stereo"}], name="mine")
    (found,) = run([DIRECTION], [zoo.folder("bert-uncased")], data=data, options=OPTIONS)
    assert found.finding.tables == ()
    assert found.finding.plots == ()


def test_one_pair_of_either_direction() -> None:
    records = [
        {"more": "He is old.", "less": "She is old.", "direction": "stereo"},
        {"more": "She is a nurse.", "less": "He is a nurse.", "direction": "antistereo"},
    ]
    data = datasets.from_records(records, name="mine")
    settings = UnitOptions(measures=("aul",))
    (found,) = run([DIRECTION], [zoo.folder("bert-uncased")], data=data, settings=settings, options=OPTIONS)
    row = rows(found)["aul"]
    outcomes = [slow_outcome("bert-uncased", "aul", item) for item in data.items]
    assert row["disadvantaged"].value == 100 * (outcomes[0] == "more")
    assert row["advantaged"].value == 100 * (outcomes[1] == "more")
    assert row["p"] == 1.0
    assert row["|Diff|"].low == 0
