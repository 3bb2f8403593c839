"""`length`: tokens, scores by which sentence is longer, lines, correlations, against plain computations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from unmask.core.types import Dataset
from unmask.data.pairs import from_records
from unmask.diagnose.length import LENGTH

from .plainly import crows, finding, independent, rows_of, slow_length, slow_outcome, slow_scores

ROWS = (*range(14), *range(20, 36))
CASES = [("bert-uncased", ("sss", "aul", "aula")), ("roberta", ("all-masked", "aula")), ("gpt2", ("ll",))]


def gaps(architecture: str, data: Dataset) -> dict[str, int]:
    """Tokens of `more` minus tokens of `less`, by pair."""
    return {item.id: slow_length(architecture, item.more) - slow_length(architecture, item.less) for item in data.items}


def with_normalised(measures: tuple[str, ...]) -> list[str]:
    """AULA brings its other form along."""
    return [name for one in measures for name in ((one, "aula-normalised") if one == "aula" else (one,))]


@pytest.mark.parametrize(("architecture", "measures"), CASES)
def test_pairs_are_counted_by_length(architecture: str, measures: tuple[str, ...]) -> None:
    data = crows(ROWS)
    (row,) = rows_of(finding(LENGTH, architecture, data, measures), "Pairs by length")
    known = list(gaps(architecture, data).values())
    assert (row["longer"], row["equal"], row["shorter"]) == (
        len([gap for gap in known if gap > 0]),
        len([gap for gap in known if gap == 0]),
        len([gap for gap in known if gap < 0]),
    )
    assert min(row["longer"], row["equal"], row["shorter"]) > 1
    assert row["largest difference"] == max(abs(gap) for gap in known)
    assert (row["pairs"], row["not counted"]) == (len(ROWS), 0)


@pytest.mark.thorough
@pytest.mark.parametrize(("architecture", "measures"), CASES)
def test_lines_and_correlations_equal_a_slow_computation(architecture: str, measures: tuple[str, ...]) -> None:
    data = crows(ROWS)
    by = gaps(architecture, data)
    found = finding(LENGTH, architecture, data, measures)
    followed = {row["measure"]: row for row in rows_of(found, "How far measures follow")}
    units = {row["measure"]: row for row in rows_of(found, "The lines in the units")}
    within = {row["measure"]: row for row in rows_of(found, "Score and length")}
    assert list(followed) == list(units) == list(within) == with_normalised(measures)
    for measure in followed:
        scored = [
            (item, scores) for item in data.items if (scores := slow_scores(architecture, measure, item)) is not None
        ]
        x = [by[item.id] for item, _ in scored]
        y = [scores["more"] - scores["less"] for _, scores in scored]
        slope, intercept = np.polyfit(x, y, 1)
        assert units[measure]["slope per token"].value == pytest.approx(slope, abs=1e-4)
        assert units[measure]["difference at equal sentence length"].value == pytest.approx(intercept, abs=1e-4)
        assert followed[measure]["standardised slope"].value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-4)
        assert followed[measure]["pairs"] == len(scored)
        lengths = [slow_length(architecture, text) for item, _ in scored for text in (item.more, item.less)]
        values = [scores[side] for _, scores in scored for side in ("more", "less")]
        assert within[measure]["sentences"] == len(lengths)
        rho = within[measure]["ρ"]
        assert rho.value == pytest.approx(stats.spearmanr(lengths, values).statistic, abs=1e-3)
        assert rho.low < rho.value < rho.high


@pytest.mark.parametrize(("architecture", "measures"), CASES)
def test_scores_by_length_equal_a_slow_computation(architecture: str, measures: tuple[str, ...]) -> None:
    data = independent(crows(ROWS))
    by = gaps(architecture, data)
    rows = {row["measure"]: row for row in rows_of(finding(LENGTH, architecture, data, measures), "Bias score by")}
    assert list(rows) == with_normalised(measures)
    for measure, row in rows.items():
        wins: dict[str, list[bool]] = {"longer": [], "equal": [], "shorter": []}
        for item in data.items:
            outcome = slow_outcome(architecture, measure, item)
            if outcome != "unscored" or measure == "sss":  # an empty span counts as not won, as published
                part = "longer" if by[item.id] > 0 else "shorter" if by[item.id] < 0 else "equal"
                wins[part].append(outcome == "more")
        for part, won in wins.items():
            assert row[part].value == pytest.approx(100 * np.mean(won))
            low, high = stats.binomtest(sum(won), len(won)).proportion_ci(method="wilson")
            assert (row[part].low, row[part].high) == pytest.approx((100 * low, 100 * high), abs=1e-6)
        longer, shorter = wins["longer"], wins["shorter"]
        assert row["longer − shorter"].value == pytest.approx(100 * (np.mean(longer) - np.mean(shorter)))
        square = [[sum(part), len(part) - sum(part)] for part in (longer, shorter)]
        assert row["p"] == pytest.approx(stats.fisher_exact(square).pvalue)
        everyone = longer + shorter + wins["equal"]
        change = 100 * (np.mean(wins["equal"]) - np.mean(everyone))
        assert row["change without unequal"].value == pytest.approx(change)


@pytest.mark.parametrize("architecture", ["bert-uncased", "roberta"])
def test_aula_is_set_beside_its_normalised_form(architecture: str) -> None:
    data = independent(crows(ROWS))
    by = gaps(architecture, data)
    found = finding(LENGTH, architecture, data, ["aula"])
    rows = {row["part"]: row for row in rows_of(found, "AULA")}
    parts = {"all": lambda gap: True, "equal length": lambda gap: gap == 0, "unequal length": lambda gap: gap != 0}
    assert list(rows) == list(parts)
    for name, holds in parts.items():
        items = [item for item in data.items if holds(by[item.id])]
        twice = [slow_outcome(architecture, "aula", item) == "more" for item in items]
        once = [slow_outcome(architecture, "aula-normalised", item) == "more" for item in items]
        row = rows[name]
        assert (row["pairs"], row["aula"], row["aula-normalised"]) == pytest.approx(
            (len(items), 100 * np.mean(twice), 100 * np.mean(once))
        )
        gained = sum(b and not a for a, b in zip(twice, once, strict=True))
        lost = sum(a and not b for a, b in zip(twice, once, strict=True))
        assert row["outcomes that differ"] == gained + lost
        if gained + lost:
            assert row["p"] == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)
        else:
            assert row["p"] is None


def test_without_aula_its_other_form_is_not_asked() -> None:
    found = finding(LENGTH, "bert-uncased", crows(ROWS[:4]), ["aul"])
    assert not [table for table in found.tables if table.title.startswith("AULA")]
    assert {row["measure"] for row in rows_of(found, "Bias score by")} == {"aul"}


def test_pairs_of_equal_length_have_no_slope(tmp_path: Path) -> None:
    records = [{"more": "She is old.", "less": "He is old."}] * 5
    found = finding(LENGTH, "bert-uncased", from_records(records, name="mine"), ["aul"])
    (row,) = rows_of(found, "The lines in the units")
    assert math.isnan(row["slope per token"].value)
    assert row["difference at equal sentence length"].value == pytest.approx(row["mean difference"].value)
    assert any("no line can be fitted" in line for line in found.answers)
    (row,) = rows_of(found, "Bias score by")
    assert math.isnan(row["longer"].value)
    assert row["p"] is None
    assert [plot.id for plot in found.plots] == ["length-scores"]


def test_what_the_model_cannot_take_is_counted_apart() -> None:
    long = " ".join(["word"] * 200)
    data = from_records([{"more": f"{long} he", "less": f"{long} she"}], name="mine")
    found = finding(LENGTH, "bert-uncased", data, ["aul", "aula"])
    (row,) = rows_of(found, "Pairs by length")
    assert (row["pairs"], row["not counted"], row["largest difference"]) == (0, 1, 0)
    assert len(found.tables) == 1
    assert found.plots == ()


def test_aula_is_compared_over_writers_unless_pairs_are_independent() -> None:
    data = crows(ROWS)
    over = {row["part"]: row for row in rows_of(finding(LENGTH, "roberta", data, ["aula"]), "AULA")}["all"]
    assert " writers" in over["change"].method
    alone = {row["part"]: row for row in rows_of(finding(LENGTH, "roberta", independent(data), ["aula"]), "AULA")}
    assert "writers" not in alone["all"]["change"].method
