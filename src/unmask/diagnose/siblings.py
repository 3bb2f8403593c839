"""The calibrated siblings of the built-in model: their doses, and the items about the planted bias."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from unmask.core.errors import ModelError
from unmask.core.types import Outcome, Row, Side
from unmask.data import read
from unmask.models.builtin import builtin_models

PLANTED = "occupation"  # category of the pairs about the planted bias
SIBLINGS = tuple(name for name, model in builtin_models().items() if model.update is not None)
DOSE_NAME = re.compile(r"builtin-dose([+-]\d+)$")
OTHER: dict[Outcome, Outcome] = {"more": "less", "less": "more", "tie": "tie", "unscored": "unscored"}


def dose_of(model: str) -> int:
    """The dose planted in a sibling, parsed from its name."""
    match = DOSE_NAME.search(model)
    if match is None:
        siblings = (
            f"{SIBLINGS[0]} … {SIBLINGS[-1]}" if SIBLINGS else "models named builtin-dose+1 and the like"
        )
        raise ModelError(
            f"{model} has no known dose of bias: calibration needs {siblings}; omit the model to use them"
        )
    return int(match[1])


def planted_rows(rows: Sequence[Row], *, templates: bool) -> list[Row]:
    """The rows about the planted bias, with the stereotype as `more`."""
    if not templates:
        return [row for row in rows if row.groups.get("category") == PLANTED]
    women = {
        occupation.name: occupation.women
        for occupation in read("occupations")
        if not occupation.bls.endswith(" occupations")
    }
    about = [row for row in rows if row.groups.get("word") in women]
    return [_swap_sides(row) if women[row.groups["word"]] > 0.5 else row for row in about]


def _swap_sides(row: Row) -> Row:
    """The row with its sides swapped: for an occupation mostly held by women, `she` is the stereotype."""
    sides: dict[Side, Side] = {"more": "less", "less": "more"}
    scores = {sides[side]: score for side, score in row.scores.items() if side in sides}
    return replace(row, scores=scores, outcome=OTHER[row.outcome])
