"""`accuracy`: does the model predict the tokens a measure reads? (Kaneko & Bollegala 2022, Table 1).

A token is a hit if it is the model's top prediction where the measure reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.core.errors import Unscorable
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Dataset, Encoded, Pair, Probe, Probes, Reader
from unmask.diagnose.scores import Groups, results, unit_groups
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Table
from unmask.measures import find, select_measures
from unmask.measures.spans import align_pair

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.models import TextModel
    from unmask.models.batches import Readings
    from unmask.stats.paired import ContingencyTable
    from unmask.stats.shares import HitCounts

READ_ALIKE = {"aula": "aul", "aula-normalised": "aul", "cps-exact": "cps", "sss-diagonal": "sss"}
ACCURACIES = (
    "A prediction is right if the original token is the model's top prediction. n counts tokens, or "
    "pairs where a whole candidate must be predicted. Left out: pairs that cannot be read, and those with a "
    "special token of the model ([MASK]) written in them. Intervals are over the units of the data (writers, "
    "target terms, …; else pairs), as neither tokens of a pair nor pairs of a unit are independent. The published "
    "code counts AUL over all tokens and SSS over changed tokens, the "
    "paper describes SSS by whole candidates: its number is shown beside both."
)
SAME = (
    "Accuracies in %, their difference in points with an interval over the units of the data. p: Student's t over "
    "the same units."
)
SUBTOKENS = (
    "Where masking the changed tokens turns both sentences into the same input, SSS compares two "
    "candidates with one prediction; otherwise each is predicted in an input with its own number of "
    "masks. With an empty span there is nothing to predict, and SSS leaves the pair out."
)
Hits = dict[tuple[str, int], bool]  # of one pair, by side and position


@dataclass(frozen=True, slots=True)
class CountingRule:
    """A measure, which of its predictions are counted, and the probes that read them."""

    measure: str
    counted: str
    probes: Callable[[Pair, Reader], Probes]
    stream: str  # label of its random stream: a new one would change published intervals
    whole: bool = False  # one trial per pair: is the whole span of either sentence predicted?


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Hits of two counting rules on the tokens both read: by pair, and as a contingency table."""

    first: HitCounts
    second: HitCounts
    table: ContingencyTable


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """Accuracy by counting rule, two rules compared on the same tokens, and sub-token counts."""

    counts: Mapping[CountingRule, HitCounts]
    shares: Mapping[CountingRule, Value]
    versus: Mapping[tuple[CountingRule, CountingRule], PairedCounts]
    subtokens: Mapping[str, int]


def every_token_probe(sentence: Encoded) -> Probe:
    """Mask nothing; read every token at its own position, including special tokens."""
    return Probe(sentence.ids, tuple(enumerate(sentence.ids)))


def _all_probes(pair: Pair, lm: Reader) -> Probes:
    return {side: (every_token_probe(lm.encode(getattr(pair, side))),) for side in ("more", "less")}


CPS = CountingRule("cps", "shared tokens, each masked alone", find("cps").probes, "shared tokens, each hidden alone")
PLL = CountingRule("pll", "content tokens, each masked alone", find("pll").probes, "content tokens, each hidden alone")
AUL = CountingRule("aul", "content tokens, nothing masked", find("aul").probes, "content tokens, nothing hidden")
AUL_ALL = CountingRule("aul", "all tokens, special ones too", _all_probes, "all tokens, special ones too")
SSS = CountingRule(
    "sss",
    "pairs, a whole candidate predicted",
    find("sss-diagonal").probes,
    "pairs, a whole candidate guessed",
    whole=True,
)
SSS_TOKENS = CountingRule(
    "sss", "changed tokens, masked together", find("sss-diagonal").probes, "changed tokens, hidden together"
)
COUNTING_RULES = (CPS, PLL, AUL, AUL_ALL, SSS, SSS_TOKENS)
SAME_TOKENS = ((AUL, CPS), (AUL, SSS_TOKENS), (AUL, PLL))
HEADLINES = (CPS, PLL, AUL, SSS)  # the first rule of every measure
WORDING = {
    AUL: "content tokens that are the top prediction when nothing is masked (aul):",
    CPS: "shared tokens that are the top prediction when masked one at a time (cps):",
    SSS: "pairs with a candidate predicted as a whole when the changed tokens are masked (sss):",
}


def observe(session: Session, data: Dataset, options: UnitOptions) -> AccuracyResult:
    """Run the measures' probes and count the tokens that are the model's top prediction."""
    from unmask.core.seeds import generator
    from unmask.stats.shares import share_interval

    chosen = select_measures(options.measures, session.lm.kind)
    named = {READ_ALIKE.get(measure.name, measure.name) for measure in chosen}
    rules = [rule for rule in COUNTING_RULES if not named or rule.measure in named]
    session.lm.prime([text for item in data.items for text in (item.more, item.less)])
    plans = {rule: plan_probes(rule, data.items, session.lm) for rule in rules}
    asked = [probes for plan in plans.values() for sides in plan.values() for probes in sides.values()]
    readings = session.read((probe for probes in asked for probe in probes), f"{data.card.name}: accuracy")
    hits = {rule: hits_by_pair(rule, plan, readings) for rule, plan in plans.items()}
    groups = unit_groups(data, independent=options.independent)
    counts = {rule: count_hits(pairs, groups) for rule, pairs in hits.items()}
    return AccuracyResult(
        counts,
        {rule: share_interval(n, rng=generator(options.seed, rule.stream)) for rule, n in counts.items()},
        {(a, b): paired_counts(hits[a], hits[b], groups) for a, b in SAME_TOKENS if a in hits and b in hits},
        count_subtokens(data.items, session.lm),
    )


def plan_probes(rule: CountingRule, items: Iterable[Pair], lm: TextModel) -> dict[str, Probes]:
    """Probes of every pair under a rule; without unscorable pairs and those with a special token written in them."""
    from unmask.audit.scoring import special_token_in

    plan = {}
    for item in items:
        with suppress(Unscorable):
            if not special_token_in(item, lm):
                plan[item.id] = rule.probes(item, lm)
    return plan


def hits_by_pair(rule: CountingRule, plan: Mapping[str, Probes], readings: Readings) -> dict[str, Hits]:
    """By pair, which predictions are right.

    Two candidates with the same masked input are compared with the same prediction, as equal inputs have
    equal outputs.
    """
    by_pair: dict[str, Hits] = {}
    for item, sides in plan.items():
        hits: Hits = {
            (side, position): bool(rank == 0)
            for side, (probe,) in sides.items()
            for (position, _), rank in zip(probe.reads, readings[probe].ranks, strict=True)
        }
        whole = [all(hit for (own, _), hit in hits.items() if own == side) for side in sides]
        by_pair[item] = {("either", 0): any(whole)} if rule.whole else hits
    return by_pair


def count_hits(pairs: Mapping[str, Hits], groups: Groups) -> HitCounts:
    """Hits and trials of each pair, and the units of the pairs by their group columns."""
    from unmask.stats.shares import HitCounts

    counts = ((sum(hits.values()), len(hits)) for hits in pairs.values())
    return HitCounts.of(counts, [groups[item] for item in pairs])


def paired_counts(first: Mapping[str, Hits], second: Mapping[str, Hits], groups: Groups) -> PairedCounts:
    """Compare two rules on the tokens both read."""
    import numpy as np

    from unmask.stats.paired import cross_tabulate

    both = {item: [key for key in hits if key in second.get(item, {})] for item, hits in first.items()}
    first_hits, second_hits = (
        {item: {key: hits_of[item][key] for key in keys} for item, keys in both.items() if keys}
        for hits_of in (first, second)
    )
    flat = [
        np.array([hit for hits in pairs.values() for hit in hits.values()], dtype=np.bool_)
        for pairs in (first_hits, second_hits)
    ]
    return PairedCounts(count_hits(first_hits, groups), count_hits(second_hits, groups), cross_tabulate(*flat))


def count_subtokens(items: Iterable[Pair], lm: TextModel) -> dict[str, int]:
    """Pairs: all, with equally many changed sub-tokens, alike when these are masked, with none on a side."""
    from unmask.audit.scoring import special_token_in

    pairs = equal = shared = empty = 0
    for item in items:
        if special_token_in(item, lm):
            continue
        try:
            more, less, spans = align_pair(item, lm)
        except Unscorable:
            continue
        pairs += 1
        equal += len(spans.changed[0]) == len(spans.changed[1])
        sides = zip((more, less), spans.changed, strict=True)
        masked = [[-1 if at in changed else token for at, token in enumerate(s.ids)] for s, changed in sides]
        shared += masked[0] == masked[1]
        empty += not all(spans.changed)
    return {"pairs": pairs, "equally many": equal, "one masked input": shared, "empty span": empty}


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """Accuracy by measure beside the published one; measures on the same tokens; sub-token counts."""
    from unmask.findings import charts, sentences

    shares = list(_accuracies(observations))
    if not shares:
        read = ", ".join(dict.fromkeys(rule.measure for rule in COUNTING_RULES))
        return Conclusion(Finding((f"none of the requested measures is supported; accuracy supports {read}",), ()))
    versus = list(_differences(observations, options.seed))
    alt = "Share of tokens that are the model's top prediction, by measure and by what is counted."
    points = [
        (f"{rule.measure}: {rule.counted}", share, " · ".join(observation.names))
        for rule in COUNTING_RULES
        for observation, of_share, share in shares
        if of_share is rule
    ]
    return Conclusion(
        Finding(
            tuple(
                sentences.share(f"{each.where}: {WORDING[rule]}", share)
                if share.n
                else f"{each.where}: no pair could be read"
                for each, rule, share in shares
                if rule in WORDING
            ),
            (
                Table.of("Token prediction accuracy, %", (_accuracy_record(*each) for each in shares), ACCURACIES),
                Table.of("Two measures on the same tokens", (_same_record(*each) for each in versus), SAME),
                Table.of(
                    "Sub-tokens in which the sentences of a pair differ", map(_subtoken_record, observations), SUBTOKENS
                ),
            ),
            charts.interval_plots("accuracy", "Token prediction accuracy", alt, points, axis="accuracy, %"),
        ),
        (*(share for *_, share in shares), *(difference for *_, difference in versus)),
    )


def _accuracies(observations: Observations) -> Iterator[tuple[DiagnosisObservation, CountingRule, Estimate]]:
    """The accuracy by counting rule, the first of a measure being its headline."""
    for observation, rule, share in results(observations, "shares"):
        trials = observation.result.counts[rule].trials
        group = "all" if rule in HEADLINES else f"counted={rule.counted}"
        numbers = {"n": int(trials.sum()), "unscored": len(observation.data.items) - trials.size}
        yield (
            observation,
            rule,
            observation.estimate(f"accuracy/{rule.measure}", "accuracy", share, group=group, **numbers),
        )


def _differences(
    observations: Observations, seed: int
) -> Iterator[tuple[DiagnosisObservation, tuple[CountingRule, CountingRule], Estimate]]:
    """The difference of two rules' accuracies on the same tokens, in points."""
    from unmask.core.seeds import generator
    from unmask.stats.shares import difference_interval, difference_test

    for observation, rules, both in results(observations, "versus"):
        first, second = (rule.measure for rule in rules)
        value = difference_interval(both.first, both.second, rng=generator(seed, f"{first} − {second}"))
        numbers = {"null": 0.0, "n": both.table.n, "p": difference_test(both.first, both.second)}
        yield (
            observation,
            rules,
            observation.estimate(f"accuracy/{first}/{second}", "accuracy-difference", value, **numbers),
        )


def _accuracy_record(observation: DiagnosisObservation, rule: CountingRule, share: Estimate) -> dict[str, Cell]:
    return {
        **observation.key,
        "measure": rule.measure,
        "counted": rule.counted,
        "accuracy": share,
        "n": share.n,
        "pairs": len(observation.data.items) - share.unscored,
        "left out": share.unscored,
        "published": observation.published_value("accuracy", measure=rule.measure, statistic="accuracy"),
    }


def _same_record(
    observation: DiagnosisObservation, rules: tuple[CountingRule, CountingRule], difference: Estimate
) -> dict[str, Cell]:
    first, second = rules
    both: PairedCounts = observation.result.versus[rules]
    return {
        **observation.key,
        "measures": f"{first.measure} − {second.measure}",
        "tokens": second.counted.partition(",")[0],
        "first": both.first.share,
        "second": both.second.share,
        "difference": difference,
        "n": difference.n,
        "only first right": both.table.first,
        "only second right": both.table.second,
        "p": difference.p,
    }


def _subtoken_record(observation: DiagnosisObservation) -> dict[str, Cell]:
    paper = observation.published_value("accuracy", measure="sss", statistic="equal-subtokens")
    published = None if paper is None else int(paper)
    return {**observation.key, **observation.result.subtokens, "published equally many": published}


ACCURACY = Diagnosis(
    name="accuracy",
    title="Token prediction accuracy",
    question="Does the model predict the tokens that a measure reads?",
    observe=observe,
    conclude=conclude,
    order=1,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
)
