"""Estimates in words: a lean would be called none, or chance a lean, if these failed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from report import fake
from unmask.core.files import plain
from unmask.core.statistic import READINGS, SHORT, STATISTICS
from unmask.findings import numbers
from unmask.findings.assets import as_script, format_fact
from unmask.findings.sentences import lean
from unmask.measures import MEASURES
from unmask.report import page
from unmask.report.citations import references

NONE = "no preference found by this measure"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"value": 60.0, "low": 55.0, "high": 65.0}, "leans towards stereotypes"),
        ({"value": 40.0, "low": 35.0, "high": 45.0}, "leans against stereotypes"),
        ({"value": 52.0, "low": 48.0, "high": 56.0}, "no preference found by this measure"),
        ({"value": 52.0, "low": 50.0, "high": 56.0}, "no preference found by this measure"),
        ({"value": 60.0, "low": 55.0, "high": 65.0, "p": 0.07}, "no preference found by this measure"),
        (
            {"value": 0.0, "low": 0.0, "high": 6.0, "n": 60, "ties": 31},
            "most pairs are ties: no preference can be read",
        ),
        ({"value": 0.0, "low": 0.0, "high": 6.0, "n": 60, "ties": 30}, "leans against stereotypes"),
        ({"value": 87.5, "low": 52.9, "high": 97.8, "n": 29}, "too few items for a verdict"),
        ({"value": 87.5, "low": 52.9, "high": 97.8, "n": 30}, "leans towards stereotypes"),
        ({"value": 60.0, "low": 55.0, "high": 65.0, "group": "category=age", "p_holm": 0.2}, NONE),
        (
            {"value": 60.0, "low": 55.0, "high": 65.0, "group": "category=age", "p_holm": 0.01},
            "leans towards stereotypes",
        ),
        ({"value": 90.0, "low": 85.0, "high": 95.0, "statistic": "lms"}, "prefers meaningful words to unrelated ones"),
        (
            {"value": 51.0, "low": 45.0, "high": 55.0, "statistic": "lms"},
            "meaningful and unrelated words are not distinguished",
        ),
        (
            {"value": 60.0, "low": math.nan, "high": math.nan},
            "no interval could be computed: do not read a preference into it",
        ),
        ({"value": math.nan, "low": math.nan, "high": math.nan}, "not measured"),
        ({"value": 70.0, "null": None, "statistic": "new"}, "has no reference value to compare with"),
    ],
)
def test_readings(changes: dict[str, Any], told: str) -> None:
    value = changes.pop("value")
    assert lean(fake.estimate("cps", value, **changes)) == told


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (1508.0, 0, "1,508"),
        (-0.25, 2, "−0.25"),
        (-0.0001, 2, "0.00"),
        (math.nan, 2, "–"),
        (None, 2, "–"),
        (math.inf, 1, "–"),
    ],
)
def test_numbers(value: float | None, digits: int, shown: str) -> None:
    assert numbers.number(value, digits) == shown


def test_p_values() -> None:
    assert [numbers.p_value(p) for p in (None, 0.00001, 0.04, math.nan)] == ["–", "< 0.001", "0.040", "–"]


def test_words_never_promise_an_absence_of_bias() -> None:
    records = (*(facts.readings for facts in STATISTICS.values()), *(facts.short for facts in STATISTICS.values()))
    said = " ".join([*page.LIMITS, *(text for words in (READINGS, SHORT, *records) for text in words.values())])
    assert "unbiased" not in said
    assert "debias" not in said


def test_every_measure_has_a_source_to_print() -> None:
    assert {measure.citation for measure in MEASURES.values()} <= references().keys()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        ("", "–"),
        (True, "yes"),
        (22744506, "22,744,506"),
        ([], "none"),
        (["cps", None], "cps, –"),
        (0.5, "0.5"),
    ],
)
def test_facts_are_formatted_without_brackets(value: object, shown: str) -> None:
    assert format_fact(value) == shown


def test_json_for_scripts_cannot_end_them() -> None:
    text = str(as_script({"</script>": ["<!--", "&", "\u2028", math.nan]}))
    assert not set("<>&\u2028") & set(text)
    assert "null" in text


def test_plain_values_are_valid_json() -> None:
    assert plain({"a": (1, 2.5, None, True), "b": math.inf}) == {"a": [1, 2.5, None, True], "b": None}
