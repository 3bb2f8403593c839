"""Score in low precision, and again in a higher one what it may decide otherwise, to keep the decisions of fp32.

`models.precision.ladder` gives the precisions, the fastest first. All pairs are scored in the first, and from each
precision to the next those that `audit.selection` names are scored again. The chance that a decision is still another
is estimated, not bounded: by a fit to a sample of errors, and for errors too rare for it by a guard of random pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import ceil, inf, nan, sqrt

import numpy as np

from unmask.audit.checks import Evidence
from unmask.audit.scoring import SCORE_NOT_FINITE, Only, ScoredItem, score_items
from unmask.audit.selection import Differences, Index, Selection, select
from unmask.core.estimate import Estimate
from unmask.core.progress import Step, part_of
from unmask.core.seeds import generator
from unmask.core.statistic import ASLD, MEAN_DIFFERENCE, statistic
from unmask.core.types import Check, Floats, Measure, Pair
from unmask.models import Answerer
from unmask.models.lm import FP32, NOT_FINITE

SAMPLE, LATER_SAMPLE = 256, 64  # pairs scored in the first two precisions, and in two later ones
BLOCK = 4096  # items whose scores are held at once
LEAST_STATED = 0.001  # chances below it are not told apart: they are estimates
TRIAL = 16  # items that show whether the model overflows
DECIDES = ("share", "magnitude", "lms", "ss", "icat")  # summaries of pairs; others have few passes and no decisions
MEANS = (MEAN_DIFFERENCE.name, ASLD.name)

Key = tuple[str, str]  # item and measure
Scores = dict[Key, ScoredItem]


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was scored again from one precision to the next, for one measure on one dataset."""

    data: str
    measure: str
    precision: str
    next_precision: str
    pairs: int  # that had scores in this precision only
    sampled: int  # of them scored in both, to measure the error
    largest_error: float
    mean_error: float
    error_deviation: float
    rescored: int  # those sampled included
    band: float  # every pair with a smaller difference was scored again; 0: none was left
    guard: int  # of those rescored, random pairs that looked safe
    fell_back: bool  # an error beyond the fit was found, and everything was scored again
    estimate: float  # of the chance that a decision left is wrong, by the fit
    unseen: float  # the same for larger errors, too rare to be among the random pairs scored again

    def mean_allowance(self, n: int) -> float:
        """What the error of a mean of `n` differences is allowed for: its estimate and three standard errors."""
        return abs(self.mean_error) + 3 * self.error_deviation / sqrt(max(1, min(n, self.sampled)))

    def merge(self, other: Certificate) -> Certificate:
        """For two parts of the data."""
        added = ("pairs", "sampled", "rescored", "guard", "estimate", "unseen")
        return replace(
            self,
            **{name: getattr(self, name) + getattr(other, name) for name in added},
            **{
                name: max(getattr(self, name), getattr(other, name), key=abs)
                for name in ("largest_error", "mean_error", "error_deviation")
            },
            band=min((each.band for each in (self, other) if each.band), default=0.0),
            fell_back=self.fell_back or other.fell_back,
        )


def score_certified(  # noqa: PLR0913 - as `score_items`
    data: str,
    items: Sequence[Pair],
    measures: Sequence[Measure],
    engines: Sequence[Answerer],
    *,
    evidence: Evidence,
    progress: Step,
    certificates: list[Certificate],
) -> Iterator[list[ScoredItem]]:
    """As `score_items`, with engines of rising precision; adds a certificate for each measure and step."""
    decided = [measure for measure in measures if measure.summary in DECIDES]
    while len(engines) > 1 and (len(items) < 2 * SAMPLE or not decided or _overflows(data, items, decided, engines[0])):
        engines = engines[1:]
    if len(engines) == 1:
        yield from score_items(data, items, measures, engines[0], evidence=evidence, progress=progress)
        return
    parts = ceil(len(items) / BLOCK)
    found: dict[tuple[str, str], Certificate] = {}
    for part in range(parts):
        block = _Block(data, items[len(items) * part // parts : len(items) * (part + 1) // parts], decided, evidence)
        step = part_of(progress, part / parts, 1 / parts)
        block.score_all(engines[0], part_of(step, 0, 0.7))
        block.score_others([measure for measure in measures if measure not in decided], engines[-1])
        for low, high in pairwise(engines):
            asked = SAMPLE if low is engines[0] else LATER_SAMPLE
            for made in block.promote(low, high, asked, 1 / parts):
                key = made.measure, made.precision
                found[key] = found[key].merge(made) if key in found else made
        chunk = engines[-1].limits.items
        for begin in range(0, len(block.items), chunk):
            some = block.items[begin : begin + chunk]
            yield [block.scores[item.id, measure.name] for item in some for measure in measures]
        step(1.0)
    certificates.extend(found.values())


def certificate_check(certificates: Sequence[Certificate]) -> Check:
    """What was scored again, and the estimated chance that a decision is still another."""
    first = [each for each in certificates if each.precision == certificates[0].precision]
    names = dict.fromkeys(each.next_precision for each in certificates)
    shares = [f"{each.measure} {each.rescored / max(1, each.pairs):.0%}" for each in first]
    of_measures = [[each for each in certificates if each.measure == one.measure] for one in first]
    worst = max(of_measures, key=lambda own: sum(each.estimate + each.unseen for each in own))
    by_fit, unseen = _chance(sum(each.estimate for each in worst)), _chance(sum(each.unseen for each in worst))
    refuted = list(dict.fromkeys(each.measure for each in certificates if each.fell_back))
    outcome = f"in {', '.join(refuted)}, scored again whole" if refuted else "none"
    detail = (
        f"scored in {first[0].precision}, and again in {' and '.join(names)} where decisions could differ "
        f"({', '.join(shares)}); estimated chance that any decision is not that of fp32, highest for "
        f"{worst[0].measure}: {by_fit} by an extreme-value fit to {worst[0].sampled} pairs, plus {unseen} for larger, "
        f"rare errors (guard: {sum(each.guard for each in worst):,} random pairs; errors beyond the fit: "
        f"{outcome})"
    )
    return Check("precision", True, detail)


def _chance(chance: float) -> str:
    return f"{min(chance, 1.0):.1g}" if chance >= LEAST_STATED else f"less than {LEAST_STATED}"


def widen(estimates: Iterable[Estimate], certificates: Sequence[Certificate]) -> list[Estimate]:
    """Means of differences with the error of the scores left in low precision in their intervals."""
    return [_widen(each, certificates) if each.statistic in MEANS else each for each in estimates]


def _widen(estimate: Estimate, certificates: Sequence[Certificate]) -> Estimate:
    own = [each for each in certificates if (each.data, each.measure) == (estimate.data, estimate.measure)]
    if not own or not estimate.has_interval:
        return estimate
    more = sum((1 - each.rescored / own[0].pairs) * each.mean_allowance(estimate.n) for each in own)
    method = f"{estimate.method}, ±{more:.2g} for {own[0].precision}"
    wide = replace(estimate, low=estimate.low - more, high=estimate.high + more, method=method)
    return wide.clip(*statistic(estimate.statistic).scale)


def _overflows(data: str, items: Sequence[Pair], measures: Sequence[Measure], engine: Answerer) -> bool:
    """Whether the first items have outputs that are not finite in this precision."""
    evidence = Evidence(refuses=False)
    for _ in score_items(data, items[:TRIAL], measures, engine, evidence=evidence, progress=lambda _: None):
        pass
    return evidence.not_finite > 0


@dataclass(slots=True)
class _Block:
    """Some items of a dataset and their scores, each in the highest precision so far."""

    data: str
    items: Sequence[Pair]
    measures: Sequence[Measure]  # those that decide between sides
    evidence: Evidence
    scores: Scores = field(default_factory=dict)

    def score_all(self, engine: Answerer, step: Step) -> None:
        """Score everything in the first precision; what overflows is scored again later."""
        refuses, not_finite = self.evidence.refuses, self.evidence.not_finite
        self.evidence.refuses = False
        for chunk in score_items(self.data, self.items, self.measures, engine, evidence=self.evidence, progress=step):
            self.scores |= _by_key(chunk)
        self.evidence.refuses, self.evidence.not_finite = refuses, not_finite

    def score_others(self, measures: Sequence[Measure], engine: Answerer) -> None:
        """Score what has no decisions in the last precision."""
        if measures:
            self.scores |= self._score_again(
                engine, measures, {item.id: {m.name for m in measures} for item in self.items}
            )

    def promote(self, low: Answerer, high: Answerer, asked: int, part: float) -> list[Certificate]:
        """Score again in the higher precision what the lower one may decide otherwise."""
        names = low.lm.facts.dtype, high.lm.facts.dtype
        before = dict(self.scores)
        columns = [self._differences(measure, names[0]) for measure in self.measures]
        encode = low.lm.encode
        lengths = np.array([len(encode(item.more).ids) + len(encode(item.less).ids) for item in self.items], float)

        def score_again(chosen: Sequence[Index]) -> list[Floats]:
            items = [[self.items[index].id for index in pairs] for pairs in chosen]
            self.scores |= self._rescore(
                high, [(each, set(ids)) for each, ids in zip(self.measures, items, strict=True)]
            )
            keys = [[(item, each.name) for item in ids] for each, ids in zip(self.measures, items, strict=True)]
            return [np.array([_error(before[key], self.scores[key]) for key in column]) for column in keys]

        # always the same pairs, so that a repeated audit gives the same scores whatever its seed
        rng = generator(0, self.data, *names, self.items[0].id)
        selections = select(columns, lengths, asked, part=part, rng=rng, oracle=score_again)
        return [
            self._certificate(measure, names, column, selection)
            for measure, column, selection in zip(self.measures, columns, selections, strict=True)
        ]

    def _differences(self, measure: Measure, precision: str) -> Differences:
        """What is still in this precision, less what rounding to decimals hides; not what cannot be scored in any."""
        again = (NOT_FINITE, SCORE_NOT_FINITE)
        column = [self.scores[item.id, measure.name] for item in self.items]
        return Differences(
            np.array(
                [
                    _gap(scored) - measure.resolution
                    if scored.row.precision == precision and (scored.row.scores or scored.row.reason in again)
                    else nan
                    for scored in column
                ]
            ),
            np.array([sqrt(scored.variance) or 1.0 for scored in column]),
        )

    def _certificate(
        self, measure: Measure, names: tuple[str, str], column: Differences, selection: Selection
    ) -> Certificate:
        errors = selection.errors[~np.isnan(selection.errors)]
        pairs, left = int(column.present.sum()), selection.left
        return Certificate(
            *(self.data, measure.name, *names, pairs, errors.size),
            largest_error=float(np.abs(errors).max(initial=0.0)),
            mean_error=float(errors.mean()) if errors.size else 0.0,
            error_deviation=float(errors.std(ddof=1)) if errors.size > 1 else 0.0,
            rescored=pairs - left.size,
            band=float(column.gaps[left].min(initial=inf)) if left.size else 0.0,
            guard=selection.guard,
            fell_back=selection.fell_back,
            estimate=selection.estimate,
            unseen=selection.unseen,
        )

    def _rescore(self, engine: Answerer, chosen: Iterable[tuple[Measure, set[str]]]) -> Scores:
        """Score the items chosen for each measure in the precision of the engine."""
        only: dict[str, set[str]] = {}
        for measure, items in chosen:
            for item in items:
                only.setdefault(item, set()).add(measure.name)
        return self._score_again(engine, self.measures, only)

    def _score_again(self, engine: Answerer, measures: Sequence[Measure], only: Only) -> Scores:
        items = [item for item in self.items if item.id in only]
        evidence = Evidence(asked={"masked", "unmasked", "causal"}, refuses=False)  # asks for no probes of its own
        scores: Scores = {}
        if items:
            chunks = score_items(
                self.data, items, measures, engine, evidence=evidence, progress=lambda _: None, only=only
            )
            for chunk in chunks:
                scores |= _by_key(chunk)
        if engine.lm.facts.dtype in FP32:
            self.evidence.not_finite += evidence.not_finite
        return scores


def _by_key(scored: Iterable[ScoredItem]) -> Scores:
    return {(each.row.item, each.row.measure): each for each in scored}


def _gap(scored: ScoredItem) -> float:
    """The smallest difference between two sides; less than nothing where there is none to compare."""
    values = list(scored.row.scores.values())
    return min((abs(a - b) for a, b in combinations(values, 2)), default=-float("inf"))


def _error(low: ScoredItem, high: ScoredItem) -> float:
    """The largest error of a difference between two sides, with its sign; NaN where a precision has no scores."""
    if not low.row.scores or not high.row.scores:
        return nan
    errors = {side: low.row.scores[side] - score for side, score in high.row.scores.items()}
    return max((a - b for a, b in combinations(errors.values(), 2)), key=abs, default=0.0)
