"""APPD of professions towards the gender that most who work in them have, women's and men's professions counted alike.

The plain mean of all professions mostly says how much the model expects "he": of the 136 professions of the templates
65 are men's and 24 women's, by the US labour statistics. A model that expects "he" everywhere has 0 here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unmask import data
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.types import BALANCED, Floats, Row
from unmask.data.occupations import MAJORITY
from unmask.measures import find
from unmask.stats.compare import Comparison, paired_groups
from unmask.stats.directions import balance_directions, has_both
from unmask.stats.means import crossed_mean, mean
from unmask.stats.units import Units

MEASURE, STATISTIC = "ppd", f"{BALANCED}appd"


class PairedValues(NamedTuple):
    """The values whose mean is a statistic, in two runs over the same items, and what the items share."""

    a: Floats
    b: Floats
    units: Units
    left_out: int = 0  # items in one run only, not scored in both, or of no group
    flips: int = 0  # items on which the runs disagree whether `more` wins


def profession_values(a: Sequence[Row], b: Sequence[Row]) -> PairedValues | None:
    """APPD towards the usual gender by item, weighted to count both genders alike; None without items of both."""
    name = a[0].data
    _, whole = next(paired_groups(find(MEASURE), a, b, data=name))
    pair = whole.restrict_to("appd")
    women = {each.name: each.women for each in data.read("occupations")}
    shares = np.array([women.get(word, 0.5) for word in pair.a.labels["word"]])
    directions = np.select([shares <= 1 - MAJORITY, shares >= MAJORITY], ["stereo", "antistereo"], "")
    usual = directions != ""
    if not has_both(directions[usual]):
        return None
    first, second, signs = pair.a.take(usual), pair.b.take(usual), np.where(directions == "stereo", 1.0, -1.0)[usual]
    before, after = (balance_directions(signs * table.difference, directions[usual]) for table in (first, second))
    flips = int((first.wins != second.wins).sum())
    return PairedValues(before, after, first.units, pair.left_out + int((~usual).sum()), flips)


def profession_estimates(rows: Sequence[Row], seed: int) -> list[Estimate]:
    """APPD towards the usual gender in one run; empty without items of both genders."""
    if (values := profession_values(rows, rows)) is None:
        return []
    value, p = crossed_mean(values.a, values.units, rng=generator(seed, STATISTIC))
    named = {"measure": MEASURE, "data": rows[0].data, "statistic": STATISTIC}
    return [Estimate.of(value, **named, null=0.0, n=values.a.size, p=p)]


def profession_changes(a: Sequence[Row], b: Sequence[Row], seed: int) -> list[Comparison]:
    """The change of APPD towards the usual gender, over words and templates; empty without items of both genders."""
    if (values := profession_values(a, b)) is None:
        return []
    change, p = crossed_mean(values.b - values.a, values.units, rng=generator(seed, STATISTIC))
    return [
        Comparison(
            measure=MEASURE,
            data=a[0].data,
            group="all",
            statistic=STATISTIC,
            a_value=mean(values.a),
            b_value=mean(values.b),
            change=change.value,
            low=change.low,
            high=change.high,
            n=values.a.size,
            flips=values.flips,
            left_out=values.left_out,
            method=change.method,
            p=p,
            unit=change.unit,
            design_effect=change.design_effect,
            null=0.0,
        )
    ]
