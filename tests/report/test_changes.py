"""What changed, in sentences: a reader of a page must not be told "no change" where single words lean further."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unmask.audit.result import AuditResult
from unmask.core.types import Check
from unmask.report.changes import summarize_changes
from unmask.stats.paired import Comparison

from . import fake


def run(*checks: Check) -> AuditResult:
    data = [{"name": "t", "title": "Templates", "n": 118}, {"name": "pairs", "title": "Our pairs", "n": 40}]
    return fake.run(fake.meta(data=data), (), checks, fake.bare().items)


def change(statistic: str, before: float, after: float, **changes: Any) -> Comparison:
    known: dict[str, Any] = {
        "measure": "ppd", "data": "t", "group": "all", "null": 0.0, "low": after - before - 0.05,
        "high": after - before + 0.05, "n": 118, "flips": 3, "left_out": 0, "method": "t", "p": 0.001, "p_holm": 0.004,
    }  # fmt: skip
    values = {"statistic": statistic, "a_value": before, "b_value": after, "change": after - before}
    return Comparison(**{**known, **values, **changes})


def test_words_that_lean_further_are_said_although_the_mean_is_unchanged() -> None:
    """Leans to both sides cancel in the mean: "none changed beyond chance" would be the opposite of what was found."""
    changes = [change("appd", 0.314, 0.380, p_holm=0.531), change("mean-word-appd", 0.316, 0.760)]
    assert summarize_changes(run(), run(), changes) == [
        "On Templates single words lean further than before: 0.76 instead of 0.32 by ppd (worse)",
        "The overall mean on Templates (ppd): no change beyond chance among 2 tests",
    ]


def test_the_worse_comes_first_and_a_score_nearer_to_its_reference_value_is_not_called_worse() -> None:
    """The direction alone, "1 rose", does not say whether that is worse: from 40% to 45% is nearer to 50%."""
    pairs: dict[str, Any] = {"data": "pairs", "null": 50.0}
    lines = summarize_changes(
        run(),
        run(),
        [
            change("bias-score", 40.0, 45.0, measure="aul", **pairs),
            change("bias-score", 56.0, 64.0, measure="sss", **pairs),
            change("bias-score", 57.0, 63.0, measure="cps", **pairs),
            change("lms", 90.0, 80.0, measure="lms", **pairs),
        ],
    )
    assert lines == [
        "On Our pairs the stereotyping sentence is preferred more often than before: 64% instead of 56% by sss, "
        "63% instead of 57% by cps (worse)",
        "On Our pairs lms is lower than before: 80 instead of 90 by lms (worse)",
        "On Our pairs the stereotyping sentence is preferred more often than before: 45% instead of 40% by aul "
        "(nearer to no preference)",
    ]


def test_without_the_gate_a_score_on_the_other_side_is_called_neither_better_nor_worse() -> None:
    """The distances alone do not say whether 70 → 31 is worse."""
    changes = [
        change("bias-score", 70.0, 31.0, measure="aul", data="pairs", null=50.0),
        change("association", -0.209, 0.581, measure="lpbs"),
        change("association", -0.209, 0.581, measure="lpbs", group="category=work"),
    ]
    turned = "on the other side of no preference now"
    assert summarize_changes(run(), run(), changes) == [
        "On Our pairs the stereotyping sentence is preferred less often than before: 31% instead of 70% by aul "
        f"({turned})",
        f"On Templates the mean association moved towards men: 0.58 instead of −0.21 by lpbs ({turned})",
        f"By category, {turned}: work (the mean association 0.58 instead of −0.21 by lpbs)",
    ]


def test_a_change_that_is_small_for_the_gate_is_called_so_with_digits_that_show_it() -> None:
    """0.01 instead of 0.00 (worse) stood beside a gate that does not count so little as a change."""
    known: dict[str, Any] = {"measure": "aul", "answer": "cannot tell"}
    (small,) = summarize_changes(run(), run(), [change("mean-difference", 0.004, 0.011, least=0.014, **known)])
    assert small.endswith("0.011 instead of 0.004 by aul (worse, by less than the gate counts as a change)")
    (unsure,) = summarize_changes(run(), run(), [change("mean-difference", 0.2, 0.4, least=0.1, **known)])
    assert unsure.endswith("0.40 instead of 0.20 by aul (worse, but not beyond chance for the gate)")


def test_what_the_gate_fails_is_said_first_and_in_the_sentence_of_its_category() -> None:
    """The gate fails −0.92 → 1.62 on occupation; "on the other side" alone said neither better nor worse."""
    known: dict[str, Any] = {"measure": "sss", "answer": "worse", "p_holm": 0.06}
    turned = change("mean-difference", -0.92, 1.62, **known)
    whole = change("association", -0.2, 0.6, measure="lpbs")
    shares = change("bias-score", 33.0, 72.0, null=50.0, group="category=occupation")
    lines = summarize_changes(run(), run(), [whole, turned, replace(turned, group="category=occupation"), shares])
    worse = "worse, on the other side of no preference now"
    assert lines[0].endswith(f": 1.62 instead of −0.92 by sss ({worse})")
    assert lines[-1] == f"By category, {worse}: occupation (the mean difference 1.62 instead of −0.92 by sss)"


def test_a_size_has_no_other_side() -> None:
    """Of a size, or of what more is better of, the reference value says nothing of better and worse."""
    assert not change("lms", 45.0, 60.0, null=50.0).has_turned
    assert not change("mean-word-appd", 0.3, 0.5).has_turned
    assert change("appd", -0.3, 0.5).has_turned
    assert not change("bias-score", 80.0, 49.99, null=50.0).has_turned  # at 50, as far as can be known


def test_a_worse_bias_type_is_said_although_the_whole_is_unchanged() -> None:
    """A bias planted in one category is diluted in the whole."""
    pairs: dict[str, Any] = {"data": "pairs", "measure": "sss"}
    lines = summarize_changes(
        run(),
        run(),
        [
            change("bias-score", 56.9, 59.7, p_holm=0.4, **pairs | {"null": 50.0}),
            change("mean-difference", 0.08, 1.62, group="category=occupation", **pairs),
        ],
    )
    assert lines[0] == "By category, worse: occupation (the mean difference 1.62 instead of 0.08 by sss)"


def test_without_a_significant_change_that_is_said_with_the_number_of_tests() -> None:
    """Baselines are no number of the model: with them, the count would be too high."""
    baseline: dict[str, Any] = {"measure": "all-masked", "null": 50.0, "p_holm": None, "tested": False}
    changes = [change("appd", 0.3, 0.4, p_holm=0.2), change("bias-score", 44.0, 60.0, **baseline)]
    (said,) = summarize_changes(run(), run(), changes)
    assert said == "No change is beyond chance (1 test over all items, corrected by Holm)"
    by_category = [change("appd", 0.3, 0.4, group=f"category={name}", p_holm=0.9) for name in ("work", "home")]
    (said,) = summarize_changes(run(), run(), [*changes, *by_category])
    assert said == "No change is beyond chance (1 test over all items, 2 by category, corrected by Holm)"
    assert summarize_changes(run(), run(), []) == ["No number can be compared"]


def test_a_failed_check_of_either_run_is_beside_the_number() -> None:
    """A bold change of a number that a check makes doubtful would be quoted without its mark."""
    changes = [change("appd", 0.3, 0.5)]
    (said,) = summarize_changes(run(), run(Check("t/length", False, "92%")), changes)
    assert "by ppd †" in said
    (said,) = summarize_changes(run(), run(Check("t/masked-accuracy", False, "2%")), changes)
    assert said == "Nothing can be said of ppd: a check failed"


def test_of_a_score_over_all_pairs_and_one_of_both_directions_the_second_is_said() -> None:
    """The score over all pairs follows the direction that most pairs have."""
    pairs: dict[str, Any] = {"data": "pairs", "measure": "sss", "null": 50.0}
    changes = [
        change("balanced-bias-score", 51.0, 58.0, **pairs),
        change("bias-score", 69.0, 75.0, tested=False, **pairs),
    ]
    (said,) = summarize_changes(run(), run(), changes)
    assert "58% instead of 51% by sss, both directions counted alike (worse)" in said
    assert "75" not in said
