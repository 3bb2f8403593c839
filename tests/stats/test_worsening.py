"""How much worse a run is: a wrong amount or interval would let a worsening pass, or stop a model that is no worse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Value
from unmask.core.types import Measure, Row, Summary
from unmask.stats import estimates
from unmask.stats.paired import comparisons
from unmask.stats.trainings import TrainingSpread
from unmask.stats.worsening import (
    Worsening,
    decide,
    distance_interval,
    distance_worsening,
    negative,
    ways_of_distance,
    with_training_noise,
    worsenings,
)

from .tables import DATA, measure, normal, row, rows, swapped, unscored
from .test_differences import ASSOCIATION, LEAN, crossed
from .test_differences import drawn as drawn_leans
from .test_triples import drawn, table_of


def measured(a: list[Row], b: list[Row], of: Measure | None = None) -> Worsening:
    """The worsening of the headline."""
    return next(worsenings(of or measure(), [a], b, data=DATA, rng_seed=0))


def is_worse(found: Worsening, tolerance: float = 0.0) -> bool:
    return found.p_value(tolerance) < 0.05


def wins(count: int, of: int) -> list[Row]:
    return rows([1.0] * count + [-1.0] * (of - count))


@pytest.mark.parametrize("score", [NAN, math.inf, -math.inf])
def test_a_score_that_is_not_finite_decides_nothing(score: float) -> None:
    good = [row(number, 1.0) for number in range(4)]
    bad = [replace(each, scores={"more": score, "less": -2.0}, outcome="less") for each in good[:3]]
    found = measured(good, [*bad, good[3]])
    assert (found.n, found.left_out, found.a_value, found.b_value) == (1, 3, 100.0, 100.0)
    (headline, *_) = estimates(measure(), [*bad, good[3]], data=DATA, rng_seed=0)
    assert (headline.value, headline.n, headline.unscored) == (100.0, 1, 3)


def test_worsening_by_hand() -> None:
    # a 60 of 100 (10 from the null), b 75 of 100 (25 from it): 15 worse. The 15 items that flipped
    # make b − a = 15 and a + b − 100 = 35, so the nearer of the two, b − a, sets the ends.
    found = measured(wins(60, 100), wins(75, 100))
    assert (found.a_value, found.b_value, found.null) == (60.0, 75.0, 50.0)
    assert (found.statistic, found.n, found.amount.value) == ("bias-score", 100, pytest.approx(15.0))
    # 15 of 100 flip: error 100·√(0.15·0.85/100) = 3.57, so about 15 ± 7
    assert (found.amount.low, found.amount.high) == pytest.approx((8.9, 23.0), abs=1.5)
    assert is_worse(found)


def test_the_p_value_agrees_with_the_interval_at_every_tolerance() -> None:
    found = measured(wins(60, 100), wins(75, 100))
    for tolerance in (0.0, 5.0, found.amount.low - 0.01):
        assert is_worse(found, tolerance)
    for tolerance in (found.amount.low + 0.01, 12.0, 15.0):
        assert not is_worse(found, tolerance)
    assert found.p_value(20.0) == 1.0


def test_the_p_value_by_hand() -> None:
    # a standard error of 1 and 10 degrees of freedom: t = 3, both tails 0.01334
    one = Value(3.0, 3.0 - 2.2281389, 3.0 + 2.2281389, df=10.0)
    found = Worsening("m", DATA, "asld", 1.0, 4.0, 0.0, one, 11)
    assert found.p_value(0.0) == pytest.approx(0.013344, abs=1e-6)
    assert found.p_value(1.0) == pytest.approx(0.073388, abs=1e-6)  # t = 2
    assert replace(found, amount=Value(3.0, 3 - 1.959964, 5.0)).p_value(0.0) == pytest.approx(0.0027, abs=1e-5)


def test_the_smallest_visible_worsening_by_hand() -> None:
    # a standard error of 1: (1.96 + 0.8416) × 1 = 2.80; at 0.05 / 10, (2.807 + 0.8416) × 1 = 3.65
    one = Worsening("m", DATA, "bias-score", 1.0, 4.0, 50.0, Value(3.0, 3 - 1.959964, 3 + 1.959964), 9)
    assert one.detectable_at() == pytest.approx(2.8016, abs=1e-4)
    assert one.detectable_at(0.005) == pytest.approx(3.6486, abs=1e-4)
    assert math.isnan(replace(one, amount=Value(3.0)).detectable_at())


@pytest.mark.parametrize(("error", "points"), [(0.1, 5.0), (1.0, 5.0), (2.5, 9.012), (5.0, 10.0), (50.0, 10.0)])
def test_the_default_margin_is_five_points_or_what_the_data_can_show_at_most_ten(error: float, points: float) -> None:
    """A margin that is larger lets a planted worsening pass."""
    rise = Value(3.0, 3 - 1.959964 * error, 3 + 1.959964 * error)
    share = Worsening("m", DATA, "balanced-bias-score", 1.0, 4.0, 50.0, rise, 9, spread=50.0)
    nats = replace(share, statistic="mean-difference", spread=50.0)  # a tenth and a fifth of an item's deviation
    assert share.default_margin() == pytest.approx(points, abs=0.001)
    assert nats.default_margin() == pytest.approx(points, abs=0.001)
    assert replace(nats, spread=NAN).default_margin() == 0.0
    assert replace(nats, amount=Value(3.0)).default_margin() == 0.0


def test_a_lean_to_the_other_side_is_worse_if_it_exceeds_the_margin() -> None:
    """From −20 to +20 the distance is the same and the lean is a new one; an overshoot within the margin is none."""
    a = rows([1.0] * 60 + [-1.0] * 140)
    turned, overshot = (measured(a, rows([1.0] * won + [-1.0] * (200 - won))) for won in (140, 104))
    assert turned.amount.value == pytest.approx(0.0)
    assert turned.p_turned(5.0) < 0.001
    assert overshot.p_turned(5.0) == 1.0
    assert overshot.p_value(0.0) == 1.0
    assert measured(a, a).p_turned(0.0) == 1.0


def groups(scores: dict[str, list[float]], direction: str = "") -> list[Row]:
    """Pairs with these differences by bias type."""
    named = {"direction": direction} if direction else {}
    every = [(kind, value) for kind, values in scores.items() for value in values]
    return [row(i, value, category=kind, **named) for i, (kind, value) in enumerate(every)]


def test_a_bias_type_that_is_worse_is_found_beside_those_that_are_not() -> None:
    """Planted in one of four types, in the size of the differences only: no pair changes its side."""
    quiet = {kind: normal(40, seed, shift=0.8) for seed, kind in enumerate(("age", "race", "religion"))}
    before = groups({**quiet, "gender": [0.5 + abs(x) for x in normal(40, 7)]})
    after = groups({**quiet, "gender": [3.5 + abs(x) for x in normal(40, 7)]})
    found = {
        (each.statistic, each.group): each for each in worsenings(measure(), [before], after, data=DATA, rng_seed=0)
    }
    assert is_worse(found["mean-difference", "category=gender"])
    assert is_worse(found["mean-difference", "all"])
    assert not any(is_worse(each) for (name, _), each in found.items() if name == "bias-score")
    assert not is_worse(found["mean-difference", "category=age"])
    assert len(found) == 2 * 5


def test_several_baselines_bring_the_noise_between_trainings() -> None:
    """A model that differs from each of three trainings as they differ from each other is no worse."""
    rng = np.random.default_rng(8)
    level = {
        kind: np.array(normal(40, seed, shift=0.8)) for seed, kind in enumerate(("age", "race", "religion", "gender"))
    }
    trained = [
        groups(
            {kind: (values + 0.5 * rng.normal() + 0.5 * rng.normal(size=40)).tolist() for kind, values in level.items()}
        )
        for _ in range(4)
    ]
    *baselines, run = trained

    def fails(before: list[list[Row]], after: list[Row]) -> bool:
        found = list(worsenings(measure(), before, after, data=DATA, rng_seed=0))
        return any(verdict.answer == "worse" for verdict in decide(found))

    assert any(fails([each], run) for each in baselines)
    assert not fails(baselines, run)
    assert fails(baselines, groups({kind: (values + 9.0).tolist() for kind, values in level.items()}))


def test_several_baselines_find_a_worsening_that_differs_from_pair_to_pair() -> None:
    """In one of three bias types, whose statistic is named otherwise: it has no balanced twin.

    The trainings move each type by 0.1, the worsening is 1.5 on average: fifteen times as much.
    """
    rng = np.random.default_rng(2)
    kinds, level = np.repeat(["gender", "race", "work"], 60), np.array(normal(180, 1))
    planted = np.where(kinds == "work", np.abs(rng.normal(1.5, 1.5, 180)), 0.0)

    def trained(change: np.ndarray | float) -> list[Row]:
        moved = np.repeat(0.1 * rng.normal(size=3), 60) + 0.3 * rng.normal(size=180)
        return [
            row(i, value, category=kind, **({} if kind == "work" else {"direction": "ab"[i % 10 == 0]}))
            for i, (kind, value) in enumerate(zip(kinds, (level + moved + change).tolist(), strict=True))
        ]

    for count in (2, 3, 5):
        found = list(
            worsenings(measure(), [trained(0.0) for _ in range(count)], trained(planted), data=DATA, rng_seed=0)
        )
        worse = {(each.statistic, each.group) for each in decide(found) if each.p_holm < 0.05}
        assert ("mean-difference", "category=work") in worse


def test_the_noise_between_trainings_is_in_both_ends() -> None:
    """From −1 to +1 the distance is the same; trainings that vary by 4 leave the upper end open too."""
    less, plus = (Value(value, value - 0.2, value + 0.2, "t", df=50.0) for value in (2.0, 0.0))
    own = Value(1.0, 0.9, 1.1, "t", df=50.0)
    found = Worsening("m", DATA, "mean-difference", -1.0, 1.0, 0.0, Value(NAN), 50)
    (widened,) = with_training_noise(
        [replace(distance_worsening(found, less, plus, own), trainings=TrainingSpread(4.0, 0.01, 5))]
    )
    assert widened.amount.value == pytest.approx(0.0)
    assert widened.amount.high > 2.0
    assert widened.beyond is not None
    assert widened.beyond.low < -2.0


def test_measures_and_datasets_of_one_gate_tell_of_each_other() -> None:
    """Twelve bias types would count as three, and the mean of both directions as another statistic."""
    change, spread = Value(1.0, 0.9, 1.1, "t", df=200.0), TrainingSpread(2.0, 1.0, 3)
    own = Worsening("m", DATA, "balanced-mean-difference", 0.0, 1.0, None, change, 9, group="a", trainings=spread)
    others = [
        replace(own, measure=name, data=data, statistic="mean-difference", group=group, trainings=other)
        for name in ("m", "n")
        for data, group, other in (("x", "b", TrainingSpread(1.0, 1.0, 3)), ("y", "c", TrainingSpread(3.0, 1.0, 3)))
    ]
    unlike = replace(own, statistic="bias-score", group="d", trainings=TrainingSpread(90.0, 1.0, 3))
    alone, *_ = with_training_noise([own])
    together, *_ = with_training_noise([own, *others, unlike])
    assert alone.amount.df == pytest.approx(2.0 * ((8 / 3 - 4 / 3) / (8 / 3)) ** 2, rel=0.01)
    assert together.amount.df == pytest.approx(3 * (alone.amount.df or 0.0))
    assert together.amount.high < alone.amount.high


def test_better_is_not_worse() -> None:
    found = measured(wins(75, 100), wins(60, 100))
    assert found.amount.value == pytest.approx(-15.0)
    assert found.amount.high < 0
    assert not is_worse(found)


def test_the_other_side_of_the_null_is_as_bad() -> None:
    # from 45 (5 below) to 20 (30 below): 25 worse though the score fell
    found = measured(wins(45, 100), wins(20, 100))
    assert found.amount.value == pytest.approx(25.0)
    assert is_worse(found)


def test_crossing_the_null_to_the_same_distance_is_no_larger_distance() -> None:
    found = measured(wins(60, 100), wins(40, 100))
    assert found.amount.value == pytest.approx(0.0)
    assert found.amount.low <= 0.0 <= found.amount.high
    assert not is_worse(found)
    assert found.beyond is not None
    assert found.beyond.value == pytest.approx(10.0)


def test_mirrored_runs_get_the_same_worsening() -> None:
    a, b = rows(normal(90, 0)), rows(normal(90, 1, shift=0.6))
    plain, mirrored = measured(a, b), measured(swapped(a), swapped(b))
    ends = (plain.amount.value, plain.amount.low, plain.amount.high, plain.p_value(0.0))
    assert ends == pytest.approx(
        (mirrored.amount.value, mirrored.amount.low, mirrored.amount.high, mirrored.p_value(0.0)), abs=1e-9
    )


@pytest.mark.parametrize("summary", ["share", "magnitude", "lms", "ss", "icat"])
def test_the_same_run_is_unchanged(summary: Summary) -> None:
    table = table_of(drawn(12, 3, 2))
    found = measured(table, table, measure(summary))
    assert (found.amount.value, found.amount.low, found.amount.high, found.p_value(0.0)) == (0.0, 0.0, 0.0, 1.0)
    assert found.amount.method == "no change"


def test_more_magnitude_is_worse() -> None:
    a = rows(normal(200, 3))
    b = rows([3 * x for x in normal(200, 3)])
    assert is_worse(measured(a, b, measure("magnitude")))
    assert not is_worse(measured(b, a, measure("magnitude")))


def test_less_language_ability_is_worse() -> None:
    able = table_of(drawn(40, 5, 4))
    unable = table_of([(term, more, less, less + more) for term, more, less, _ in drawn(40, 5, 4)])
    for summary in ("lms", "icat"):
        found = measured(able, unable, measure(summary))
        assert is_worse(found)
        assert found.amount.value > 0
        assert found.default_margin() > 0
        assert not is_worse(measured(unable, able, measure(summary)))


def test_ss_is_judged_by_its_distance_from_fifty() -> None:
    even, leaning = table_of(drawn(40, 5, 5, lean=0.0)), table_of(drawn(40, 5, 5, lean=1.5))
    found = measured(even, leaning, measure("ss"))
    assert is_worse(found)
    assert found.amount.value == pytest.approx(abs(found.b_value - 50) - abs(found.a_value - 50))
    assert found.amount.method.endswith("over 40 target terms")


def test_every_item_flipped() -> None:
    # b − a = −100 or 100 by item, a + b = 100 always: the second mean has no spread and is 0 exactly
    a = rows([1.0, -1.0] * 10)
    found = measured(a, swapped(a))
    assert found.amount.value == 0.0
    assert not is_worse(found)
    assert found.amount.low <= 0.0 <= found.amount.high


def test_too_few_to_judge() -> None:
    found = measured([row(1, -1.0)], [row(1, 1.0)])
    assert found.amount.method == "too few: 1 items"
    assert np.isnan([found.amount.low, found.amount.high]).all()
    assert found.p_value(0.0) == 1.0
    assert found.default_margin() == 0.0


def test_what_was_left_out_is_counted() -> None:
    found = measured([*wins(3, 6), unscored("x")], [*wins(5, 6), row("x", 1.0)])
    assert (found.n, found.left_out) == (6, 1)


def test_without_a_null_there_is_no_distance() -> None:
    with pytest.raises(StatsError, match="no null value"):
        measured(wins(1, 2), wins(2, 2), measure(null=None))


def test_the_gate_and_the_comparison_have_the_same_interval() -> None:
    a, b = rows(normal(60, 1)), rows(normal(60, 2, shift=1.0))
    of = measure("magnitude")
    found, compared = measured(a, b, of), comparisons(of, a, b, data=DATA, rng_seed=0)[0]
    assert compared.statistic == found.statistic == "asld"
    assert (found.amount.low, found.amount.high) == (compared.low, compared.high)


def test_the_interval_of_a_distance_combines_the_ends_of_sum_and_difference() -> None:
    # B − A in (1, 5) and B + A in (2, 3): |B| − |A| is at least min(1, 2) and at most min(max(5, −2), max(3, −1))
    assert distance_interval(Value(3.0, 1.0, 5.0), Value(2.5, 2.0, 3.0)) == (1.0, 3.0)
    # B − A in (4, 5) and B + A in (2, 9): at least min(4, 2), at most max(5, −2)
    less, plus = Value(4.5, 4.0, 5.0), Value(5.0, 2.0, 9.0)
    assert distance_interval(less, plus) == (2.0, 5.0)
    # both negative, mirrored: −B is what grows
    assert distance_interval(negative(less), negative(plus)) == (2.0, 5.0)
    assert ways_of_distance(negative(less), negative(plus)) == ways_of_distance(less, plus)[::-1]


def test_leans_are_measured_signed_and_by_size() -> None:
    """Half of the words move to each side: the signed mean stays, the size of a lean grows."""
    before = drawn_leans(4, 8, 6, by_word=0.05)
    after = before + np.where(np.arange(8) % 2 == 0, 0.5, -0.5)[:, np.newaxis]
    for of, statistic in ((LEAN, "appd"), (ASSOCIATION, "association")):
        signed, size = worsenings(of, [crossed(before)], crossed(after), data=DATA, rng_seed=0)
        assert (signed.statistic, size.statistic) == (statistic, f"mean-word-{statistic}")
        assert not is_worse(signed)
        assert is_worse(size)
        words = [np.abs(table.mean(axis=1)).mean() for table in (before, after)]
        assert (size.a_value, size.b_value) == pytest.approx(tuple(words))
        assert size.amount.value == pytest.approx(words[1] - words[0])
        assert (size.n, size.null) == (8, 0.0)


def test_leans_of_the_same_run_are_unchanged() -> None:
    table = crossed(drawn_leans(4, 8, 6))
    for found in worsenings(LEAN, [table], table, data=DATA, rng_seed=0):
        assert (found.amount.value, found.amount.high, found.p_value(0.0)) == (0.0, 0.0, 1.0)


def test_words_that_should_lean_are_left_out() -> None:
    neutral = crossed(drawn_leans(4, 8, 6))
    whole = neutral + crossed(drawn_leans(5, 8, 6) + 9, goal="female", begin=100)
    few, all_words = (list(worsenings(LEAN, [table], table, data=DATA, rng_seed=0)) for table in (neutral, whole))
    assert [one.a_value for one in few] == [one.a_value for one in all_words]


def test_one_word_that_changes_much_is_no_proof_of_a_change() -> None:
    before = drawn_leans(4, 8, 30)
    after = before + 0.5
    worse, better = measured(crossed(before), crossed(after), LEAN), measured(crossed(after), crossed(before), LEAN)
    assert (is_worse(worse), is_worse(better)) == (True, False)
    assert worse.amount.value == pytest.approx(-better.amount.value)
    after = before.copy()
    after[0] += 1.0
    assert not is_worse(measured(crossed(before), crossed(after), LEAN))
