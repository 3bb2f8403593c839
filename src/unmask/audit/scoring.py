"""Score items with all measures, one chunk at a time, so that memory stays bounded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from unmask.audit.checks import Evidence
from unmask.core.errors import Unscorable
from unmask.core.progress import Step, part_of
from unmask.core.types import Measure, Outcome, Pair, Probes, Row, SentenceScore, Side
from unmask.models import Engine, Lm
from unmask.models.engine import Readings
from unmask.models.fast import tune_interpreter

FIRST, GROWTH = 64, 5  # size of the first chunk, and the growth factor of the next ones
Plan = list[tuple[Pair, Measure, Probes | str]]  # a string instead of probes: why the item cannot be scored


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """One item scored by one measure: its row and the scores of its sentences."""

    row: Row
    item: Pair
    sentences: Mapping[Side, SentenceScore]


def score_items(
    data: str, items: Sequence[Pair], measures: Sequence[Measure], engine: Engine, *, evidence: Evidence, progress: Step
) -> Iterator[list[ScoredItem]]:
    """Score all items with all measures, chunk by chunk; adds the counts for the checks to `evidence`."""
    last: Callable[[], list[ScoredItem]] = list
    for begin, end in _chunks(len(items), engine.limits.items):
        step = part_of(progress, begin / len(items), (end - begin) / len(items))
        with tune_interpreter():
            plan, answers = _submit(items[begin:end], measures, engine, evidence, step)
            done = last()
        last = functools.partial(_score_chunk, data, plan, answers, evidence, engine.lm)
        if done:
            yield done
    with tune_interpreter():
        done = last()
    if done:
        yield done


def _submit(
    chunk: Sequence[Pair], measures: Sequence[Measure], engine: Engine, evidence: Evidence, step: Step
) -> tuple[Plan, Callable[[], Readings]]:
    """Plan the probes of a chunk and submit them to the engine; on a GPU the results come later."""
    engine.lm.prime([text for item in chunk for text in item.sides().values()])
    plan = [(item, measure, _plan_probes(item, measure, engine.lm)) for item in chunk for measure in measures]
    asked = [side for _, _, ask in plan if not isinstance(ask, str) for side in ask.values()]
    probes = [probe for of_side in asked for probe in of_side]
    return plan, engine.submit([*probes, *evidence.more_probes(chunk, probes, engine.lm)], step)


def _chunks(items: int, most: int) -> Iterator[tuple[int, int]]:
    """Small chunks first, so that a GPU starts early, then larger ones, to fill batches of one length."""
    begin, size = 0, FIRST
    while begin < items:
        yield begin, min(begin + size, items)
        begin, size = begin + size, min(size * GROWTH, most)


def _score_chunk(data: str, plan: Plan, read: Callable[[], Readings], evidence: Evidence, lm: Lm) -> list[ScoredItem]:
    """The scores of a chunk; work that needs no readings comes first, while a GPU may still compute them."""
    evidence.add_items(list({item.id: item for item, _, _ in plan}.values()), lm)
    readings = read()
    evidence.add_readings(readings, lm)
    return [_scored_item(data, item, measure, ask, readings) for item, measure, ask in plan]


def _plan_probes(item: Pair, measure: Measure, lm: Lm) -> Probes | str:
    """The probes of an item, or the reason why it cannot be scored."""
    lacking = [need for need in measure.needs if not (getattr(item, need, None) or item.groups.get(need))]
    if lacking:
        return f"the item has no {', '.join(lacking)}"
    try:
        return measure.probes(item, lm)
    except Unscorable as error:
        return error.reason


def _scored_item(data: str, item: Pair, measure: Measure, plan: Probes | str, readings: Readings) -> ScoredItem:
    if isinstance(plan, str):
        return ScoredItem(Row(measure.name, data, item.id, item.groups, {}, "unscored", plan), item, {})
    sentences = {side: measure.score(ask, [readings[probe] for probe in ask]) for side, ask in plan.items()}
    scores = {side: sentence.value for side, sentence in sentences.items()}
    more, less = scores["more"], scores["less"]
    if measure.decimals is not None:  # compared after rounding, as the published code does
        more, less = round(more, measure.decimals), round(less, measure.decimals)
    outcome: Outcome = "tie" if more == less else "more" if more > less else "less"
    return ScoredItem(Row(measure.name, data, item.id, item.groups, scores, outcome), item, sentences)
