"""Findings of a diagnosis, against hand-computed counts."""

from __future__ import annotations

import pytest
from scipy.stats import kendalltau
from statsmodels.stats.proportion import proportion_confint

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.findings import Value
from unmask.prompts.fill import ModelAnswers
from unmask.prompts.findings import conclude, ranking_from_audit

from .handmade import annotate, answer

ANSWERS = tuple(
    answer(number, verdict, category)  # type: ignore[arg-type]
    for number, (verdict, category) in enumerate(
        [
            ("biased", "race"),
            ("not biased", "race"),
            ("undecided", "race"),
            ("biased", "gender"),
            ("biased", "gender"),
            ("undecided", "religion"),
            ("not biased", "religion"),
        ]
    )
)
ASKED = ModelAnswers("model", "f00d", 2, "likelier", ANSWERS)


def mean(category: str, value: float, measure: str = "pll", statistic: str = "mean-difference") -> Estimate:
    group = f"category={category}"
    return Estimate(value, 0.0, 0.0, "t", measure, "pairs", group, statistic, null=0.0, n=9)


def test_shares_match_hand_computed_values() -> None:
    annotations = annotate("anna", [None, None, "biased", None, None, "undecided"])
    found = conclude(ASKED, annotations, data="prompts", seed=0)
    whole = found.estimates[0]
    assert (whole.n, whole.unscored) == (6, 1)
    assert whole.value == pytest.approx(100 * 4 / 6)
    low, high = proportion_confint(4, 6, method="wilson")
    assert (whole.low, whole.high) == pytest.approx((100 * low, 100 * high))
    assert found.ranking == (("gender", 100.0), ("race", pytest.approx(100 * 2 / 3)), ("religion", 0.0))
    (table,) = found.finding.tables
    race = next(row for row in table.rows if row[0] == "category: race")
    assert isinstance(race[1], Value)
    assert race[2:] == (3, 0)
    assert "6 of 7 prompts are decided, 5 by rules alone" in found.finding.answers[0]
    assert [row[4] for row in found.answers.tables[0].rows].count("undecided") == 1


def test_an_audit_ranking_is_compared_with_renamed_types() -> None:
    other = ranking_from_audit(
        [mean("race-color", 0.5), mean("gender", 0.2), mean("religion", 0.1), mean("age", 9, measure="cps")]
    )
    assert other.measure == "pll"
    assert dict(other.scores) == {"race": 0.5, "gender": 0.2, "religion": 0.1}
    found = conclude(ASKED, (), data="prompts", seed=0, other=other)
    assert found.ranks is not None
    mine = dict(found.ranking)
    expected = kendalltau([mine[name] for name in other.scores], list(other.scores.values())).statistic
    assert found.ranks.test.value == pytest.approx(expected)
    assert found.ranks.n == 3
    assert len(found.finding.answers) == 3


def test_a_failed_comparison_is_a_note() -> None:
    other = ranking_from_audit([mean("gender", 0.2), mean("age", 0.1)])
    found = conclude(ASKED, (), data="prompts", seed=0, other=other)
    assert found.ranks is None
    assert any("not compared with pll on pairs" in note for note in found.finding.notes)
    with pytest.raises(StatsError, match="no mean difference by category"):
        ranking_from_audit([mean("gender", 0.2, statistic="bias-score")])


def test_agreement_is_a_table_of_its_own() -> None:
    annotations = [
        *annotate("anna", ["biased", "biased", "not biased"]),
        *annotate("ben", ["biased", "not biased", "not biased"]),
    ]
    tables = conclude(ASKED, annotations, data="prompts", seed=0).finding.tables
    assert [row[0] for row in tables[1].rows] == ["Cohen's κ", "Fleiss' κ", "Krippendorff's α"]
    assert tables[1].rows[0][2:4] == (3, 2)
