"""Items in, scores out: a chunk of items at a time, all measures together, so that memory stays bounded.

While the model reads one chunk, a second thread plans the next and scores the last. The model itself stays on the
caller's thread: a GPU library sets itself up anew for every thread that uses it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from unmask.errors import Unscorable
from unmask.evidence import Evidence
from unmask.models import Engine, Lm
from unmask.models.engine import Progress
from unmask.types import Measure, Outcome, Pair, Probe, Probes, Reading, Row, SentenceScore, Side

CHUNK = 1024  # items whose probes are planned, asked and scored together


@dataclass(frozen=True, slots=True)
class Scored:
    """One item under one measure: its row, and the sentence scores it was made of."""

    row: Row
    item: Pair
    sentences: Mapping[Side, SentenceScore]


def scored(
    data: str,
    items: Sequence[Pair],
    measures: Sequence[Measure],
    engine: Engine,
    *,
    evidence: Evidence,
    progress: Progress,
) -> Iterator[list[Scored]]:
    """Score all items by all measures, chunk by chunk; what was read on the way is added to `evidence`."""
    chunks = [items[begin : begin + CHUNK] for begin in range(0, len(items), CHUNK)]
    with ThreadPoolExecutor(1) as aside:
        plans = [aside.submit(_plan, chunk, measures, engine.lm) for chunk in chunks[:1]]
        waiting: list[Future[list[Scored]]] = []
        for number, chunk in enumerate(chunks):
            plans += [aside.submit(_plan, later, measures, engine.lm) for later in chunks[number + 1 : number + 2]]
            plan = plans.pop(0).result()
            step = functools.partial(_step, progress, number * CHUNK / len(items), len(chunk) / len(items))
            probes = [probe for _, _, ask in plan if not isinstance(ask, str) for one in ask.values() for probe in one]
            readings = engine.read([*probes, *evidence.more_probes(chunk, probes, engine.lm)], step)
            waiting.append(aside.submit(_scored_chunk, data, plan, readings, evidence, engine.lm))
            yield from (done.result() for done in waiting[:-1])
            del waiting[:-1]
        yield from (done.result() for done in waiting)


def _step(progress: Progress, begin: float, share: float, part: float) -> None:
    """Progress within a chunk as progress of the whole."""
    progress(begin + part * share)


def _scored_chunk(
    data: str, plan: Plan, readings: Mapping[Probe, Reading], evidence: Evidence, lm: Lm
) -> list[Scored]:
    evidence.add(list({item.id: item for item, _, _ in plan}.values()), readings, lm)
    return [_scored_item(data, item, measure, ask, readings) for item, measure, ask in plan]


Plan = list[tuple[Pair, Measure, Probes | str]]


def _plan(items: Sequence[Pair], measures: Sequence[Measure], lm: Lm) -> Plan:
    """What to ask about every item for every measure; a word instead where it cannot be scored."""
    lm.prime([text for item in items for text in item.sides().values()])
    return [(item, measure, _planned(item, measure, lm)) for item in items for measure in measures]


def _planned(item: Pair, measure: Measure, lm: Lm) -> Probes | str:
    """The item's probes, or the reason why it cannot be scored."""
    lacking = [need for need in measure.needs if not (getattr(item, need, None) or item.groups.get(need))]
    if lacking:
        return f"the item has no {', '.join(lacking)}"
    try:
        return measure.probes(item, lm)
    except Unscorable as error:
        return error.reason


def _scored_item(
    data: str, item: Pair, measure: Measure, plan: Probes | str, readings: Mapping[Probe, Reading]
) -> Scored:
    if isinstance(plan, str):
        return Scored(Row(measure.name, data, item.id, item.groups, {}, "unscored", plan), item, {})
    sentences = {side: measure.score(ask, [readings[one] for one in ask]) for side, ask in plan.items()}
    scores = {side: sentence.value for side, sentence in sentences.items()}
    outcome = _outcome(scores["more"], scores["less"], measure.decimals)
    return Scored(Row(measure.name, data, item.id, item.groups, scores, outcome), item, sentences)


def _outcome(more: float, less: float, decimals: int | None) -> Outcome:
    """Which side won; compared after rounding where the published code rounds."""
    if decimals is not None:
        more, less = round(more, decimals), round(less, decimals)
    if more == less:
        return "tie"
    return "more" if more > less else "less"
