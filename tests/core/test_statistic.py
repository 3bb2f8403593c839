"""A fact about a statistic stands once: in its record."""

from __future__ import annotations

import math

import pytest

from unmask.core.statistic import BALANCED, OF_WORDS, STATISTICS, statistic


@pytest.mark.parametrize(
    ("name", "unit", "change_unit"),
    [
        ("bias-score", "%", "points"),
        ("balanced-bias-score", "%", "points"),
        ("asld", "nats", "nats"),
        ("appd", "difference of probabilities", "of probability"),
        ("effect-size", "standard deviations", "standard deviations"),
        ("accuracy, women, %", "%", "points"),
        ("never heard of", "", ""),
    ],
)
def test_units(name: str, unit: str, change_unit: str) -> None:
    assert (statistic(name).unit, statistic(name).change_unit) == (unit, change_unit)


def test_which_way_is_worse() -> None:
    assert {name for name in STATISTICS if statistic(name).better == "higher"} == {"lms", "icat", "kept-percent"}
    assert {name for name in STATISTICS if statistic(name).better == "lower"} >= {"asld", f"{OF_WORDS}appd"}


def test_reference_values_lie_on_the_scale() -> None:
    for name, facts in STATISTICS.items():
        least, most = facts.scale
        assert least < most, name
        assert facts.null is None or least <= facts.null <= most, name


def test_the_largest_worsening_is_that_to_the_end_of_the_scale() -> None:
    assert statistic("bias-score").largest_worsening == 50
    assert statistic("appd").largest_worsening == 1
    assert statistic("lms").largest_worsening == 100
    assert statistic("mean-difference").largest_worsening == math.inf


def test_a_balanced_statistic_has_the_facts_of_the_plain_one() -> None:
    for plain in ("bias-score", "mean-difference", "appd", "association"):
        a, b = statistic(plain), statistic(BALANCED + plain)
        assert (a.unit, a.null, a.better, a.scale, a.margin) == (b.unit, b.null, b.better, b.scale, b.margin)
        assert a.words != b.words


def test_every_statistic_says_something_everywhere() -> None:
    for facts in STATISTICS.values():
        for place in ("above", "within", "below", "ties", "too few", "no interval", "no null"):
            assert facts.reading(place)
            assert facts.reading(place, short=True)
