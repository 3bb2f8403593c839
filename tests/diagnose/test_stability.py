"""`stability`: scores, disagreements and sample sizes against plain loops over one sentence at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.types import Dataset, Row
from unmask.diagnose.spec import DiagnosisObservation
from unmask.diagnose.stability import STABILITY, StabilityOptions
from unmask.findings import Section, Table, Value
from unmask.stats.power import required_pairs, required_pairs_between

from .plainly import filled, independent, run, slow_outcome, slow_scores

MEASURES = {"bert-uncased": ("cps", "sss", "sld"), "roberta": ("aul", "sld"), "gpt2": ("ll", "sld")}
PAIRS = 22


@cache
def part(number: int = PAIRS) -> Dataset:
    """The shortest pairs of the miniature CrowS-Pairs."""
    whole = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    return independent(replace(whole, items=tuple(sorted(whole.items, key=lambda item: len(item.more))[:number])))


def found_by(models: list[str], data: Dataset, measures: tuple[str, ...], **settings: Any) -> Section:
    folders = [zoo.folder(model) for model in models]
    options, chosen = unmask.Options(store=False), StabilityOptions(measures=measures, **settings)
    (found,) = run([STABILITY], folders, data=data, settings=chosen, options=options)
    return found


def values(architecture: str, name: str, number: int = PAIRS) -> list[float]:
    """What the score is the mean of: 100 where `more` wins, or the size of the difference."""
    made = []
    for item in part(number).items:
        scores, outcome = slow_scores(architecture, name, item), slow_outcome(architecture, name, item)
        if name == "sld":
            assert scores is not None
            made.append(abs(scores["more"] - scores["less"]))
        elif scores is not None or name == "sss":  # an empty span is a pair not won
            made.append(100.0 * (outcome == "more"))
    return made


def decided(architecture: str, name: str) -> float:
    """The share of pairs that are not tied."""
    outcomes = [slow_outcome(architecture, name, item) for item in part().items]
    return sum(one in ("more", "less") for one in outcomes) / len(outcomes)


def column(table: Table, name: str) -> list[Any]:
    return [row[table.columns.index(name)] for row in table.rows]


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", MEASURES)
def test_scores_are_those_of_plain_loops(architecture: str) -> None:
    data = part()
    found = found_by([architecture], data, MEASURES[architecture])
    halves, _, by_size = found.finding.tables
    for name, n, score, spread in zip(
        *(column(halves, each) for each in ("measure", "pairs", "score", "SD of halves")), strict=True
    ):
        expected = values(architecture, name)
        assert n == len(expected)
        assert score.value == pytest.approx(np.mean(expected), abs=1e-4)
        assert score.low < score.value < score.high
        theory = 2 * np.std(expected, ddof=1) / math.sqrt(len(expected))
        assert spread == pytest.approx(theory, rel=0.15)
    sizes = [(row[2], row[4], row[5]) for row in by_size.rows]
    assert sizes == [(name, f"{size} pairs", size) for name in MEASURES[architecture] for size in (20, PAIRS)]
    for row in by_size.rows:
        whole = np.mean(values(architecture, str(row[2])))
        if row[5] == PAIRS:
            assert row[6] == pytest.approx(whole, abs=1e-4)
            assert row[7] is None
        else:
            assert isinstance(row[6], Value)
            assert row[6].low <= row[6].value <= row[6].high


@pytest.mark.thorough
def test_the_spread_falls_as_samples_grow_and_draws_can_be_had_again() -> None:
    data = part(90)
    first = found_by(["roberta"], data, ("aul",), draws=200)
    again = found_by(["roberta"], data, ("aul",), draws=200)
    table = first.finding.tables[-1]
    assert repr(table) == repr(again.finding.tables[-1])
    spread = column(table, "SD")
    won = np.array(values("roberta", "aul", 90))
    for size, seen in zip((20, 40, 60, 80), spread[:-1], strict=True):
        theory = np.std(won, ddof=1) * math.sqrt((1 - size / 90) / size)  # without replacement
        assert seen == pytest.approx(theory, rel=0.2)
    assert repr(found_by(["roberta"], data, ("aul",), seed=1).finding.tables[-1]) != repr(table)


def test_fewer_draws_than_five_are_not_taken() -> None:
    found = found_by(["roberta"], part(), ("aul",), draws=1)
    assert found.finding.tables[-1].note.startswith("5 samples")


@pytest.mark.thorough
def test_pairs_needed_for_one_model_and_for_two() -> None:
    data = part()
    found = found_by(["roberta", "xlm-roberta"], data, ("aul", "sld"), effect=8.0)
    _, needed, between, _ = found.finding.tables
    assert column(needed, "measure") == ["aul", "aul"]
    assert column(needed, "pairs needed") == [
        required_pairs(8.0, decided=decided(model, "aul")) for model in ("roberta", "xlm-roberta")
    ]
    a, b = (values(model, "aul") for model in ("roberta", "xlm-roberta"))
    differ = sum(x != y for x, y in zip(a, b, strict=True))
    (row,) = between.rows
    assert row[0:2] == ("crows-pairs", "aul")
    assert row[4].value == pytest.approx(np.mean(b) - np.mean(a))  # type: ignore[union-attr]
    assert row[6] == pytest.approx(100 * differ / len(a))
    assert row[8] == required_pairs_between(8.0, differ / len(a))
    assert len([plot.id for plot in found.finding.plots]) == 4


def test_models_that_agree_on_everything_cannot_be_told_apart() -> None:
    data = part(6)
    won = [Row("aul", "crows-pairs", item.id, item.groups, {"more": 1.0, "less": 0.0}, "more") for item in data.items]
    seen = [DiagnosisObservation({"id": model}, data, {"aul": won}) for model in ("one", "other")]
    (row,) = STABILITY.conclude(seen, StabilityOptions()).finding.tables[2].rows
    assert (row[4].value, row[6], row[8]) == (0.0, 0.0, None)  # type: ignore[union-attr]


def test_one_pair_only() -> None:
    found = found_by(["roberta"], part(1), ("aul", "sld"))
    halves = found.finding.tables[0]
    assert column(halves, "SD of halves") == [None, None]
    assert column(halves, "ρ of rankings") == [None, None]
    assert found.finding.plots == ()
    assert found.finding.answers == ()


def test_nothing_scored_is_said() -> None:
    data = datasets.from_records([("Same words.", "Same words.")])
    found = found_by(["roberta"], data, ("sss-diagonal",))
    assert "nothing was scored by sss-diagonal" in found.finding.notes[0]
    assert not found.finding.tables


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DataError, match="effect is 60"):
        found_by(["roberta"], part(2), ("aul",), effect=60.0)
    with pytest.raises(DataError, match="cannot read pronoun-templates: its items are templates"):
        found_by(["roberta"], datasets.load("pronoun-templates"), ("aul",))


def of_writers(*sizes: int) -> tuple[Dataset, list[Row]]:
    """Pairs of writers; those of every second one are all won."""
    writers = [str(writer) for writer, size in enumerate(sizes) for _ in range(size)]
    data = datasets.from_records([("a b", "a c")] * len(writers), name="own")
    rows = []
    for at, writer in enumerate(writers):
        won = int(writer) % 2
        groups, scores = {"writer": writer}, {"more": float(won), "less": 1.0 - won}
        rows.append(Row("aul", "own", f"{at:03}", groups, scores, "more" if won else "less"))  # type: ignore[arg-type]
    return data, rows


def test_writers_are_halved_and_their_design_effect_counts() -> None:
    """Of 24 writers of 5 pairs, all won or all lost, the pairs are worth one each: five times as many are needed."""
    data, rows = of_writers(*(5,) * 24)
    seen = [DiagnosisObservation({"id": "m"}, data, {"aul": rows})]
    found = STABILITY.conclude(seen, StabilityOptions(effect=10.0)).finding
    halves, needed, by_size = filled(found)
    (row,) = halves.rows
    assert row[4:6] == (120, "24 writers")
    assert row[7] == pytest.approx(2 * 50 / math.sqrt(23), rel=0.1)  # two standard errors over writers
    (power,) = needed.rows
    assert power[7] == pytest.approx(5 * 119 / 115, rel=1e-9)  # (1/4 / 23) over (1/4 / 119)
    assert power[5] == pytest.approx(power[7] * required_pairs(10.0), rel=0.01)  # type: ignore[operator]
    assert [each[4:6] for each in by_size.rows] == [("20 writers", 100), ("24 writers", 120)]
    assert "halves of 120 pairs of 24 writers" in found.answers[0]
    alone = STABILITY.conclude(seen, StabilityOptions(effect=10.0, independent=True)).finding
    assert alone.tables[0].rows[0][5] == "120 pairs"
    assert alone.tables[0].rows[0][7] == pytest.approx(2 * 50 / math.sqrt(119), rel=0.1)
    assert alone.tables[1].rows[0][5:] == (required_pairs(10.0), pytest.approx(13.3, abs=0.2), 1.0)
    (estimate, *_) = STABILITY.conclude(seen, StabilityOptions()).estimates
    assert estimate.unit == "writer"


def test_one_writer_is_too_few_to_plan_with() -> None:
    data, rows = of_writers(0, 6)
    rows[0] = replace(rows[0], outcome="less", scores={"more": 0.0, "less": 1.0})
    found = STABILITY.conclude([DiagnosisObservation({"id": "m"}, data, {"aul": rows})], StabilityOptions()).finding
    halves, needed, _ = filled(found)
    assert halves.rows[0][7] is None
    assert halves.rows[0][6].method == "too few: 1 writer"  # type: ignore[union-attr]
    assert needed.rows[0][5:] == (None, None, None)
    assert found.answers == ()
