"""The calibrated siblings of the built-in model: which dose each has, and which items speak of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from unmask.core.errors import ModelError
from unmask.core.types import Outcome, Row, Side
from unmask.data import read
from unmask.models.builtin import builtin_models

PLANTED = "occupation"  # the category of pairs that speak of what was planted
SIBLINGS = tuple(name for name, one in builtin_models().items() if one.update is not None)
DOSE_NAME = re.compile(r"builtin-dose([+-]\d+)$")
OTHER: dict[Outcome, Outcome] = {"more": "less", "less": "more", "tie": "tie", "unscored": "unscored"}


def dose_of(model: str) -> int:
    """The dose planted in a sibling, by its name."""
    match = DOSE_NAME.search(model)
    if match is None:
        siblings = (
            f"{SIBLINGS[0]} … {SIBLINGS[-1]}" if SIBLINGS else "models named builtin-dose+1 and the like"
        )
        raise ModelError(f"{model} has no known dose of bias: calibration asks {siblings}; name no model")
    return int(match[1])


def planted_rows(rows: Sequence[Row], *, templates: bool) -> list[Row]:
    """The rows that speak of what was planted, `more` being the stereotype in each of them."""
    if not templates:
        return [row for row in rows if row.groups.get("category") == PLANTED]
    women = {
        occupation.name: occupation.women
        for occupation in read("occupations")
        if not occupation.bls.endswith(" occupations")
    }
    about = [row for row in rows if row.groups.get("word") in women]
    return [_turned(row) if women[row.groups["word"]] > 0.5 else row for row in about]


def _turned(row: Row) -> Row:
    """The same with its sides exchanged: of an occupation mostly held by women, `she` is the stereotype."""
    sides: dict[Side, Side] = {"more": "less", "less": "more"}
    scores = {sides[side]: score for side, score in row.scores.items() if side in sides}
    return replace(row, scores=scores, outcome=OTHER[row.outcome])
