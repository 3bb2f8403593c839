"""Score items with all measures, one chunk at a time, so that memory stays bounded."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from unmask.audit.checks import Evidence
from unmask.core.errors import Unscorable
from unmask.core.progress import Step, part_of
from unmask.core.types import Measure, Outcome, Pair, Probe, Probes, Row, SentenceScore, Side
from unmask.measures.probes import TokenSum
from unmask.models import Answerer, TextModel
from unmask.models.batches import Readings
from unmask.models.fast import tune_interpreter
from unmask.models.lm import NOT_FINITE, special_reason

SCORE_NOT_FINITE = "the score is not finite (NaN or infinity)"
FIRST, GROWTH = 64, 4  # size of the first chunk, and the growth factor of the next ones
Only = Mapping[str, Collection[str]]  # the measures of each item, by its id
Plan = list[tuple[Pair, Measure, Probes | str]]  # a string instead of probes: why the item cannot be scored


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """One item scored by one measure: its row and the scores of its sentences."""

    row: Row
    item: Pair
    sentences: Mapping[Side, SentenceScore]
    variance: float = 0.0  # of its difference if every logit had an independent error of variance one

    @property
    def difference_per_token(self) -> float:
        """Score of `more` over its tokens minus that of `less` over its own (Kwon & Mihindukulasooriya 2022).

        NaN if unscored, or if the score is not a sum of log-probabilities.
        """
        if not self.sentences:
            return math.nan
        more, less = self.sentences["more"], self.sentences["less"]
        if not all(each.weights.sum() == len(each.weights) for each in (more, less)):
            return math.nan
        return more.value / max(1, len(more.logprobs)) - less.value / max(1, len(less.logprobs))


def score_items(  # noqa: PLR0913 - what is scored, with what, and what is reported meanwhile
    data: str,
    items: Sequence[Pair],
    measures: Sequence[Measure],
    engine: Answerer,
    *,
    evidence: Evidence,
    progress: Step,
    only: Only | None = None,
) -> Iterator[list[ScoredItem]]:
    """Score all items with all measures, chunk by chunk; adds the counts for the checks to `evidence`.

    With `only`, an item is scored with the measures named for it.
    """
    last: Callable[[], list[ScoredItem]] = list
    order, begun, ordered = _order(items, engine), 0, _InOrder(items)
    more_probes = functools.partial(evidence.more_probes, items, lm=engine.lm)
    for size in _chunk_sizes(len(items), engine.limits.items):
        step = part_of(progress, begun / len(items), size / len(items))
        begun += size
        with tune_interpreter():
            chunk = [items[position] for position in islice(order, size)]
            plan, answers = _submit(chunk, measures, engine, more_probes, step, only)
            done = ordered.add(last())
        ordered.expect(chunk)
        last = functools.partial(_score_chunk, data, plan, answers, evidence, engine.lm)
        if done:
            yield done
    with tune_interpreter():
        done = ordered.add(last())
    evidence.refuse_bad_outputs(engine.lm, complete=True)
    if done:
        yield done


def _submit(
    chunk: Sequence[Pair],
    measures: Sequence[Measure],
    engine: Answerer,
    more_probes: Callable[[list[Probe]], list[Probe]],
    step: Step,
    only: Only | None,
) -> tuple[Plan, Callable[[], Readings]]:
    """Plan the probes of a chunk and submit them to the engine; on a GPU the results come later."""
    engine.lm.prime(_texts(chunk), step)
    wanted = (
        (item, measure) for item in chunk for measure in measures if only is None or measure.name in only[item.id]
    )
    plan = [(item, measure, _plan_probes(item, measure, engine.lm)) for item, measure in wanted]
    asked = [side for _, _, ask in plan if not isinstance(ask, str) for side in ask.values()]
    probes = [probe for of_side in asked for probe in of_side]
    return plan, engine.submit([*probes, *more_probes(probes)], step)


def _chunk_sizes(items: int, most: int) -> Iterator[int]:
    """Small chunks first, so that a GPU starts early, then larger ones, to fill batches of one length.

    The last is small again: it is scored when the GPU has finished.
    """
    left, size = items, FIRST
    while left:
        taken = min(size, most, left if left <= FIRST * GROWTH else left * 3 // 4)
        yield taken
        left, size = left - taken, size * GROWTH


def _order(items: Sequence[Pair], engine: Answerer) -> Iterator[int]:
    """The positions of the items in the order in which they are scored.

    For a GPU items of one length come together, which makes few and hardly padded batches; the longest come first,
    because they take a GPU longer and the host no longer than others. The first few are found by their text, so that
    the GPU starts before all are tokenised.
    """
    block = engine.limits.by_length
    if block <= 1:
        yield from range(len(items))
        return
    for begin in range(0, len(items), block):
        positions = list(range(begin, min(begin + block, len(items))))
        positions.sort(key=lambda position: -sum(map(len, items[position].sides().values())))
        yield from positions[:FIRST]
        left = positions[FIRST:]
        engine.lm.prime(_texts([items[position] for position in left]))
        yield from sorted(left, key=lambda position: -_longest(items[position], engine.lm))


def _longest(item: Pair, lm: TextModel) -> int:
    """Tokens of the longest sentence of an item; 0 if one cannot be encoded."""
    try:
        return max(len(lm.encode(text).ids) for text in item.sides().values())
    except Unscorable:
        return 0


def _texts(items: Iterable[Pair]) -> list[str]:
    return [text for item in items for text in item.sides().values()]


@dataclass(slots=True)
class _InOrder:
    """Gives scored items back in the order of the data, whatever the order in which they were scored."""

    items: Sequence[Pair]
    given: int = 0  # items given back so far
    _expected: Sequence[Pair] = ()  # of the chunk whose scores come next
    _held: dict[str, list[ScoredItem]] = field(default_factory=dict)  # by item, none if it has no measure

    def expect(self, chunk: Sequence[Pair]) -> None:
        """The items whose scores come next."""
        self._expected = chunk

    def add(self, scored: Iterable[ScoredItem]) -> list[ScoredItem]:
        """Add the scores of a chunk; returns what comes next in the data, as far as it is there."""
        for item in self._expected:
            self._held[item.id] = []
        for each in scored:
            self._held[each.item.id].append(each)
        ready: list[ScoredItem] = []
        while self.given < len(self.items) and self.items[self.given].id in self._held:
            ready += self._held.pop(self.items[self.given].id)
            self.given += 1
        return ready


def _score_chunk(
    data: str, plan: Plan, read: Callable[[], Readings], evidence: Evidence, lm: TextModel
) -> list[ScoredItem]:
    """The scores of a chunk; work that needs no readings comes first, while a GPU may still compute them."""
    evidence.add_items(list({item.id: item for item, _, _ in plan}.values()), lm)
    readings = read()
    evidence.add_readings(readings, lm)
    evidence.refuse_bad_outputs(lm, complete=False)
    scorer = _Scorer(data, lm.facts.dtype, readings, _sum_values(plan, readings))
    return [scorer.score(item, measure, ask) for item, measure, ask in plan]


def _plan_probes(item: Pair, measure: Measure, lm: TextModel) -> Probes | str:
    """The probes of an item, or the reason why it cannot be scored."""
    if measure.needs and (
        lacking := [need for need in measure.needs if not (getattr(item, need, None) or item.groups.get(need))]
    ):
        return f"the item has no {', '.join(lacking)}"
    if special := special_token_in(item, lm):
        return special_reason(special)
    try:
        return measure.probes(item, lm)
    except Unscorable as error:
        return error.reason


def special_token_in(item: Pair, lm: TextModel) -> str:
    """A special token of the model that a sentence or the context of an item spells out; empty if there is none."""
    texts = (*item.sides().values(), item.context or "")
    return next((found for text in texts if (found := lm.special_in(text))), "")


Sums = tuple[Iterator[float], Iterator[float]]  # the scores of all sentences, the variances of all items


def _sum_values(plan: Plan, readings: Readings) -> dict[str, Sums]:
    """For each measure that is a `TokenSum`, its scores and variances, in the order of the plan."""
    firsts: dict[str, list[int]] = defaultdict(list)  # for each sentence, which of the probes given is its first
    sides: dict[str, list[int]] = defaultdict(list)  # for each item, its sentences
    scores = {measure.name: measure.score for _, measure, _ in plan}
    given = 0
    for _, measure, ask in plan:
        if isinstance(ask, str):
            continue
        of_measure = firsts[measure.name]
        for probes in ask.values():
            of_measure.append(given)
            given += len(probes)
        sides[measure.name].append(len(ask))
    sums: dict[str, Sums] = {}
    for name, score in scores.items():
        if isinstance(score, TokenSum) and sides[name]:
            read = readings.columns(readings.given[firsts[name]])
            counts = np.array(sides[name], dtype=np.int64)
            variances = np.add.reduceat(score.variances(read), np.cumsum(counts) - counts)
            sums[name] = iter(score.values(read).tolist()), iter(variances.tolist())
    return sums


@dataclass(frozen=True, slots=True)
class _Scorer:
    """Makes the rows of one chunk."""

    data: str
    precision: str
    readings: Readings
    sums: Mapping[str, Sums]  # by measure

    def score(self, item: Pair, measure: Measure, ask: Probes | str) -> ScoredItem:
        """One item by one measure; must be called in the order of the plan."""
        if isinstance(ask, str):
            return self._leave_out(item, measure, ask)
        sentences: Mapping[Side, SentenceScore] = _Sentences(measure, ask, self.readings)
        sums = self.sums.get(measure.name)
        if sums is not None:
            scores, variance = dict(zip(ask, sums[0], strict=False)), next(sums[1])
        if not self.readings.all_finite and not all(self.readings[p].is_finite for of in ask.values() for p in of):
            return self._leave_out(item, measure, NOT_FINITE)
        if sums is None:
            sentences = dict(sentences)
            scores = {side: sentence.value for side, sentence in sentences.items()}
            variance = sum(map(_variance, sentences.values()))
        if not all(map(math.isfinite, scores.values())):
            return self._leave_out(item, measure, SCORE_NOT_FINITE)
        more, less = scores["more"], scores["less"]
        if measure.decimals is not None:  # compared after rounding, as the published code does
            more, less = round(more, measure.decimals), round(less, measure.decimals)
        outcome: Outcome = "tie" if more == less else "more" if more > less else "less"
        row = Row(measure.name, self.data, item.id, item.groups, scores, outcome, precision=self.precision)
        return ScoredItem(row, item, sentences, variance)

    def _leave_out(self, item: Pair, measure: Measure, reason: str) -> ScoredItem:
        row = Row(measure.name, self.data, item.id, item.groups, {}, "unscored", reason, self.precision)
        return ScoredItem(row, item, {})


def _variance(sentence: SentenceScore) -> float:
    """As `TokenSum.variances`; a score that is no sum, as a probability, is taken to have a relative error."""
    certain = [1 - math.exp(logprob) for logprob in sentence.logprobs.tolist()]
    parts: list[tuple[float, float, float]] = list(
        zip(sentence.weights.tolist(), sentence.logprobs.tolist(), certain, strict=True)
    )
    total = sum(weight * logprob for weight, logprob, _ in parts)
    if abs(total - sentence.value) <= 1e-6 * max(1.0, abs(total)):
        return sum((weight * share) ** 2 for weight, _, share in parts)
    return sentence.value**2


class _Sentences(Mapping[Side, SentenceScore]):
    """The scores of an item's sentences with their tokens; each is made when it is looked up."""

    __slots__ = ("_ask", "_made", "_measure", "_readings")

    def __init__(self, measure: Measure, ask: Probes, readings: Readings) -> None:
        self._measure, self._ask, self._readings = measure, ask, readings
        self._made: dict[Side, SentenceScore] = {}

    def __getitem__(self, side: Side) -> SentenceScore:
        if side not in self._made:
            probes = self._ask[side]
            self._made[side] = self._measure.score(probes, [self._readings[probe] for probe in probes])
        return self._made[side]

    def __iter__(self) -> Iterator[Side]:
        return iter(self._ask)

    def __len__(self) -> int:
        return len(self._ask)
