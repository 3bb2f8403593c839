"""The changes by training on a corpus, over trainings and items.

Another seed alone may move a score by more than the noise of the items. So the intervals and tests of several trainings
cover both, and one training has an interval over items and no test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from unmask.core.types import ONE_TRAINING, Row
from unmask.corpus.training_effect import TrainingEffect
from unmask.measures import find
from unmask.mitigate.evaluation import WORD_APPD, BiasEvaluation, compare_headlines, correct_tested, headline_values
from unmask.stats.paired import Comparison, reference_value
from unmask.stats.trainings import mean_over_trainings


@dataclass(frozen=True, slots=True)
class EffectChanges:
    """The changes from the start and from the placebo to the corpus, of the same statistics."""

    shifts: tuple[Comparison, ...]
    against: tuple[Comparison, ...]
    spreads: tuple[float | None, ...]  # of corpus − placebo between trainings, standard deviations
    left_out: int  # items that only some of the models could score


def effect_changes(effect: TrainingEffect) -> EffectChanges:
    """Compare the corpus with the start and with the placebo; p-values are corrected by Holm over the rows of each."""
    arms, left_out = _same_items([effect.arm(name) for name in ("start", "placebo", "corpus")])
    start, placebo, corpus = arms
    if len(corpus) > 1:
        shifts, _ = _over_trainings(start, corpus)
        against, spreads = _over_trainings(placebo, corpus)
        return EffectChanges(shifts, against, spreads, left_out)
    shifts, against = (_of_one(before[0], corpus[0]) for before in (start, placebo))
    return EffectChanges(shifts, against, (None,) * len(against), left_out)


def _is_compared(group: str, statistic: str) -> bool:
    """Whether it is about a whole dataset, or ASLD of a category."""
    return statistic != WORD_APPD and (group == "all" or statistic == "asld")


def _of_one(a: BiasEvaluation, b: BiasEvaluation) -> tuple[Comparison, ...]:
    """The changes by one training: intervals over items, no p-values."""
    compared = compare_headlines(a, b, lambda each: _is_compared(each.group, each.statistic))
    return tuple(replace(each, p=None, p_holm=None, method=f"{each.method}; {ONE_TRAINING}") for each in compared)


def _over_trainings(
    a: Sequence[BiasEvaluation], b: Sequence[BiasEvaluation]
) -> tuple[tuple[Comparison, ...], tuple[float | None, ...]]:
    """The mean changes from a to b over trainings, seed by seed, and their standard deviations between trainings."""
    by_seed = [dict(headline_values(first, second)) for first, second in zip(a, b, strict=True)]
    found, spreads = [], []
    for key, some in by_seed[0].items():
        measure, name, group, statistic = key
        if not _is_compared(group, statistic):
            continue
        before = np.stack([values[key].a for values in by_seed])
        after = np.stack([values[key].b for values in by_seed])
        change, p = mean_over_trainings(after - before, some.units)
        found.append(
            Comparison(
                measure=measure,
                data=name,
                group=group,
                statistic=statistic,
                a_value=float(before.mean()),
                b_value=float(after.mean()),
                change=change.value,
                low=change.low,
                high=change.high,
                n=before.shape[1],
                flips=sum(values[key].flips for values in by_seed),
                left_out=some.left_out,
                method=change.method,
                p=p,
                unit=change.unit,
                null=reference_value(find(measure), statistic),
            )
        )
        spreads.append(float((after - before).mean(axis=1).std(ddof=1)))
    return correct_tested(found), tuple(spreads)


def _same_items(arms: Sequence[Sequence[BiasEvaluation]]) -> tuple[list[list[BiasEvaluation]], int]:
    """The evaluations without the items that only some of the models could score, and how many these are."""
    whole = [evaluation for arm in arms for evaluation in arm]
    dropped: dict[tuple[str, str], frozenset[str]] = {}
    for key in whole[0].rows:
        unscored = [_unscored(evaluation.rows[key]) for evaluation in whole]
        dropped[key] = frozenset.union(*unscored) - frozenset.intersection(*unscored)
    kept = [[_without(evaluation, dropped) for evaluation in arm] for arm in arms]
    return kept, sum(map(len, dropped.values()))


def _unscored(rows: Sequence[Row]) -> frozenset[str]:
    return frozenset(row.item for row in rows if not (row.scores and all(map(isfinite, row.scores.values()))))


def _without(evaluation: BiasEvaluation, dropped: Mapping[tuple[str, str], frozenset[str]]) -> BiasEvaluation:
    rows = {key: [row for row in own if row.item not in dropped[key]] for key, own in evaluation.rows.items()}
    return replace(evaluation, rows=rows)
