"""Results of other commands are compared and gated by their estimates."""

from __future__ import annotations

import math

import pytest

import unmask
from unmask.core.estimate import NAN, Estimate
from unmask.findings.envelope import Result, build


def result(value: float, low: float, high: float) -> Result:
    """A task with one estimate, whose null is 0."""
    return Result(build("task", estimates=[Estimate(value, low, high, "t", "toy", "made", null=0.0, n=9)]))


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [((0.1, 0.0, 0.2), (0.9, 0.8, 1.0), True), ((0.1, 0.0, 0.2), (-0.9, -1.0, -0.8), True),
     ((0.9, 0.8, 1.0), (0.1, 0.0, 0.2), False), ((0.1, -0.5, 0.7), (0.3, -0.4, 1.0), False)],
)  # fmt: skip
def test_a_gate_fails_when_the_distance_from_the_null_grows_beyond_noise(
    before: tuple[float, float, float], after: tuple[float, float, float], worse: bool
) -> None:
    (verdict,) = unmask.gate(result(*after), result(*before))
    assert verdict.worse is worse
    assert verdict.worsening == pytest.approx(abs(after[0]) - abs(before[0]))
    assert verdict.low <= verdict.worsening <= verdict.high


def test_a_gate_without_an_interval_does_not_pass_in_silence() -> None:
    (verdict,) = unmask.gate(result(0.9, NAN, NAN), result(0.1, 0.0, 0.2))
    assert verdict.worse
    assert math.isnan(verdict.low)
    assert "no interval" in verdict.method
    (verdict,) = unmask.gate(result(0.1, NAN, NAN), result(0.9, 0.8, 1.0))
    assert not verdict.worse


def test_results_of_different_commands_are_not_compared() -> None:
    other = Result(build("corpus", estimates=[Estimate(1.0, 0.5, 1.5, "t", "toy", "made", null=0.0)]))
    with pytest.raises(unmask.UnmaskError, match="a task and a corpus cannot be compared"):
        unmask.compare(result(0.1, 0.0, 0.2), other)
