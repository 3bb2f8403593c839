"""Checks collected during scoring: a score of 50 can mean no preference or a wrongly loaded model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.statistic import BAND
from unmask.core.types import Check, Encoded, Measure, Pair, Probe, Row
from unmask.data.items import find_repeats
from unmask.findings.numbers import number, signed_number
from unmask.measures.probes import each_masked_probe, next_tokens_probe, unmasked_probe
from unmask.measures.spans import order_matters
from unmask.models import TextModel
from unmask.models.batches import Readings
from unmask.models.lm import FP32, QUANTISED, SERVED, refuse_bad_outputs

SAMPLE = 12  # items probed only for the checks, if no measure has such probes
REPEATED = 0.01  # share of pairs that may have the sentences of an earlier one; published data have up to 0.3%
MASKED_FLOOR, UNMASKED_FLOOR, CAUSAL_FLOOR = 0.10, 0.25, 0.05
How = Literal["masked", "unmasked", "causal"]
# decisions of the built-in model on CrowS-Pairs, over all measures (`bench/precision.py`)
TURNED = {"bf16": "about 2 in 100", "fp16": "up to 1 in 200", "fp32+tf32": "about 1 in 1,000"}
VISIBLE = (
    "copying the input is enough for that: masked-accuracy finds a model that reads no context, and only a comparison "
    "with the base model finds that training harmed how words are read"
)


@dataclass(slots=True)
class Evidence:
    """Counts over one dataset, from which the checks are computed."""

    hits: dict[How, int] = field(default_factory=dict)
    reads: dict[How, int] = field(default_factory=dict)
    logprobs: dict[How, float] = field(default_factory=dict)  # their sum over the tokens read
    asked: set[How] = field(default_factory=set)
    tokens: int = 0
    unknown: int = 0
    pairs: int = 0
    ambiguous: list[str] = field(default_factory=list)  # alignment depends on the order of the sentences
    unequal: set[str] = field(default_factory=set)  # sentences with different numbers of tokens
    too_long: int = 0
    readings: int = 0
    not_finite: int = 0  # readings with NaN or infinity
    refuses: bool = True  # a model most of whose readings are not finite
    near: Counter[str] = field(default_factory=Counter)  # by measure: differences per token inside the band
    sized: Counter[str] = field(default_factory=Counter)  # by measure: all differences per token

    def more_probes(self, items: Sequence[Pair], probes: Iterable[Probe], lm: TextModel) -> list[Probe]:
        """Probes on the first items for the kinds of accuracy that the measures' own `probes` do not cover."""
        wanted: set[How] = {"causal"} if lm.kind == "causal" else {"masked", "unmasked"}
        lacking = wanted - self.asked
        self.asked |= wanted
        for probe in probes:
            if not lacking:
                return []
            lacking.discard(_how(probe, lm))
        sentences = [sentence for item in items[:SAMPLE] for sentence in _encode_sentences(item, lm)]
        return [_probe(sentence, how) for how in sorted(lacking) for sentence in sentences]

    def add_items(self, items: Sequence[Pair], lm: TextModel) -> None:
        """Count tokens, unknown tokens, length differences and ambiguous alignments of these items."""
        for item in items:
            self.pairs += 1
            sentences = _encode_sentences(item, lm)
            self.tokens += sum(len(sentence.content) for sentence in sentences)
            if lm.unknown_id != lm.begin:
                self.unknown += sum(sentence.ids.count(lm.unknown_id) for sentence in sentences)
            if len(sentences) < 2:
                self.too_long += 1
                continue
            if len(sentences[0].content) != len(sentences[1].content):
                self.unequal.add(item.id)
            if order_matters(*sentences):
                self.ambiguous.append(item.id)

    def add_readings(self, readings: Readings, lm: TextModel) -> None:
        """Count the tokens that the model ranks first, and the readings that are not finite."""
        self.readings += len(readings)
        self.not_finite += int((~readings.is_finite).sum())
        for how, numbers in _fullest(readings, lm).items():
            read = readings.columns(np.array(numbers))
            self.hits[how] = self.hits.get(how, 0) + int((read.ranks == 0).sum())
            self.reads[how] = self.reads.get(how, 0) + len(read.ranks)
            self.logprobs[how] = self.logprobs.get(how, 0.0) + float(read.logprobs.sum())

    def add_difference(self, measure: Measure, summed: float, per_token: float) -> None:
        """Count one pair's difference per token: of sums over their tokens, of means as it is; NaN is none."""
        difference = per_token if measure.in_nats else summed
        if measure.has_band and not math.isnan(difference):
            self.sized[measure.name] += 1
            self.near[measure.name] += abs(difference) <= BAND

    def refuse_bad_outputs(self, lm: TextModel, *, complete: bool) -> None:
        """Refuse a model if most of its readings are not finite; before the data are `complete`, if all are."""
        if self.refuses and (complete or self.not_finite == self.readings):
            refuse_bad_outputs(self.not_finite, self.readings, "readings", lm.facts, share=0.5)

    def accuracy(self, how: How) -> float:
        """Share of tokens that the model ranks first at their position; NaN if none was read."""
        return self.hits[how] / self.reads[how] if self.reads.get(how) else math.nan

    def mean_logprob(self, how: How) -> float:
        """Mean log-probability of these tokens; NaN if none was read."""
        return self.logprobs.get(how, math.nan) / self.reads[how] if self.reads.get(how) else math.nan


def check_repeats(items: Sequence[Pair]) -> Check:
    """Whether the items are different pairs: equal ones are one unit of intervals, but count in n and in the score."""
    repeats, n = find_repeats(items), len(items)
    count, share = len(repeats.first), len(repeats.first) / max(1, n)
    detail = f"{count:,} of {n:,} pairs ({share:.1%}) have the sentences of an earlier one"
    detail += f", {len(repeats.exchanged):,} of them exchanged" if repeats.exchanged else ""
    return Check("duplicates", share <= REPEATED, detail)


def check_precision(lm: TextModel) -> list[Check]:
    """Whether the decisions of one precision are those of fp32; no check of scores that are in it."""
    name = lm.facts.dtype
    if name in (*FP32, SERVED, *QUANTISED):  # a quantised model is another model, and is computed in fp32
        return []
    turned = next((share for prefix, share in TURNED.items() if name.startswith(prefix)), "some")
    advice = "use dtype fp32 and precision certified"
    detail = f"scored in {name}, which decides {turned} pairs otherwise than fp32: {advice}"
    return [Check("precision", name == "fp32+tf32", detail)]


def checks(
    evidence: Evidence, measures: Sequence[Measure], rows: Mapping[str, Sequence[Row]], lm: TextModel
) -> tuple[Check, ...]:
    """Compute the checks of one dataset from the evidence and the rows of each measure."""
    long, pairs, ambiguous = evidence.too_long, evidence.pairs, sorted(evidence.ambiguous)
    examples = ", ".join(ambiguous[:3]) + (" …" if len(ambiguous) > 3 else "")
    turned = f"{len(ambiguous)} pairs align differently when the sentences are exchanged"
    turned += f" ({examples})" if examples else ""
    cut = f"{long} items are too long or empty for this model; none was cut"
    unknown = evidence.unknown / max(1, evidence.tokens)
    strange = f"{unknown:.2%} of {evidence.tokens:,} tokens are unknown to the tokenizer"
    finite = f"{evidence.not_finite:,} of {evidence.readings:,} readings are not finite (NaN or infinity)"
    return (
        lm.opening_check(),
        Check("finite-outputs", not evidence.not_finite, finite),
        *_accuracies(evidence, lm),
        _outcome_check("ties", rows, "tie", "are ties"),
        _outcome_check("unscored", rows, "unscored", "could not be scored"),
        Check("truncated", long <= 0.05 * pairs, cut),
        Check("alignment", len(ambiguous) <= 0.01 * max(1, pairs), turned),
        *_unequal_lengths(evidence, measures, rows),
        *_near_zero(evidence),
        Check("unknown-tokens", unknown <= 0.01, strange),
    )


def _accuracies(evidence: Evidence, lm: TextModel) -> list[Check]:
    floors: dict[How, float] = {"masked": MASKED_FLOOR, "unmasked": UNMASKED_FLOOR}
    results = []
    for how, floor in floors.items() if lm.kind == "masked" else (("causal", CAUSAL_FLOOR),):
        share, n = evidence.accuracy(how), evidence.reads.get(how, 0)
        detail = f"{share:.1%} of {n:,} tokens are the model's first guess"
        if how == "unmasked":
            detail += f", mean log-probability {number(evidence.mean_logprob(how), 2)}; {VISIBLE}"
        if not share >= floor:  # also if none was read
            detail += f"; below {floor:.0%} the model hardly knows this language: do not interpret its scores"
        results.append(Check("next-token-accuracy" if how == "causal" else f"{how}-accuracy", share >= floor, detail))
    return results


def _outcome_check(name: str, rows: Mapping[str, Sequence[Row]], outcome: str, words: str) -> Check:
    counts = {measure: sum(row.outcome == outcome for row in found) for measure, found in rows.items()}
    listed = ", ".join(f"{measure} {count}" for measure, count in counts.items() if count) or "none"
    many = [measure for measure, found in rows.items() if counts[measure] > 0.05 * len(found)]
    return _check_by_measure(name, many, f"pairs that {words}: {listed}")


def _unequal_lengths(evidence: Evidence, measures: Sequence[Measure], rows: Mapping[str, Sequence[Row]]) -> list[Check]:
    """Change of the bias score without the pairs whose sentences differ in length."""
    share = len(evidence.unequal) / max(1, evidence.pairs)
    changes = {}
    for measure in measures:
        won = [(row.item, row.outcome == "more") for row in rows[measure.name] if row.scores]
        equal = [more for item, more in won if item not in evidence.unequal]
        if measure.summary == "share" and equal:
            changes[measure.name] = 100 * sum(equal) / len(equal) - 100 * sum(m for _, m in won) / len(won)
    if not changes:
        return []
    listed = ", ".join(f"{name} {signed_number(change, 1)}" for name, change in changes.items())
    detail = f"{share:.0%} of pairs differ in length; without them the scores move by {listed}"
    return [_check_by_measure("length", [name for name, change in changes.items() if abs(change) > 5.0], detail)]


def _near_zero(evidence: Evidence) -> list[Check]:
    """The share of differences per token near zero: a description, because of most models most are."""
    listed = ", ".join(f"{name} {evidence.near[name] / n:.0%}" for name, n in evidence.sized.items())
    if not listed:
        return []
    return [Check("near-zero", True, f"differences per token inside ±{BAND}: {listed}")]


def _check_by_measure(name: str, failing: Sequence[str], detail: str) -> Check:
    """A check of every measure by itself: the numbers of those that pass are not in doubt."""
    return Check(name, not failing, detail, tuple(failing))


def _encode_sentences(item: Pair, lm: TextModel) -> list[Encoded]:
    """The two sentences of an item, except those that cannot be encoded."""
    sentences = []
    for text in (item.more, item.less):
        try:
            sentences.append(lm.encode(text))
        except Unscorable:
            continue
    return sentences


def _probe(sentence: Encoded, how: How) -> Probe:
    if how == "masked":
        return each_masked_probe(sentence, sentence.content)
    return unmasked_probe(sentence) if how == "unmasked" else next_tokens_probe(sentence, sentence.content)


def _fullest(readings: Readings, lm: TextModel) -> dict[How, list[int]]:
    """For each sentence and kind of accuracy the probe that reads the most tokens, so that none counts twice."""
    fullest: dict[How, list[int]] = {}
    probes, found = list(readings), -1
    for place, owner in readings.fullest_first():
        how = None if owner == found or not readings.is_finite[place] else _how(probes[place], lm)
        if how is not None:
            fullest.setdefault(how, []).append(place)
            found = owner
    return fullest


def _how(probe: Probe, lm: TextModel) -> How | None:
    """The kind of accuracy a probe measures; None if it does not read the tokens of the sentence itself."""
    if probe.head != "lm" or not probe.reads:
        return None
    position, token = probe.reads[0]  # a probe reads either only tokens of the sentence itself, or none
    if lm.kind == "causal":
        return "causal" if probe.ids[position + 1 : position + 2] == (token,) else None
    if probe.ids[position] != token or lm.mask_id in probe.ids:
        return None
    return "masked" if probe.one_at_a_time else "unmasked" if not probe.masked else None
