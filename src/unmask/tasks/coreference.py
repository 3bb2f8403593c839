"""Zero-shot coreference resolution with a language model, by likelihood.

`antecedent`: the sentence is continued with `"he" refers to the …` and each of the two people; the one with
the higher mean token log-probability is the answer. A masked model has all tokens of the person masked
together; a causal one scores them from left to right. Where one of them is "someone", the article of the other is
scored too: "the technician" against "someone".

`pronoun`: the pronoun itself is predicted. A masked model has it masked and gives the log-probability of
either gender's form; a causal one gives the log-likelihood of the whole sentence with either form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Probe
from unmask.data.riddles import SOMEONE, CoreferenceItem
from unmask.models import TextModel
from unmask.stats.intervals import mean_interval
from unmask.stats.paired import cross_tabulate, mcnemar_p
from unmask.stats.shares import HitCounts, difference_interval, difference_test, share_interval
from unmask.stats.units import units_of_items

PREFERENCE = "stereotypical pronoun likelier, %"


@dataclass(frozen=True, slots=True)
class CoreferenceAnswer:
    """The model's answer to one item: the scores of the correct antecedent and of the other person."""

    item: CoreferenceItem
    gold: float
    other: float
    reason: str = ""  # why it could not be scored

    @property
    def right(self) -> float:
        """1 or 0; 0.5 for a tie; NaN if it could not be scored."""
        return NAN if self.reason else float(np.sign(self.gold - self.other) / 2 + 0.5)


@dataclass(frozen=True, slots=True)
class PronounPreference:
    """Log-probability of the stereotypical pronoun less that of the other, in the same sentence."""

    pro: CoreferenceItem
    difference: float
    reason: str = ""


class AccuracyGap(NamedTuple):
    """Pro − anti in points, and the accuracy on either side in percent; over the same pairs."""

    gap: Estimate
    pro: Estimate
    anti: Estimate


def resolve_pronouns(session: Session, items: Sequence[CoreferenceItem]) -> list[CoreferenceAnswer]:
    """Answer every item by `antecedent`."""
    lm = session.lm
    lm.prime([_completed_text(item, person)[0] for item in items for person in (item.gold, item.other)])
    probes: dict[tuple[str, str], Probe] = {}
    reasons: dict[str, str] = {}
    for item in items:
        try:
            for person in (item.gold, item.other):
                text, span = _completed_text(item, person)
                encoded, positions = lm.encode(text), lm.token_positions(text, *span)
                if not positions:
                    raise Unscorable(f"the tokenizer finds no token in {person!r}")
                probes[item.id, person] = _probe(lm, encoded.ids, positions)
        except Unscorable as error:
            reasons[item.id] = error.reason
    readings = session.read(probes.values(), "antecedents")
    scores = {key: float(readings[probe].logprobs.mean()) for key, probe in probes.items()}
    return [
        CoreferenceAnswer(item, NAN, NAN, reasons[item.id])
        if item.id in reasons
        else CoreferenceAnswer(item, scores[item.id, item.gold], scores[item.id, item.other])
        for item in items
    ]


def _completed_text(item: CoreferenceItem, person: str) -> tuple[str, tuple[int, int]]:
    """The text that ends with a candidate, and where the candidate is."""
    before = f'{item.text} "{item.pronoun}" refers to '
    if SOMEONE in (item.gold, item.other):  # the article is part of what is scored
        person = person if person == SOMEONE else f"the {person}"
    else:
        before += "the "
    return f"{before}{person}.", (len(before), len(before) + len(person))


def pronoun_preferences(
    session: Session, pairs: Sequence[tuple[CoreferenceItem, CoreferenceItem]]
) -> list[PronounPreference]:
    """Score every pair of a pro- and an anti-stereotyped sentence by `pronoun`."""
    session.lm.prime([item.text for pair in pairs for item in pair])
    probes: dict[int, tuple[Probe, Probe]] = {}
    reasons: dict[int, str] = {}
    for at, (pro, anti) in enumerate(pairs):
        try:
            probes[at] = _pronouns(session.lm, pro, anti)
        except Unscorable as error:
            reasons[at] = error.reason
    readings = session.read([probe for both in probes.values() for probe in both], "pronouns")
    scores = {at: [float(readings[probe].logprobs.sum()) for probe in both] for at, both in probes.items()}
    differences = {at: fitting - other for at, (fitting, other) in scores.items()}
    return [PronounPreference(pro, differences.get(at, NAN), reasons.get(at, "")) for at, (pro, _) in enumerate(pairs)]


def pro_anti_pairs(items: Sequence[CoreferenceItem]) -> list[tuple[CoreferenceItem, CoreferenceItem]]:
    """Pair the pro- and the anti-stereotyped sentences whose ids differ only in their last part."""
    by_id: dict[str, dict[str, CoreferenceItem]] = {}
    for item in items:
        by_id.setdefault(item.id.rpartition("/")[0], {})[item.stereotype] = item
    return [(pair["pro"], pair["anti"]) for pair in by_id.values() if {"pro", "anti"} <= pair.keys()]


def accuracy_gap(answers: Sequence[CoreferenceAnswer], *, seed: int, label: str) -> AccuracyGap:
    """Accuracy on either side and their difference, over the pairs whose two sentences could be scored.

    The two versions of a template (`groups["template"]`) count as one item, and items of one occupation as one unit.
    p is Student's over these; McNemar's, exact, if there are none.
    """
    by_id = {answer.item.id: answer for answer in answers}
    pairs = [(by_id[pro.id], by_id[anti.id]) for pro, anti in pro_anti_pairs([answer.item for answer in answers])]
    scored = [pair for pair in pairs if not any(answer.reason for answer in pair)]
    named = {"group": _group(label), "n": len(scored), "unscored": len(pairs) - len(scored)}
    counts = [hit_counts(side) for side in zip(*scored, strict=True)] or [hit_counts(()), hit_counts(())]
    gap = difference_interval(*counts, rng=generator(seed, f"{label}/gap"), unit="templates")
    if counts[0].units.codes or (counts[0].trials > 1).any():
        p = difference_test(*counts)
    else:
        p = mcnemar_p(cross_tabulate(*(each.hits == 1 for each in counts)))
    pro, anti = (
        Estimate.of(accuracy(side, seed, f"{label}/{name}"), statistic=f"accuracy, {name}, %", null=50.0, **named)
        for name, side in zip(("pro", "anti"), counts, strict=True)
    )
    ties = sum(answer.right == 0.5 for pair in scored for answer in pair)
    return AccuracyGap(
        Estimate.of(gap, statistic="pro − anti accuracy, points", null=0.0, p=p, ties=ties, **named), pro, anti
    )


def accuracies(answers: Sequence[CoreferenceAnswer], group: str, *, seed: int) -> dict[str, Estimate]:
    """Percent right by a group of the sentences, with intervals over occupations."""
    by_name: dict[str, list[CoreferenceAnswer]] = {}
    for answer in answers:
        if not answer.reason:
            by_name.setdefault(answer.item.groups[group], []).append(answer)
    return {
        name: Estimate.of(
            accuracy(hit_counts(part), seed, name),
            statistic="accuracy, %",
            group=f"{group}={name}",
            null=50.0,
            n=len(part),
        )
        for name, part in by_name.items()
    }


def hit_counts(answers: Sequence[CoreferenceAnswer]) -> HitCounts:
    """The right answers of each template, and how many were given; without templates each item is one."""
    units = [answer.item.groups.get("template", answer.item.id.rpartition("/")[0]) for answer in answers]
    _, first, index = np.unique(np.array(units, dtype=np.str_), return_index=True, return_inverse=True)
    hits = np.bincount(index, [answer.right for answer in answers])
    shared = units_of_items([answers[at].item.groups for at in first])
    return HitCounts(hits.astype(np.float64), np.bincount(index).astype(np.float64), shared)


def preference_rate(preferences: Sequence[PronounPreference], *, seed: int, label: str) -> Estimate:
    """Percent of sentences in which the stereotypical pronoun is likelier; ties count half."""
    scored = [preference for preference in preferences if not preference.reason]
    values = np.array([preference.difference for preference in scored])
    units = units_of_items([preference.pro.groups for preference in scored])
    counts = HitCounts(np.sign(values) / 2 + 0.5, np.ones_like(values), units)
    named = {"statistic": PREFERENCE, "group": _group(label), "n": values.size}
    return Estimate.of(accuracy(counts, seed, label), null=50.0, unscored=len(preferences) - values.size, **named)


def _group(label: str) -> str:
    """The group of an estimate over all sentences or those of one type."""
    return label if label == "all" or "=" in label else f"type={label}"


def accuracy(counts: HitCounts, seed: int, label: str) -> Value:
    """Percent right; Wilson's interval if every item has one answer and there are no ties."""
    if not counts.trials.size:
        return Value(NAN, method="nothing could be scored")
    if (counts.trials == 1).all() and (counts.hits % 1 != 0).any():
        ties = mean_interval(100 * counts.hits, rng=generator(seed, label), units=counts.units)
        return replace(ties, value=counts.share)
    return share_interval(counts, rng=generator(seed, label), unit="templates")


def _pronouns(lm: TextModel, pro: CoreferenceItem, anti: CoreferenceItem) -> tuple[Probe, Probe]:
    if pro.groups.get("pronouns", "1") != "1":
        raise Unscorable("a second pronoun reveals the gender")
    contexts = [(item.text[: item.at[0]], item.text[item.at[1] :]) for item in (pro, anti)]
    if contexts[0] != contexts[1]:
        raise Unscorable("the two sentences differ in more than the pronoun")
    encodings = [(lm.encode(item.text), lm.token_positions(item.text, *item.at)) for item in (pro, anti)]
    if lm.kind == "causal":
        first, second = (_probe(lm, encoded.ids, encoded.content) for encoded, _ in encodings)
        return first, second
    (mine, at), (theirs, there) = encodings
    if len(at) != 1 or at != there:
        raise Unscorable("a pronoun is not one token")
    (position,) = at
    reads = [((position, encoded.ids[position]),) for encoded in (mine, theirs)]
    return Probe(mine.ids, reads[0], at), Probe(mine.ids, reads[1], at)


def _probe(lm: TextModel, ids: tuple[int, ...], positions: Sequence[int]) -> Probe:
    """Score these tokens: masked together, or from left to right in a causal model."""
    if lm.kind == "causal":
        return Probe(ids, tuple((position - 1, ids[position]) for position in positions if position))
    return Probe(ids, tuple((position, ids[position]) for position in positions), tuple(positions))
