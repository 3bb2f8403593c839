"""Score tables built for the tests: the smallest measure there can be, and rows from plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from unmask.core.estimate import Estimate
from unmask.core.types import Measure, Outcome, Row, Summary

DATA = "pairs"


def measure(summary: Summary = "share", **changes: Any) -> Measure:
    nulls: dict[str, float | None] = {"magnitude": 0.0, "icat": None}
    plain = Measure(
        name="m",
        title="A measure",
        reads="nothing",
        kinds=("masked",),
        probes=lambda pair, lm: {},
        score=never,
        citation="none",
        summary=summary,
        null=nulls.get(summary, 50.0),
    )
    return replace(plain, **changes)


def never(*_: Any) -> Any:
    raise AssertionError("statistics never ask a model")


def row(item: int | str, difference: float, **groups: str) -> Row:
    """A scored pair with this difference of scores."""
    outcome: Outcome = "more" if difference > 0 else "less" if difference < 0 else "tie"
    return Row("m", DATA, f"{item:0>5}", groups, {"more": difference - 2.0, "less": -2.0}, outcome)


def unscored(item: int | str, reason: str = "too long", **groups: str) -> Row:
    return Row("m", DATA, f"{item:0>5}", groups, {}, "unscored", reason)


def triple(item: int, scores: Sequence[float], target: str, **groups: str) -> Row:
    """A scored triple: stereotype, anti-stereotype, unrelated."""
    more, less, unrelated = scores
    outcome: Outcome = "more" if more > less else "less" if less > more else "tie"
    sides = {"more": more, "less": less, "unrelated": unrelated}
    return Row("m", DATA, f"{item:05}", {"target": target, **groups}, sides, outcome)  # type: ignore[arg-type]


def rows(differences: Iterable[float], **groups: str) -> list[Row]:
    return [row(i, difference, **groups) for i, difference in enumerate(differences)]


def swapped(table: Sequence[Row]) -> list[Row]:
    """The same rows with `more` and `less` exchanged."""
    other: dict[Outcome, Outcome] = {"more": "less", "less": "more"}
    return [
        replace(
            one,
            scores={**one.scores, "more": one.scores["less"], "less": one.scores["more"]} if one.scores else {},
            outcome=other.get(one.outcome, one.outcome),
        )
        for one in table
    ]


def normal(count: int, seed: int, *, shift: float = 0.0) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).normal(shift, 1.0, count)]


def only(found: Sequence[Any], statistic: str, group: str = "all") -> Any:
    """The one estimate (or comparison) of that name."""
    matching = [one for one in found if (one.statistic, one.group) == (statistic, group)]
    assert len(matching) == 1, f"{len(matching)} of {statistic} in {group}"
    return matching[0]


def same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Equal to the last digit, NaN equal to NaN."""
    return repr([astuple(one) for one in first]) == repr([astuple(one) for one in second])


def holds_value(estimate: Estimate) -> bool:
    return bool(np.isnan(estimate.low)) or estimate.low <= estimate.value <= estimate.high
