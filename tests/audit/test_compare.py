"""Results of other commands are compared by their estimates."""

from __future__ import annotations

import pytest

import unmask
from unmask.core.estimate import Estimate
from unmask.findings.envelope import Result, build


def result(value: float, low: float, high: float) -> Result:
    """A task with one estimate, whose null is 0."""
    return Result(build("task", estimates=[Estimate(value, low, high, "t", "toy", "made", null=0.0, n=9)]))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_comparisons_refuse_a_seed_that_is_no_seed(seed: int) -> None:
    both = result(0.9, 0.8, 1.0), result(0.1, 0.0, 0.2)
    with pytest.raises(unmask.UnmaskError, match=f"^seed is {seed}, expected"):
        unmask.compare(*both, seed=seed)


def test_results_of_different_commands_are_not_compared() -> None:
    other = Result(build("corpus", estimates=[Estimate(1.0, 0.5, 1.5, "t", "toy", "made", null=0.0)]))
    with pytest.raises(unmask.UnmaskError, match="a task and a corpus cannot be compared"):
        unmask.compare(result(0.1, 0.0, 0.2), other)
