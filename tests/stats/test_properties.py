"""What must hold for any table."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.core.types import Row, Summary
from unmask.stats import estimates
from unmask.stats.paired import comparisons
from unmask.stats.triples import stereoset_scores
from unmask.stats.worsening import decide, worsenings

from .tables import DATA, holds_value, measure, only, row, same, swapped, triple, unscored

few = settings(max_examples=25, deadline=None)
scores = st.floats(-30, 30).map(lambda x: round(x, 2))
SUMMARIES: list[Summary] = ["share", "magnitude", "lms", "ss", "icat"]


@st.composite
def tables(draw: st.DrawFn, ties: bool = True) -> list[Row]:
    """Triples with a category and a direction, some unscored."""
    found: list[Row] = []
    for i in range(draw(st.integers(1, 45))):
        more, less, unrelated = draw(scores), draw(scores), draw(scores)
        groups = {
            "category": draw(st.sampled_from(["age", "gender"])),
            "direction": draw(st.sampled_from(["stereo", "antistereo"])),
        }
        if more == less and not ties:
            more += 1.0
        if draw(st.integers(0, 9)) == 0:
            found.append(unscored(i, target="t", **groups))
        else:
            found.append(triple(i, (more, less, unrelated), f"t{draw(st.integers(0, 15))}", **groups))
    return found


@pytest.mark.thorough
@few
@given(tables(ties=False))
def test_swapping_sides_mirrors_the_share(table: list[Row]) -> None:
    plain = estimates(measure(), table, data=DATA, rng_seed=0)
    mirrored = estimates(measure(), swapped(table), data=DATA, rng_seed=0)
    for one, other in zip(plain, mirrored, strict=True):
        middle = {
            "bias-score": 100.0,
            "balanced-bias-score": 100.0,
            "stereo-score": 100.0,
            "antistereo-score": 100.0,
        }.get(one.statistic, 0.0)
        if one.statistic == "direction-gap":
            expected = (one.value, one.low, one.high)
        else:
            expected = (middle - one.value, middle - one.high, middle - one.low)
        assert (other.value, other.low, other.high) == pytest.approx(expected, abs=1e-7, nan_ok=True)
        assert other.p == pytest.approx(one.p, abs=1e-9)


@pytest.mark.thorough
@few
@given(tables(ties=False))
def test_swapping_sides_leaves_size_and_ability(table: list[Row]) -> None:
    for summary in ("magnitude", "lms", "icat"):
        plain, mirrored = (
            estimates(measure(summary), rows, data=DATA, rng_seed=0)[0] for rows in (table, swapped(table))
        )
        assert mirrored.value == pytest.approx(plain.value, abs=1e-9, nan_ok=True)


@few
@given(tables(), st.randoms(use_true_random=False), st.sampled_from(SUMMARIES))
def test_order_of_rows_is_irrelevant(table: list[Row], rng: random.Random, summary: Summary) -> None:
    shuffled = list(table)
    rng.shuffle(shuffled)
    plain, again = (estimates(measure(summary), rows, data=DATA, rng_seed=0) for rows in (table, shuffled))
    assert same(plain, again)


@few
@given(tables(), st.sampled_from(SUMMARIES))
def test_intervals_hold_their_value_and_tests_are_probabilities(table: list[Row], summary: Summary) -> None:
    found = estimates(measure(summary), table, data=DATA, rng_seed=0)
    assert found[0].group == "all"
    for one in found:
        assert holds_value(one)
        assert one.method
        assert one.p is None or 0 <= one.p <= 1
        assert one.p_holm is None or (one.p is not None and one.p <= one.p_holm <= 1)
        if not one.statistic.endswith("mean-difference") and not np.isnan(one.low):
            assert one.low >= 0


@few
@given(tables(), st.sampled_from(SUMMARIES), st.integers(1, 5))
def test_unscored_rows_change_only_their_count(table: list[Row], summary: Summary, count: int) -> None:
    first = table[0].groups
    more = [unscored(f"u{i}", **first) for i in range(count)]
    plain = estimates(measure(summary), table, data=DATA, rng_seed=0)
    again = estimates(measure(summary), [*table, *more], data=DATA, rng_seed=0)
    assert same([replace(one, unscored=0) for one in plain], [replace(one, unscored=0) for one in again])
    assert again[0].unscored == plain[0].unscored + count


@few
@given(tables())
def test_rows_are_all_accounted_for(table: list[Row]) -> None:
    found = estimates(measure(), table, data=DATA, rng_seed=0)
    assert found[0].n + found[0].unscored == len(table)
    categories = [one for one in found if one.statistic == "bias-score" and one.group.startswith("category=")]
    assert sum(one.n for one in categories) == found[0].n


@few
@given(tables(), st.integers(0, 2**32), st.sampled_from(SUMMARIES))
def test_comparison_is_antisymmetric(table: list[Row], seed: int, summary: Summary) -> None:
    if all(one.outcome == "unscored" for one in table):
        return
    other = moved(table, seed)
    there = comparisons(measure(summary), table, other, data=DATA, rng_seed=0)
    back = comparisons(measure(summary), other, table, data=DATA, rng_seed=0)
    for one, two in zip(there, back, strict=True):
        assert two.change == pytest.approx(-one.change, abs=1e-9, nan_ok=True)
        assert (two.low, two.high) == pytest.approx((-one.high, -one.low), abs=1e-6, nan_ok=True)
        assert (two.n, two.flips, two.left_out) == (one.n, one.flips, one.left_out)
        assert two.p == pytest.approx(one.p, abs=1e-9)
        assert np.isnan(one.low) or one.low <= one.change <= one.high


@pytest.mark.thorough
@few
@given(tables(), st.integers(0, 2**32), st.sampled_from(SUMMARIES))
def test_a_verdict_holds_its_worsening(table: list[Row], seed: int, summary: Summary) -> None:
    if all(one.outcome == "unscored" for one in table):
        return
    found = list(worsenings(measure(summary), [table], moved(table, seed), data=DATA, rng_seed=0))
    for each in found:
        (verdict,) = decide([each])
        assert np.isnan(verdict.amount.low) or verdict.amount.low <= verdict.amount.value <= verdict.amount.high
        assert verdict.answer != "missing"
        assert (verdict.answer == "worse") == (verdict.amount.low > 0 or verdict.turned)
        if verdict.answer != "worse":
            assert (verdict.answer == "not worse") == (verdict.amount.high <= verdict.margin)


@few
@given(st.lists(st.tuples(st.sampled_from("abc"), scores, scores, scores), min_size=1, max_size=30))
def test_stereoset_mirrors(triples: list[tuple[str, float, float, float]]) -> None:
    decided = [one for one in triples if one[1] != one[2]] or [("a", 1.0, 0.0, 0.0)]
    terms, more, less, unrelated = (list(column) for column in zip(*decided, strict=True))
    plain, mirrored = (stereoset_scores(terms, more, less, unrelated), stereoset_scores(terms, less, more, unrelated))
    assert mirrored.ss == pytest.approx(100 - plain.ss)
    assert (mirrored.lms, mirrored.icat) == pytest.approx((plain.lms, plain.icat))


def moved(table: list[Row], seed: int) -> list[Row]:
    """The same items as another model might score them."""
    rng = np.random.default_rng(seed)
    return [
        one
        if one.outcome == "unscored"
        else triple(int(one.item), tuple(x + rng.normal(0, 5) for x in one.scores.values()), **one.groups)
        for one in table
    ]


def test_headline_is_first_whatever_the_summary() -> None:
    table = [triple(1, (2.0, 1.0, 0.0), "x", category="a"), triple(2, (0.0, 1.0, 0.0), "y", category="a")]
    firsts = [estimates(measure(summary), table, data=DATA, rng_seed=0)[0].statistic for summary in SUMMARIES]
    assert firsts == ["bias-score", "asld", "lms", "ss", "icat"]


def test_plain_rows_have_only_the_group_all() -> None:
    found = estimates(measure(), [row(1, 1.0)], data=DATA, rng_seed=0)
    assert {one.group for one in found} == {"all"}
    assert only(found, "bias-score").value == 100.0
