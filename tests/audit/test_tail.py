"""The estimate of large errors is not too low in simulations, for errors with light and with heavy tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from unmask.audit.certified import LATER_SAMPLE, SAMPLE
from unmask.audit.selection import FEWEST_FITTED, STATED, TARGET, ErrorTail

PAIRS, RUNS = 1_508, 150
ERRORS = {  # of standard deviation one
    "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5),
    "normal": stats.norm(),
    "Laplace": stats.laplace(scale=0.5**0.5),
    "t with 5 degrees of freedom": stats.t(5, scale=(3 / 5) ** 0.5),
}


def left_wrong(errors, sampled: int, spread: float, rng: np.random.Generator) -> float:
    """The expected number of wrong decisions among the pairs that are not scored again."""
    size = PAIRS if sampled == SAMPLE else PAIRS // 4
    low = rng.normal(0, spread, size) + errors.rvs(size, random_state=rng)
    order = np.argsort(np.abs(low))
    tail = ErrorTail.fit(errors.rvs(sampled, random_state=rng))
    rest = np.abs(low[order[sampled:]])
    chances = tail.beyond(rest)  # falls, because sizes rise
    kept = np.cumsum(chances[::-1])[::-1] <= TARGET
    return float(errors.sf(rest[kept]).sum())


@pytest.mark.parametrize("sampled", [SAMPLE, LATER_SAMPLE])
@pytest.mark.parametrize("spread", [3.0, 30.0])
@pytest.mark.parametrize("name", ERRORS)
def test_the_stated_estimate_is_not_too_low(name: str, spread: float, sampled: int) -> None:
    rng = np.random.default_rng(5)
    wrong = [left_wrong(ERRORS[name], sampled, spread, rng) for _ in range(RUNS)]
    assert np.mean(wrong) <= STATED * TARGET


def test_normal_errors_leave_most_pairs_alone() -> None:
    rng = np.random.default_rng(1)
    tail = ErrorTail.fit(rng.normal(size=SAMPLE))
    assert tail.beyond(np.array([10.0]))[0] < 1e-5
    assert tail.beyond(np.array([0.1, -np.inf])).tolist() == [1.0, 1.0]


def test_heavier_tails_have_larger_estimates() -> None:
    rng = np.random.default_rng(2)
    sizes = np.array([4.0, 8.0, 16.0])
    light, heavy = (ErrorTail.fit(errors.rvs(2_000, random_state=rng)) for errors in (stats.norm(), stats.t(2)))
    assert (heavy.beyond(sizes) > 3 * light.beyond(sizes)).all()
    assert (np.diff(heavy.beyond(sizes)) < 0).all()


def test_no_error_at_all_turns_nothing() -> None:
    assert ErrorTail.fit(np.zeros(FEWEST_FITTED)).beyond(np.array([0.0, 1e-9])).tolist() == [1.0, 0.0]


def test_too_few_errors_are_not_fitted() -> None:
    with pytest.raises(ValueError, match="31 errors, expected at least 32"):
        ErrorTail.fit(np.ones(FEWEST_FITTED - 1))


@pytest.mark.parametrize("errors", [stats.norm(), stats.t(2)])
def test_the_size_at_a_chance_has_that_chance(errors: Any) -> None:
    tail = ErrorTail.fit(errors.rvs(500, random_state=np.random.default_rng(3)))
    for chance in (0.2, 0.01, 0.001):
        assert tail.beyond(np.array([tail.size_at(chance)]))[0] == pytest.approx(chance)
    assert tail.size_at(0.6) == tail.threshold
