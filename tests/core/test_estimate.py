"""A value with its interval: widened, clipped, folded at zero, and made an estimate."""

from __future__ import annotations

import math

import pytest

from unmask.core.estimate import NAN, Estimate, Value


@pytest.mark.parametrize(
    ("signed", "expected"),
    [
        ((1.0, -1.0, 3.0), (1.0, 0.0, 3.0)),
        ((-1.0, -4.0, 3.0), (1.0, 0.0, 4.0)),
        ((-2.0, -4.0, -1.0), (2.0, 1.0, 4.0)),
        ((3.0, 2.0, 5.0), (3.0, 2.0, 5.0)),
        ((0.7, 0.5, 8.0), (0.7, 0.5, 8.0)),
        ((-0.7, -8.0, 0.5), (0.7, 0.0, 8.0)),
    ],
)
def test_an_absolute_value_has_the_folded_interval(
    signed: tuple[float, float, float], expected: tuple[float, float, float]
) -> None:
    assert abs(Value(*signed, "wilson")) == Value(*expected, "wilson")


def test_an_absolute_value_without_interval_has_none() -> None:
    found = abs(Value(-2.0, method="too few"))
    assert (found.value, found.method) == (2.0, "too few")
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_an_interval_is_widened_to_its_value() -> None:
    assert Value(1.0, 2.0, 3.0, "t").widen() == Value(1.0, 1.0, 3.0, "t")
    assert Value(4.0, 2.0, 3.0, "t").widen() == Value(4.0, 2.0, 4.0, "t")
    assert Value(2.5, 2.0, 3.0, "t").widen() == Value(2.5, 2.0, 3.0, "t")
    assert math.isnan(Value(2.5).widen().low)
    assert Value(NAN, 2.0, 3.0).widen().low == 2.0


def test_an_interval_is_clipped_to_the_scale_but_not_its_value() -> None:
    assert Value(101.0, -5.0, 120.0, "t").clip(0.0, 100.0) == Value(101.0, 0.0, 100.0, "t")
    assert math.isnan(Value(50.0).clip(0.0, 100.0).high)


def test_an_estimate_keeps_the_interval_and_its_fields_when_clipped() -> None:
    found = Estimate.of(Value(50.0, -5.0, 120.0, "t"), measure="aul", null=50.0, n=3).clip(0.0, 100.0)
    assert found == Estimate(50.0, 0.0, 100.0, "t", measure="aul", null=50.0, n=3)


@pytest.mark.parametrize(
    ("low", "high", "null", "excludes"),
    [
        (1.0, 2.0, 0.0, True),
        (1.0, 2.0, 1.0, False),
        (1.0, 2.0, 1.5, False),
        (1.0, 2.0, 2.0, False),
        (1.0, 2.0, 3.0, True),
        (NAN, 2.0, 3.0, False),
        (1.0, math.inf, 0.0, False),
        (NAN, NAN, 0.0, False),
    ],
)
def test_only_a_finite_interval_on_one_side_excludes_a_value(
    low: float, high: float, null: float, excludes: bool
) -> None:
    assert Value(1.0, low, high).excludes(null) is excludes


def test_an_estimate_is_identified_by_what_it_estimates() -> None:
    found = Estimate(1.0, measure="aul", data="crows-pairs", group="category=age", statistic="bias-score", n=3)
    assert found.key == ("aul", "crows-pairs", "category=age", "bias-score")


def test_what_is_not_known_of_an_estimate_is_empty() -> None:
    found = Estimate(1.0)
    assert (found.method, found.measure, found.data, found.group, found.statistic) == ("", "", "", "all", "")
    assert (found.n, found.ties, found.unscored, found.model) == (0, 0, 0, "")


def test_the_interval_of_an_estimate_contains_it() -> None:
    """A result with another interval is refused when it is read: no command may write one."""
    assert Estimate.of(Value(3.0, 1.0, 2.0), n=2).high == 3.0
    assert math.isnan(Estimate.of(Value(3.0), n=2).high)
