"""Spill-over: what a mitigation does to every bias type, not only to the one that it treats.

Mitigating one bias often changes others (Chand et al., 2025): the pairs of every bias type are compared before and
after, with Holm's correction over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from unmask.findings import Cell, Table
from unmask.mitigate.evaluation import BiasEvaluation, compare_headlines
from unmask.stats import Comparison

LEVEL = 0.05
MEASURES = ("aul", "ll")  # of pairs, by a score of each sentence
GENDER_PAIRS = "triple-gender"  # all of its categories are about gender
TREATED = {"gender": ("gender",), "race": ("race-color",), "religion": ("religion",)}  # categories by axis
COLUMNS = ("bias type", "treated", "measure", "data", "n", "before", "after", "change", "p")
NOTE = (
    "Bias score of the pairs of each type, no preference at 50; paired 95% intervals of the change; p with Holm's "
    "correction over all rows. Treated: the bias type whose words the method uses."
)


def bias_types(before: BiasEvaluation, after: BiasEvaluation, *, seed: int) -> tuple[Comparison, ...]:
    """The change of the bias score of every bias type; p-values corrected by Holm over all of them."""

    def is_bias_type(each: Comparison) -> bool:
        of_pairs = each.measure in MEASURES and each.statistic == "bias-score"
        return of_pairs and each.group.startswith("category=")

    return compare_headlines(before, after, is_bias_type, seed=seed)


def table(compared: Sequence[Comparison], axis: str, title: str = "Spill-over: every bias type") -> Table:
    """The bias types before and after, those that were treated first."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(_name(each), "yes" if is_treated(each, axis) else "no", each.measure, each.data, each.n),
            *(each.a_value, each.b_value, each.difference, each.p_holm),
        )
        for each in sorted(compared, key=lambda each: not is_treated(each, axis))
    ]
    return Table(title, COLUMNS, tuple(rows), NOTE, digits=1)


def answer(compared: Sequence[Comparison], axis: str) -> str:
    """Which bias types that were not treated have changed, and how large a change had to be to be seen."""
    others = [each for each in compared if not is_treated(each, axis)]
    if not others:
        return "Spill-over: only bias types that were treated are measured here."
    changed = [each for each in others if each.p_holm is not None and each.p_holm < LEVEL]
    widths = [(each.high - each.low) / 2 for each in others if each.difference.has_interval]
    seen = f"; their intervals are ±{median(widths):.0f} points wide" if widths else ""
    if not changed:
        return f"Spill-over: none of the {len(others)} bias types that were not treated changed beyond noise{seen}."
    listed = ", ".join(f"{_name(each)} {each.a_value:.1f} to {each.b_value:.1f}" for each in changed)
    further = sum(abs(each.b_value - 50) > abs(each.a_value - 50) for each in changed)
    return (
        f"Spill-over: {len(changed)} of the {len(others)} bias types that were not treated changed ({listed}), "
        f"{further} of them away from 50{seen}."
    )


def is_treated(each: Comparison, axis: str) -> bool:
    """Whether the pairs are about the bias that a method with this axis treats."""
    return _name(each) in TREATED.get(axis, ()) or (axis == "gender" and each.data == GENDER_PAIRS)


def _name(each: Comparison) -> str:
    return each.group.removeprefix("category=")
