"""The gate: worse only when the low end says so, in the measure's own sense of worse."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.core.types import Measure, Row, Summary
from unmask.stats import GateResult, comparisons, gate

from .tables import DATA, measure, normal, row, rows, swapped, unscored
from .test_triples import drawn, table_of


def judged(a: list[Row], b: list[Row], of: Measure | None = None, tolerance: float = 0.0) -> GateResult:
    return gate(of or measure(), a, b, data=DATA, rng_seed=0, tolerance=tolerance)


def wins(count: int, of: int) -> list[Row]:
    return rows([1.0] * count + [-1.0] * (of - count))


def test_worsening_by_hand() -> None:
    # a 60 of 100 (10 from the null), b 75 of 100 (25 from it): 15 worse. The 15 items that flipped
    # make b − a = 15 and a + b − 100 = 35, so the nearer of the two, b − a, sets the ends.
    found = judged(wins(60, 100), wins(75, 100))
    assert (found.a_value, found.b_value, found.null, found.worsening) == pytest.approx(
        (60.0, 75.0, 50.0, 15.0)
    )
    assert (found.statistic, found.n, found.method) == ("bias-score", 100, "bca")
    # 15 of 100 flip: error 100·√(0.15·0.85/100) = 3.57, so about 15 ± 7
    assert (found.low, found.high) == pytest.approx((8.9, 23.0), abs=1.5)
    assert found.worse


def test_tolerance_is_subtracted_from_nothing_but_compared() -> None:
    strict, lenient = (judged(wins(60, 100), wins(75, 100), tolerance=t) for t in (5.0, 12.0))
    assert strict.worse
    assert not lenient.worse
    assert (strict.low, strict.worsening) == (lenient.low, lenient.worsening)
    assert lenient.tolerance == 12.0


def test_better_is_not_worse() -> None:
    found = judged(wins(75, 100), wins(60, 100))
    assert found.worsening == pytest.approx(-15.0)
    assert found.high < 0
    assert not found.worse


def test_the_other_side_of_the_null_is_as_bad() -> None:
    # from 45 (5 below) to 20 (30 below): 25 worse though the score fell
    found = judged(wins(45, 100), wins(20, 100))
    assert found.worsening == pytest.approx(25.0)
    assert found.worse


def test_crossing_the_null_to_the_same_distance_is_no_worse() -> None:
    found = judged(wins(60, 100), wins(40, 100))
    assert found.worsening == pytest.approx(0.0)
    assert found.low <= 0.0 <= found.high
    assert not found.worse


def test_mirrored_runs_get_the_same_verdict() -> None:
    a, b = rows(normal(90, 0)), rows(normal(90, 1, shift=0.6))
    plain, mirrored = judged(a, b), judged(swapped(a), swapped(b))
    assert (plain.worsening, plain.low, plain.high) == pytest.approx(
        (mirrored.worsening, mirrored.low, mirrored.high), abs=1e-9
    )


@pytest.mark.parametrize("summary", ["share", "magnitude", "lms", "ss", "icat"])
def test_the_same_run_passes(summary: Summary) -> None:
    table = table_of(drawn(12, 3, 2))
    found = judged(table, table, measure(summary))
    assert (found.worsening, found.low, found.high, found.worse) == (0.0, 0.0, 0.0, False)
    assert found.method == "no change"


def test_more_magnitude_is_worse() -> None:
    a = rows(normal(200, 3))
    b = rows([3 * x for x in normal(200, 3)])
    assert judged(a, b, measure("magnitude")).worse
    assert not judged(b, a, measure("magnitude")).worse


def test_less_language_ability_is_worse() -> None:
    able = table_of(drawn(40, 5, 4))
    unable = table_of([(term, more, less, less + more) for term, more, less, _ in drawn(40, 5, 4)])
    for summary in ("lms", "icat"):
        assert judged(able, unable, measure(summary)).worse
        assert judged(able, unable, measure(summary)).worsening > 0
        assert not judged(unable, able, measure(summary)).worse


def test_ss_is_judged_by_its_distance_from_fifty() -> None:
    even, leaning = table_of(drawn(40, 5, 5, lean=0.0)), table_of(drawn(40, 5, 5, lean=1.5))
    found = judged(even, leaning, measure("ss"))
    assert found.worse
    assert found.worsening == pytest.approx(abs(found.b_value - 50) - abs(found.a_value - 50))
    assert found.method == "bca over 40 target terms"


def test_every_item_flipped() -> None:
    # b − a = −100 or 100 by item, a + b = 100 always: the second mean has no spread and is 0 exactly
    a = rows([1.0, -1.0] * 10)
    found = judged(a, swapped(a))
    assert (found.worsening, found.worse) == (0.0, False)
    assert found.low <= 0.0 <= found.high


def test_too_few_to_judge() -> None:
    found = judged([row(1, -1.0)], [row(1, 1.0)])
    assert found.method == "too few: 1 items"
    assert np.isnan([found.low, found.high]).all()
    assert not found.worse


def test_what_was_left_out_is_counted() -> None:
    found = judged([*wins(3, 6), unscored("x")], [*wins(5, 6), row("x", 1.0)])
    assert (found.n, found.left_out) == (6, 1)


def test_without_a_null_there_is_no_distance() -> None:
    with pytest.raises(StatsError, match="no null value"):
        judged(wins(1, 2), wins(2, 2), measure(null=None))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.52, 0.6])
def test_false_alarms_are_rare(share: float) -> None:
    """Two runs of equal bias: at most 2.5 in 100 verdicts may be `worse` (here at most 12 of 200)."""
    rng, alarms = np.random.default_rng(6), 0
    for _ in range(200):
        a, b = (rows(np.where(rng.random(1200) < share, 1.0, -1.0).tolist()) for _ in range(2))
        alarms += judged(a, b).worse
    assert alarms <= 12


def test_the_gate_and_the_comparison_draw_the_same_resamples() -> None:
    a, b = rows(normal(60, 1)), rows(normal(60, 2, shift=1.0))
    of = measure("magnitude")
    verdict = judged(a, b, of)
    compared = comparisons(of, a, b, data=DATA, rng_seed=0)[0]
    assert compared.statistic == verdict.statistic == "asld"
    assert (verdict.low, verdict.high) == (compared.low, compared.high)
