"""Spill-over: what a mitigation does to every bias type, not only to the one that it treats.

Mitigating one bias often changes others (Chand et al., 2025): the pairs of every bias type are compared before and
after by two kinds of measures, with Holm's correction over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from unmask.core.statistic import BALANCED
from unmask.findings import Cell, Table
from unmask.findings.numbers import number
from unmask.mitigate.evaluation import PAIR_MEASURES, BiasEvaluation, compare_headlines, is_tested
from unmask.stats.paired import Comparison
from unmask.stats.power import detectable_difference

LEVEL = 0.05
MEASURES = tuple(name for names in PAIR_MEASURES.values() for name in names)
NAMES = {"bias-score": "bias score", "mean-difference": "mean difference"}
GENDER_PAIRS = "triple-gender"  # all of its categories are about gender
TREATED = {"gender": ("gender",), "race": ("race-color",), "religion": ("religion",)}  # categories by axis
COLUMNS = ("bias type", "treated", "measure", "data", "n", "before", "after", "change", "p")
NOTE = (
    "No preference: bias score 50, mean difference 0; both directions of the stereotypes counted alike. Paired 95% "
    "intervals of the change. p: Holm's correction over one family, the {tests} tests of both statistics, all measures "
    "and all bias types. Treated: the bias type whose words the method uses."
)


def bias_types(before: BiasEvaluation, after: BiasEvaluation, *, seed: int) -> tuple[Comparison, ...]:
    """The changes of every bias type by every measure of pairs; p-values corrected by Holm over all of them."""

    def is_bias_type(each: Comparison) -> bool:
        return each.measure in MEASURES and each.group.startswith("category=")

    compared = compare_headlines(before, after, is_bias_type, seed=seed)
    return tuple(each for each in compared if is_tested(each, compared))


def tables(compared: Sequence[Comparison], axis: str, title: str = "Spill-over") -> list[Table]:
    """The bias scores and the mean differences of the bias types before and after, treated ones first."""
    note = NOTE.format(tests=sum(each.p is not None for each in compared))
    ordered = sorted(compared, key=lambda each: (not is_treated(each, axis), each.data, _name(each)))
    return [
        Table(f"{title}: {name} of every bias type", COLUMNS, tuple(rows), note, digits=1 if digits else 3)
        for statistic, name in NAMES.items()
        for digits in [statistic == "bias-score"]
        if (rows := [_cells(each, axis) for each in ordered if _plain(each) == statistic])
    ]


def answer(compared: Sequence[Comparison], axis: str) -> str:
    """Which bias types that were not treated have changed by which measure, and which changes can go unseen."""
    types: dict[tuple[str, str], list[Comparison]] = {}
    for each in compared:
        if not is_treated(each, axis):
            types.setdefault((each.data, _name(each)), []).append(each)
    if not types:
        return "Spill-over: only bias types that were treated are measured here."
    others = [each for rows in types.values() for each in rows]
    said = f"Spill-over, by bias score and mean difference of {' and '.join(_measures(others))}: "
    unseen = _unseen(others, sum(each.p is not None for each in compared))
    changed = {name: rows for (_, name), rows in types.items() if any(map(_is_change, rows))}
    if not changed:
        return f"{said}none of the {len(types)} bias types that were not treated changed beyond chance.{unseen}"
    listed = "; ".join(f"{name}: {_changes(rows)}" for name, rows in changed.items())
    worse = sum(any(_is_change(each) and each.worsening > 0 for each in rows) for rows in changed.values())
    return (
        f"{said}{len(changed)} of the {len(types)} bias types that were not treated changed ({listed}), "
        f"{worse} of them away from no preference.{unseen}"
    )


def is_treated(each: Comparison, axis: str) -> bool:
    """Whether the pairs are about the bias that a method with this axis treats."""
    return _name(each) in TREATED.get(axis, ()) or (axis == "gender" and each.data == GENDER_PAIRS)


def describe(each: Comparison) -> str:
    """`sss bias score 50.0 to 90.0`."""
    digits = 1 if _plain(each) == "bias-score" else 3
    values = " to ".join(number(value, digits) for value in (each.a_value, each.b_value))
    return f"{each.measure} {NAMES[_plain(each)]} {values}"


def _changes(rows: Sequence[Comparison]) -> str:
    """What changed in a bias type, and the measures by which nothing did."""
    silent = [name for name in _measures(rows) if not any(_is_change(each) for each in rows if each.measure == name)]
    parts = [describe(each) for each in rows if _is_change(each)]
    return ", ".join([*parts, *(f"no change beyond chance by {name}" for name in silent)])


def _unseen(rows: Sequence[Comparison], tests: int) -> str:
    """The changes of the median type that are seen with a power of 80% at Holm's first level, as a sentence."""
    limits = []
    for measure in _measures(rows):
        for statistic, name in NAMES.items():
            own = [each.difference for each in rows if (each.measure, _plain(each)) == (measure, statistic)]
            wide = [value for value in own if value.has_interval and value.high > value.low]
            if wide:
                found = [detectable_difference(value, versus="null", alpha=LEVEL / tests) for value in wide]
                shown = number(min(median(found), 100.0), 1) if statistic == "bias-score" else number(median(found), 3)
                limits.append(f"{shown} of {name} by {measure}")
    return (
        f" Changes smaller than these can go unseen (80% power, median over bias types): {', '.join(limits)}."
        if limits
        else ""
    )


def _measures(rows: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(each.measure for each in rows))


def _is_change(each: Comparison) -> bool:
    return each.p_holm is not None and each.p_holm < LEVEL


def _plain(each: Comparison) -> str:
    return each.statistic.removeprefix(BALANCED)


def _cells(each: Comparison, axis: str) -> tuple[Cell, ...]:
    treated = "yes" if is_treated(each, axis) else "no"
    values = (each.n, each.a_value, each.b_value, each.difference, each.p_holm)
    return (_name(each), treated, each.measure, each.data, *values)


def _name(each: Comparison) -> str:
    return each.group.removeprefix("category=")
