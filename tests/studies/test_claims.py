"""A paper's claims: the answers follow from intervals and corrected tests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unmask.findings import Value
from unmask.studies.claims import Answer, ClaimTest, claims_section

CLAIM = ClaimTest("Is it more?", "a model", "difference, %", Value(3.0, 1.0, 5.0), n=90, p=0.01, method="exact McNemar")


@pytest.mark.parametrize(
    ("low", "high", "p", "answer"),
    [
        (1.0, 5.0, 0.01, "yes"),
        (1.0, 5.0, None, "yes"),
        (1.0, 5.0, 0.06, "not decided"),
        (-1.0, 5.0, 0.01, "not decided"),
        (float("nan"), float("nan"), 0.01, "not decided"),
    ],
)
def test_a_claim_needs_its_interval_and_its_test(low: float, high: float, p: float | None, answer: Answer) -> None:
    assert replace(CLAIM, value=Value(3.0, low, high)).answer(p) == answer


def test_a_value_on_the_other_side_contradicts_the_claim() -> None:
    assert replace(CLAIM, expected="below").answer(0.01) == "no, the opposite"
    assert replace(CLAIM, value=Value(-3.0, -5.0, -1.0)).answer(0.01) == "no, the opposite"
    assert replace(CLAIM, value=Value(-3.0, -5.0, -1.0), expected="below").answer(0.01) == "yes"
    assert replace(CLAIM, null=2.0).answer(0.01) == "not decided"


def test_all_tests_of_the_section_are_corrected_together() -> None:
    """Two tests with p 0.03 do not both hold: corrected they are 0.06."""
    section = claims_section([replace(CLAIM, p=0.03), replace(CLAIM, p=0.03, where="another")], ["one is left out"])
    (table,) = section.finding.tables
    assert table.title == "Is it more?"
    assert [row[-1] for row in table.rows] == ["not decided"] * 2
    assert section.finding.answers == ("Is it more? not decided in 2 of 2 tests",)
    assert section.finding.notes == ("one is left out",)
    assert claims_section([CLAIM]).finding.answers == ("Is it more? yes",)
    assert not claims_section([]).finding.tables


def test_every_claim_has_a_table_that_says_once_what_all_its_tests_share() -> None:
    other = replace(CLAIM, claim="Is it less?", null=2.0, p=None, method="", value=Value(1.0, 0.0, 1.5, "wilson"))
    section = claims_section([CLAIM, other, replace(CLAIM, where="b", null=1.0)])
    first, second = section.finding.tables
    assert (first.title, second.title) == ("Is it more?", "Is it less?")
    assert first.columns == ("where", "value", "null", "n", "answer")
    assert first.note == "Statistic: difference, %; p (Holm): 0.020; test: exact McNemar."
    assert [row[2] for row in first.rows] == [0.0, 1.0]
    assert second.note == "Statistic: difference, %; null: 2; test: wilson."
    assert "p (Holm): < 0.001;" in claims_section([replace(CLAIM, p=1e-33)]).finding.tables[0].note
    assert "after Holm's correction" in section.foot
