"""Score in low precision and repeat in a higher one what it may decide otherwise, so that decisions are those of fp32.

`models.precision.ladder` gives the precisions, the fastest first. All pairs are scored in the first. From each
precision to the next:

1. At least `SAMPLE` pairs over the range of lengths are scored in both, those nearest to zero in each: whether a pair
   is near zero says nothing of its error, and most of these pairs must be scored again anyway.
2. The errors of their differences, in units of what equal errors of all logits would add up to, bound how often an
   error is large (`stats.tail`).
3. The pairs whose differences such errors may turn are scored again: as many as it takes for the expected number of
   wrong decisions among the others to be at most `TARGET`, a tenth of the stated bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import ceil, inf, sqrt
from statistics import median

import numpy as np

from unmask.audit.checks import Evidence
from unmask.audit.scoring import SCORE_NOT_FINITE, Only, ScoredItem, score_items
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate
from unmask.core.options import Precision
from unmask.core.progress import Step, part_of
from unmask.core.types import Check, Floats, Measure, Pair
from unmask.models import Engine, Lm
from unmask.models.finite import NOT_FINITE
from unmask.models.precision import FP32, SERVED, ladder
from unmask.models.quantised import QUANTISED
from unmask.stats.tail import LEAST, ErrorTail

SAMPLE, LATER_SAMPLE = 256, 64  # pairs scored in the first two precisions, and in two later ones
STRATA = (0.4, 0.28, 0.2, 0.12)  # of the sample, from the shortest quarter of the pairs to the longest, which cost most
BOUND = 0.01  # on the chance that any decision of a measure on a dataset is not that of fp32
TARGET = BOUND / 10  # what the fit is held to, because it is only a fit
MARGIN = 0.9  # of a difference; the rest is for the error of the next precision, which is several times smaller
BLOCK = 4096  # items whose scores are held at once
# parameters from which a GPU, not the host, takes most of the time; a masked model has a pass for every token
LARGE = {"masked": 50_000_000, "causal": 1_000_000_000}
TRIAL = 16  # items that show whether the model overflows
DECIDES = ("share", "magnitude", "lms", "ss", "icat")  # summaries of pairs; others have few passes and no decisions
# decisions of the built-in model on CrowS-Pairs, over all measures (`bench/precision.py`)
TURNED = {"bf16": "about 2 in 100", "fp16": "up to 1 in 200", "fp32+tf32": "about 1 in 1,000"}
MEANS = ("mean-difference", "asld")

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
    bound: float  # on the chance that a decision left is wrong

    def mean_bound(self, n: int) -> float:
        """A bound on the error of a mean of `n` differences: three standard errors."""
        return abs(self.mean_error) + 3 * self.error_deviation / sqrt(max(1, min(n, self.sampled)))

    def merge(self, other: Certificate) -> Certificate:
        """For two parts of the data."""
        return replace(
            self,
            **{name: getattr(self, name) + getattr(other, name) for name in ("pairs", "sampled", "rescored", "bound")},
            **{
                name: max(getattr(self, name), getattr(other, name), key=abs)
                for name in ("largest_error", "mean_error", "error_deviation")
            },
            band=min(self.band, other.band),
        )


def precisions_for(lm: Lm, precision: Precision) -> tuple[Lm, ...]:
    """The precisions in which an audit scores, the fastest first; ModelError if there can be only one."""
    if precision == "certified" and lm.facts.dtype not in FP32:
        raise ModelError(f"dtype is {lm.facts.dtype}, but certified decisions are those of fp32: leave out the dtype")
    pays = lm.network.device.type == "cuda" and (lm.facts.parameters or 0) >= LARGE[lm.kind]
    wanted = precision == "certified" or (precision == "auto" and pays)
    return ladder(lm) if wanted and lm.facts.dtype in FP32 else (lm,)


def score_certified(  # noqa: PLR0913 - as `score_items`
    data: str,
    items: Sequence[Pair],
    measures: Sequence[Measure],
    engines: Sequence[Engine],
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
            for made in block.promote(low, high, asked, TARGET / parts):
                key = made.measure, made.precision
                found[key] = found[key].merge(made) if key in found else made
        chunk = engines[-1].limits.items
        for begin in range(0, len(block.items), chunk):
            some = block.items[begin : begin + chunk]
            yield [block.scores[item.id, measure.name] for item in some for measure in measures]
        step(1.0)
    certificates.extend(found.values())


def precision_checks(lm: Lm, certificates: Sequence[Certificate]) -> list[Check]:
    """Whether the decisions are those of fp32; no check where all scores are in it."""
    if certificates:
        first = max(certificates, key=lambda each: each.bound)
        names = [certificates[0].precision, *dict.fromkeys(each.next_precision for each in certificates)]
        shares = [
            f"{each.measure} {each.rescored / each.pairs:.0%}"
            for each in certificates
            if each.precision == certificates[0].precision
        ]
        detail = (
            f"scored in {names[0]}, and again in {' and '.join(names[1:])} where decisions could differ "
            f"({', '.join(shares)}); chance that any is not that of fp32: at most {max(first.bound, 1e-9):.1g}"
        )
        return [Check("precision", True, detail)]
    if lm.facts.dtype in (*FP32, SERVED, *QUANTISED):  # a quantised model is another model, and is computed in fp32
        return []
    name = lm.facts.dtype
    turned = next((share for prefix, share in TURNED.items() if name.startswith(prefix)), "some")
    advice = "use dtype fp32 and precision certified"
    detail = f"scored in {name}, which decides {turned} pairs otherwise than fp32: {advice}"
    return [Check("precision", name == "fp32+tf32", detail)]


def widen(estimates: Iterable[Estimate], certificates: Sequence[Certificate]) -> list[Estimate]:
    """Means of differences with the error of the scores left in low precision in their intervals."""
    return [_widen(each, certificates) if each.statistic in MEANS else each for each in estimates]


def _widen(estimate: Estimate, certificates: Sequence[Certificate]) -> Estimate:
    own = [each for each in certificates if (each.data, each.measure) == (estimate.data, estimate.measure)]
    if not own or not estimate.has_interval:
        return estimate
    more = sum((1 - each.rescored / own[0].pairs) * each.mean_bound(estimate.n) for each in own)
    method = f"{estimate.method}, ±{more:.2g} for {own[0].precision}"
    wide = replace(estimate, low=estimate.low - more, high=estimate.high + more, method=method)
    return wide.clip(0.0, inf) if estimate.statistic == "asld" else wide


def _overflows(data: str, items: Sequence[Pair], measures: Sequence[Measure], engine: Engine) -> bool:
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

    def score_all(self, engine: Engine, step: Step) -> None:
        """Score everything in the first precision; what overflows is scored again later."""
        refuses, not_finite = self.evidence.refuses, self.evidence.not_finite
        self.evidence.refuses = False
        for chunk in score_items(self.data, self.items, self.measures, engine, evidence=self.evidence, progress=step):
            self.scores |= _by_key(chunk)
        self.evidence.refuses, self.evidence.not_finite = refuses, not_finite

    def score_others(self, measures: Sequence[Measure], engine: Engine) -> None:
        """Score what has no decisions in the last precision."""
        if measures:
            self.scores |= self._score_again(
                engine, measures, {item.id: {m.name for m in measures} for item in self.items}
            )

    def promote(self, low: Engine, high: Engine, asked: int, target: float) -> list[Certificate]:
        """Score again in the higher precision what the lower one may decide otherwise."""
        names = low.lm.facts.dtype, high.lm.facts.dtype
        columns = [_Column.of(measure, self.items, self.scores, names[0]) for measure in self.measures]
        sample = _sample(self.items, columns, low, asked)
        again = self._rescore(high, [(column.measure, sample & column.low.keys()) for column in columns])
        certificates, chosen = [], []
        for column in columns:
            fit, errors = column.fit(sample, again)
            left = [item for item in column.low if item not in sample]
            sizes = np.array([column.size(item) for item in left])
            chances = np.ones(len(left)) if fit is None else fit.beyond(sizes)
            order = np.argsort(-chances, kind="stable")
            kept = np.cumsum(chances[order][::-1])[::-1] <= target  # the sum from each on
            more = {left[index] for index in order[~kept]}
            chosen.append((column.measure, more))
            gaps = [column.gaps[left[index]] for index in order[kept]]
            certificates.append(
                Certificate(
                    *(self.data, column.measure.name, *names, len(column.low), len(errors)),
                    largest_error=float(np.abs(errors).max(initial=0.0)),
                    mean_error=float(errors.mean()) if errors.size else 0.0,
                    error_deviation=float(errors.std(ddof=1)) if errors.size > 1 else 0.0,
                    rescored=len(column.low) - len(gaps),
                    band=min(gaps, default=0.0),
                    bound=float(chances[order][kept].sum()) * BOUND / TARGET,
                )
            )
        self.scores |= again | self._rescore(high, chosen)
        return certificates

    def _rescore(self, engine: Engine, chosen: Iterable[tuple[Measure, set[str]]]) -> Scores:
        """Score the items chosen for each measure in the precision of the engine."""
        only: dict[str, set[str]] = {}
        for measure, items in chosen:
            for item in items:
                only.setdefault(item, set()).add(measure.name)
        return self._score_again(engine, self.measures, only)

    def _score_again(self, engine: Engine, measures: Sequence[Measure], only: Only) -> Scores:
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


@dataclass(frozen=True, slots=True)
class _Column:
    """The scores of one measure that are still in the lower precision."""

    measure: Measure
    low: Mapping[str, ScoredItem]  # by item
    gaps: Mapping[str, float]  # smallest difference between two sides, less what rounding to decimals hides
    scales: Mapping[str, float]  # what independent errors of one in every logit add up to

    @classmethod
    def of(cls, measure: Measure, block: Sequence[Pair], scores: Scores, precision: str) -> _Column:
        """Those of a block in this precision; an item that cannot be scored in any is not among them."""
        low = {item.id: scores[item.id, measure.name] for item in block}
        again = (NOT_FINITE, SCORE_NOT_FINITE)
        low = {
            item: scored
            for item, scored in low.items()
            if scored.row.precision == precision and (scored.row.scores or scored.row.reason in again)
        }
        hidden = 0.0 if measure.decimals is None else 10.0**-measure.decimals
        return cls(
            measure,
            low,
            {item: _gap(scored) - hidden for item, scored in low.items()},
            {item: sqrt(scored.variance) or 1.0 for item, scored in low.items()},
        )

    def size(self, item: str) -> float:
        """The size of an error that would turn the decision of an item, in units of its scale."""
        return MARGIN * self.gaps[item] / self.scales[item]

    def fit(self, sample: set[str], again: Scores) -> tuple[ErrorTail | None, Floats]:
        """The tail of the errors in units of their scale, and the errors, of the items scored in both precisions."""
        errors, units = [], []
        for item in self.low:
            if item in sample and self.low[item].row.scores and again[item, self.measure.name].row.scores:
                error = _error(self.low[item], again[item, self.measure.name])
                errors.append(error)
                units.append(error / self.scales[item])
        return (ErrorTail.fit(np.array(units)) if len(units) >= LEAST else None), np.array(errors)


def _sample(block: Sequence[Pair], columns: Sequence[_Column], engine: Engine, asked: int) -> set[str]:
    """Items over the range of lengths, those nearest to zero in any measure first."""
    usual = [median(sizes) if (sizes := [abs(gap) for gap in column.gaps.values()]) else 0.0 for column in columns]
    near: dict[str, float] = {}
    for column, unit in zip(columns, usual, strict=True):
        for item, gap in column.gaps.items():
            near[item] = min(near.get(item, inf), gap / (unit or 1.0))
    candidates = [item for item in block if item.id in near]
    candidates.sort(key=lambda item: len(engine.lm.encode(item.more).ids) + len(engine.lm.encode(item.less).ids))
    sample: set[str] = set()
    classes = len(STRATA)
    for part, share in enumerate(STRATA):
        stratum = candidates[len(candidates) * part // classes : len(candidates) * (part + 1) // classes]
        stratum.sort(key=lambda item: near[item.id])
        sample.update(item.id for item in stratum[: ceil(asked * share)])
    others = sorted((item.id for item in candidates if item.id not in sample), key=near.__getitem__)
    return sample.union(others[: max(0, asked - len(sample))])


def _by_key(scored: Iterable[ScoredItem]) -> Scores:
    return {(each.row.item, each.row.measure): each for each in scored}


def _gap(scored: ScoredItem) -> float:
    """The smallest difference between two sides; less than nothing where there is none to compare."""
    values = list(scored.row.scores.values())
    return min((abs(a - b) for a, b in combinations(values, 2)), default=-float("inf"))


def _error(low: ScoredItem, high: ScoredItem) -> float:
    """The largest error of a difference between two sides, with its sign."""
    errors = {side: low.row.scores[side] - score for side, score in high.row.scores.items()}
    return max((a - b for a, b in combinations(errors.values(), 2)), key=abs, default=0.0)
