"""Agreement between people against plain counting and values from the literature."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from prompts.handmade import annotate
from unmask.prompts.rules import Verdict
from unmask.prompts.scoring import COHEN, FLEISS, KRIPPENDORFF, agreement, alpha

B, N, U = "biased", "not biased", "undecided"
ANNA: list[Verdict | None] = [B, B, N, N, B, U, N, B, N, N]
BEN: list[Verdict | None] = [B, N, N, N, B, U, N, B, B, N]
CLEO: list[Verdict | None] = [B, N, N, B, B, N, N, B, N, N]


def plain_cohen(first: list, second: list) -> float:
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    chance = sum(first.count(value) * second.count(value) for value in (B, N, U)) / n**2
    return (observed - chance) / (1 - chance)


def plain_fleiss(*annotators: list) -> float:
    n, m = len(annotators[0]), len(annotators)
    observed, totals = 0.0, dict.fromkeys((B, N, U), 0)
    for unit in zip(*annotators, strict=True):
        for value in unit:
            totals[value] += 1
        observed += sum(a == b for a, b in permutations(unit, 2)) / (m * (m - 1))
    chance = sum((count / (n * m)) ** 2 for count in totals.values())
    return (observed / n - chance) / (1 - chance)


def plain_alpha(*annotators: list) -> float:
    """By the matrix of coincidences: within units, then among all values that can be paired."""
    apart, paired = 0.0, []
    for unit in zip(*annotators, strict=True):
        values = [value for value in unit if value is not None]
        if len(values) > 1:
            paired += values
            apart += sum(a != b for a, b in permutations(values, 2)) / (len(values) - 1)
    n = len(paired)
    expected = sum(a != b for a, b in permutations(paired, 2)) / (n - 1)
    return 1 - apart / expected


def count_agreement(*annotators: list) -> np.ndarray:
    values = sorted({value for verdicts in annotators for value in verdicts if value is not None})
    return np.array([[unit.count(value) for value in values] for unit in zip(*annotators, strict=True)], float)


def by_name(*annotations: tuple[str, list]) -> dict:
    rows = [row for judge, verdicts in annotations for row in annotate(judge, verdicts)]
    return {one.name: one for one in agreement(rows, seed=1)}


def test_two_people() -> None:
    found = by_name(("anna", ANNA), ("ben", BEN))
    assert list(found) == [COHEN, FLEISS, KRIPPENDORFF]
    assert found[COHEN].value == pytest.approx(plain_cohen(ANNA, BEN))
    assert found[FLEISS].value == pytest.approx(plain_fleiss(ANNA, BEN))
    assert found[KRIPPENDORFF].value == pytest.approx(plain_alpha(ANNA, BEN))
    for one in found.values():
        assert (one.n, one.judges) == (10, 2)
        assert one.low < one.value < one.high <= 1
        assert one.method == "percentile over 10 prompts"


def test_three_annotators_with_missing_annotations() -> None:
    some = [*CLEO[:6], None, None, None, None]
    found = by_name(("anna", ANNA), ("ben", BEN), ("cleo", some))
    assert list(found) == [FLEISS, KRIPPENDORFF]
    assert found[FLEISS].value == pytest.approx(plain_fleiss(ANNA[:6], BEN[:6], CLEO[:6]))
    assert found[FLEISS].n == 6
    assert found[KRIPPENDORFF].value == pytest.approx(plain_alpha(ANNA, BEN, some))
    assert found[KRIPPENDORFF].n == 10


def test_prompts_with_one_annotator_do_not_count() -> None:
    with_more = by_name(("anna", [*ANNA, B, N]), ("ben", BEN))
    without = by_name(("anna", ANNA), ("ben", BEN))
    assert with_more == without


def test_alpha_of_two_observers_as_published() -> None:
    """Krippendorff (2011), binary data: 0.095."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert alpha(count_agreement(first, second)) == pytest.approx(0.095, abs=5e-4)


def test_alpha_of_four_observers_with_gaps_as_published() -> None:
    """Krippendorff (2011), nominal data: 0.743."""
    o = None
    observers = (
        [1, 2, 3, 3, 2, 1, 4, 1, 2, o, o, o],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, o, 3],
        [o, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, o],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, o],
    )
    assert alpha(count_agreement(*observers)) == pytest.approx(0.743, abs=5e-4)
    assert alpha(count_agreement(*observers)) == pytest.approx(plain_alpha(*observers))


def test_full_agreement_is_one() -> None:
    for one in by_name(("anna", ANNA), ("ben", ANNA)).values():
        assert one.value == pytest.approx(1)
        assert one.high == pytest.approx(1)


def test_agreement_is_undefined_if_every_verdict_is_the_same() -> None:
    for one in by_name(("anna", [B, B, B]), ("ben", [B, B, B])).values():
        assert math.isnan(one.value)
        assert math.isnan(one.low)
        assert "every label is the same" in one.method


def test_one_prompt_has_no_interval() -> None:
    for one in by_name(("anna", [B]), ("ben", [N])).values():
        assert "too few: 1 prompt" in one.method


def test_one_annotator_has_no_agreement() -> None:
    assert agreement(annotate("anna", ANNA), seed=1) == ()
    assert agreement([], seed=1) == ()


def test_the_same_seed_gives_the_same_interval() -> None:
    assert by_name(("anna", ANNA), ("ben", CLEO)) == by_name(("anna", ANNA), ("ben", CLEO))
