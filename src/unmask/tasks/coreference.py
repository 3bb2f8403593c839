"""Whom does the pronoun mean? Asked of a language model as it is, by likelihood.

`antecedent`: the sentence is followed by `"he" refers to the …`; each of the two people is put there and the
likelier one (mean log-probability of its tokens) is the model's answer. A masked model has all tokens of the
person hidden together; a causal one reads them from what comes before.

`pronoun`: the pronoun itself is asked for. A masked model has it hidden and gives the log-probability of
either gender's form; a causal one gives the log-likelihood of the whole sentence with either form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.types import Floats, Probe
from unmask.data.riddles import CoreferenceItem
from unmask.findings import Value
from unmask.models import Lm
from unmask.models.engine import Readings
from unmask.stats.bootstrap import generator
from unmask.stats.mcnemar import cross_tabulate, mcnemar_p
from unmask.stats.means import mean, mean_interval
from unmask.stats.pooled import HitCounts, share_interval


@dataclass(frozen=True, slots=True)
class CoreferenceAnswer:
    """What a model makes of one riddle: the scores of whom the pronoun means and of the other person."""

    riddle: CoreferenceItem
    gold: float
    other: float
    reason: str = ""  # why it could not be asked

    @property
    def right(self) -> float:
        """1, or 0; a tie is half right; NaN where it could not be asked."""
        return float("nan") if self.reason else float(np.sign(self.gold - self.other) / 2 + 0.5)


@dataclass(frozen=True, slots=True)
class PronounPreference:
    """How much likelier the pronoun that fits the stereotype is than the other, in the same sentence."""

    pro: CoreferenceItem
    difference: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AccuracyGap:
    """Percent right with pro- and with anti-stereotyped pronouns, over the same sentences."""

    pro: Value
    anti: Value
    gap: Value
    p: float | None  # McNemar
    n: int  # couples of sentences
    ties: int
    unscored: int


def resolve_pronouns(subject: Session, riddles: Sequence[CoreferenceItem]) -> list[CoreferenceAnswer]:
    """Every riddle asked by `antecedent`."""
    probes: dict[tuple[str, str], Probe] = {}
    reasons: dict[str, str] = {}
    for one in riddles:
        try:
            for person in (one.gold, one.other):
                probes[one.id, person] = antecedent_probe(subject.lm, one, person)
        except Unscorable as error:
            reasons[one.id] = error.reason
    read = subject.read(probes.values(), "antecedents")
    nan = float("nan")
    return [
        CoreferenceAnswer(one, nan, nan, reasons[one.id])
        if one.id in reasons
        else CoreferenceAnswer(
            one, _score(read, probes[one.id, one.gold]), _score(read, probes[one.id, one.other])
        )
        for one in riddles
    ]


def _score(read: Readings, probe: Probe) -> float:
    return float(read[probe].logprobs.mean())


def antecedent_probe(lm: Lm, one: CoreferenceItem, person: str) -> Probe:
    """The question whether the pronoun means this person."""
    before = f'{one.text} "{one.pronoun}" refers to the '
    text = f"{before}{person}."
    encoded, places = lm.encode(text), lm.token_positions(text, len(before), len(before) + len(person))
    if not places:
        raise Unscorable(f"the tokenizer finds no token in {person!r}")
    return _probe(lm, encoded.ids, places)


def pronoun_preferences(
    subject: Session, couples: Sequence[tuple[CoreferenceItem, CoreferenceItem]]
) -> list[PronounPreference]:
    """Every couple of a pro- and an anti-stereotyped sentence asked by `pronoun`."""
    asked: list[tuple[Probe, Probe] | str] = []
    for pro, anti in couples:
        try:
            asked.append(_pronouns(subject.lm, pro, anti))
        except Unscorable as error:
            asked.append(error.reason)
    read = subject.read([probe for both in asked if not isinstance(both, str) for probe in both], "pronouns")
    found = []
    for (pro, _), both in zip(couples, asked, strict=True):
        if isinstance(both, str):
            found.append(PronounPreference(pro, float("nan"), both))
        else:
            fits, other = (float(read[probe].logprobs.sum()) for probe in both)
            found.append(PronounPreference(pro, fits - other))
    return found


def pro_anti_pairs(riddles: Sequence[CoreferenceItem]) -> list[tuple[CoreferenceItem, CoreferenceItem]]:
    """The pro- and the anti-stereotyped sentence that share an id but for its last part."""
    by_id: dict[str, dict[str, CoreferenceItem]] = {}
    for one in riddles:
        by_id.setdefault(one.id.rpartition("/")[0], {})[one.stereotype] = one
    return [(both["pro"], both["anti"]) for both in by_id.values() if {"pro", "anti"} <= both.keys()]


def accuracy_gap(answers: Sequence[CoreferenceAnswer], *, seed: int, label: str) -> AccuracyGap:
    """Accuracy by side, and its difference, over the couples of which both sides could be asked."""
    right = {one.riddle.id: one.right for one in answers}
    pairs = pro_anti_pairs([one.riddle for one in answers])
    both = np.array([(right[pro.id], right[anti.id]) for pro, anti in pairs]).reshape(-1, 2)
    kept = both[np.isfinite(both).all(axis=1)]
    pro, anti = kept[:, 0], kept[:, 1]
    changes = 100 * (pro - anti)
    interval = mean_interval(changes, rng=generator(seed, f"{label}/gap"))
    p = mcnemar_p(cross_tabulate(pro == 1, anti == 1), exact=True) if kept.size else None
    return AccuracyGap(
        _accuracy(pro, seed, f"{label}/pro"),
        _accuracy(anti, seed, f"{label}/anti"),
        Value(mean(changes), interval.low, interval.high, interval.method),
        p,
        len(kept),
        int((kept == 0.5).sum()),
        len(both) - len(kept),
    )


def preference_rate(found: Sequence[PronounPreference], *, seed: int, label: str) -> tuple[Value, int]:
    """Percent of sentences in which the pronoun that fits the stereotype is likelier; ties half. And n."""
    values = np.array([one.difference for one in found if not one.reason])
    return _accuracy(np.sign(values) / 2 + 0.5, seed, label), int(values.size)


def _accuracy(right: Floats, seed: int, label: str) -> Value:
    if not right.size:
        return Value(float("nan"), float("nan"), float("nan"), "nothing could be asked")
    counts = HitCounts(right, np.ones_like(right))
    tied = bool(((right != 0) & (right != 1)).any())
    interval = (
        mean_interval(100 * right, rng=generator(seed, label))
        if tied
        else share_interval(counts, rng=generator(seed, label))
    )
    return Value(counts.share, interval.low, interval.high, interval.method)


def _pronouns(lm: Lm, pro: CoreferenceItem, anti: CoreferenceItem) -> tuple[Probe, Probe]:
    if pro.groups.get("pronouns", "1") != "1":
        raise Unscorable("a second pronoun gives the gender away")
    ends = [(one.text[: one.at[0]], one.text[one.at[1] :]) for one in (pro, anti)]
    if ends[0] != ends[1]:
        raise Unscorable("the two sentences differ in more than the pronoun")
    both = [(lm.encode(one.text), lm.token_positions(one.text, *one.at)) for one in (pro, anti)]
    if lm.kind == "causal":
        first, second = (_probe(lm, encoded.ids, encoded.content) for encoded, _ in both)
        return first, second
    (mine, at), (theirs, there) = both
    if len(at) != 1 or at != there:
        raise Unscorable("a pronoun is not one token")
    (place,) = at
    reads = [((place, encoded.ids[place]),) for encoded in (mine, theirs)]
    return Probe(mine.ids, reads[0], at), Probe(mine.ids, reads[1], at)


def _probe(lm: Lm, ids: tuple[int, ...], places: Sequence[int]) -> Probe:
    """Read these tokens: hidden together, or of a causal model from what comes before."""
    if lm.kind == "causal":
        return Probe(ids, tuple((place - 1, ids[place]) for place in places if place))
    return Probe(ids, tuple((place, ids[place]) for place in places), tuple(places))
