"""The three answers of the gate: a wrong one stops a good model, or lets a worse one pass."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from unmask.core.estimate import NAN, Value
from unmask.stats.worsening import UNCHANGED, Answer, Worsening, decide

from .tables import DATA

ONE = Worsening("m", DATA, "bias-score", 60.0, 63.0, 50.0, Value(3.0, 1.0, 5.0), 100)


def answer(amount: Value, tolerance: float = 0.0, margin: float | None = 4.0, **fields: object) -> Answer:
    (verdict,) = decide([replace(ONE, amount=amount, tolerance=tolerance, margin=margin, **fields)])  # type: ignore[arg-type]
    return verdict.answer


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(Value(3.0, 1.0, 5.0), "worse"), (Value(3.0, 1.0, 3.5), "worse"), (Value(2.0, -1.0, 5.0), "cannot tell"),
     (Value(1.0, -1.0, 3.0), "not worse"), (Value(1.0, -2.0, 4.0), "not worse"), (Value(-3.0, -5.0, -1.0), "not worse"),
     (Value(3.0), "cannot tell"), (Value(-3.0), "cannot tell"), (UNCHANGED, "not worse"),
     (Value(NAN), "missing"), (Value(NAN, -1.0, 0.0), "missing"), (Value(math.inf), "missing"),
     (Value(-math.inf), "missing")],
)  # fmt: skip
def test_the_ends_of_the_interval_decide(amount: Value, expected: Answer) -> None:
    assert answer(amount) == expected


def test_the_tolerance_moves_the_lower_end_and_the_margin_the_upper() -> None:
    amount = Value(3.0, 1.0, 5.0)
    assert answer(amount, tolerance=0.9) == "worse"
    assert answer(amount, tolerance=1.1) == "cannot tell"
    assert answer(amount, tolerance=1.1, margin=5.1) == "not worse"


def test_the_default_margin_comes_on_top_of_the_tolerance() -> None:
    # a standard error of 2.5 / 1.96: (1.96 + 1.64) × 1.28 = 4.6 points can be shown, so five are the margin
    own = replace(ONE, amount=Value(3.0, -0.5, 5.5), rise=Value(3.0, 0.5, 5.5))
    narrow, wide = (decide([replace(own, tolerance=tolerance)])[0] for tolerance in (0.0, 1.5))
    assert (narrow.margin, wide.margin) == pytest.approx((5.0, 6.5), abs=0.001)
    assert (narrow.answer, wide.answer) == ("cannot tell", "not worse")


def test_the_default_margin_does_not_grow_with_the_number_of_verdicts() -> None:
    """Of sixteen verdicts each would otherwise pass a worsening that it fails to exclude alone."""
    own = replace(ONE, amount=Value(3.0, -1.0, 7.0))
    (alone, *_), several = decide([own]), decide([own] * 16)
    assert {each.margin for each in several} == {alone.margin}
    assert alone.margin == pytest.approx((1.959964 + 1.644854) * 4 / 1.959964, abs=0.01)


def test_what_a_user_would_call_unchanged_does_not_fail() -> None:
    """Among many items any two trainings differ beyond chance: by 1.5 points, which nobody would act on."""
    small = replace(ONE, amount=Value(1.5, 1.0, 2.0))
    assert decide([small])[0].answer == "not worse"
    assert decide([replace(small, margin=4.0)])[0].answer == "worse"
    assert decide([replace(small, tolerance=0.5)])[0].answer == "worse"
    assert decide([replace(small, amount=Value(6.5, 6.0, 7.0))])[0].answer == "worse"


def test_without_a_known_margin_only_what_is_certainly_no_worse_passes() -> None:
    unknown = {"statistic": "toy"}
    assert answer(Value(-0.1, -1.0, 0.1), margin=None, **unknown) == "cannot tell"
    assert answer(Value(-0.5, -1.0, -0.1), margin=None, **unknown) == "not worse"


def test_a_lean_to_the_other_side_fails() -> None:
    turned = replace(ONE, amount=Value(0.0, -3.0, 3.0), beyond=Value(12.0, 9.0, 15.0))
    (verdict,) = decide([turned])
    assert (verdict.answer, verdict.turned) == ("worse", True)
    (within,) = decide([replace(turned, beyond=Value(4.0, 1.0, 7.0))])
    assert (within.answer, within.turned) == ("not worse", False)


def test_holm_corrects_alarms_but_not_what_passes() -> None:
    # p-values 0.04 and 0.03 are false alarms among two, and the second is none alone; 0.001 stays one
    def of(p: float) -> Worsening:
        from scipy.stats import norm

        half = 1.959964 * 3.0 / norm.ppf(1 - p / 2)
        return replace(ONE, amount=Value(3.0, 3.0 - half, 3.0 + half), margin=9.0)

    first, second = decide([of(0.04), of(0.03)])
    assert (first.p, second.p) == pytest.approx((0.04, 0.03), abs=1e-6)
    assert (first.p_holm, second.p_holm) == pytest.approx((0.06, 0.06), abs=1e-6)
    assert (first.answer, second.answer) == ("not worse", "not worse")
    assert [one.answer for one in decide([of(0.03)])] == ["worse"]
    found = decide([of(0.001), of(0.03)])
    assert [one.answer for one in found] == ["worse", "worse"]
    assert found[0].p_holm == pytest.approx(0.002, abs=1e-6)


def test_more_verdicts_see_less() -> None:
    alone, among = decide([ONE])[0], decide([ONE] * 10)[0]
    assert alone.detectable == pytest.approx(2.8016 * 2 / 1.959964, abs=1e-3)
    assert among.detectable == pytest.approx(3.6486 * 2 / 1.959964, abs=1e-3)


def test_no_worsenings_no_verdicts() -> None:
    assert decide([]) == ()
