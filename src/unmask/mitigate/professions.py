"""APPD of professions towards the gender that most who work in them have, women's and men's professions counted alike.

The plain mean of all professions mostly says how much the model expects "he": of the 136 professions of the templates
65 are men's and 24 women's, by the US labour statistics. A model that expects "he" everywhere has 0 here.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.statistic import BALANCED
from unmask.core.types import Row
from unmask.data.occupations import with_usual_gender
from unmask.measures import find
from unmask.stats.intervals import crossed_mean
from unmask.stats.paired import paired_statistics

MEASURE, STATISTIC = "ppd", f"{BALANCED}appd"


def profession_estimates(rows: Sequence[Row], seed: int) -> list[Estimate]:
    """APPD towards the usual gender in one run; empty without items of both genders."""
    labelled, estimates = with_usual_gender(rows), []
    named = {"measure": MEASURE, "data": rows[0].data, "statistic": STATISTIC}
    for pair in paired_statistics(find(MEASURE), labelled, labelled, data=rows[0].data):
        if pair.statistic == STATISTIC:
            values, _ = pair.values()
            value, p = crossed_mean(values, pair.units, rng=generator(seed, STATISTIC))
            estimates.append(Estimate.of(value, **named, null=0.0, n=values.size, p=p))
    return estimates
