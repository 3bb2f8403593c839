"""`accuracy`: does the model predict the tokens a measure reads? (Kaneko & Bollegala 2022, Table 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unmask.audit.session import Session
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Dataset
from unmask.diagnose import token_accuracy
from unmask.diagnose.common import unit_groups
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.diagnose.token_accuracy import AUL, COUNTING_RULES, CPS, PLL, SSS, SSS_TOKENS, CountingRule, PairedCounts
from unmask.findings import Cell, Finding, Table, charts
from unmask.measures import select_measures
from unmask.stats.shares import HitCounts, difference_interval, difference_test, share_interval

SAME_TOKENS = ((AUL, CPS), (AUL, SSS_TOKENS), (AUL, PLL))
READ_ALIKE = {"aula": "aul", "aula-normalised": "aul", "cps-exact": "cps", "sss-diagonal": "sss"}
WORDING = {
    AUL: "of the content tokens are the top prediction when nothing is masked (aul)",
    CPS: "of the shared tokens when masked one at a time (cps)",
    SSS: "of the pairs have a candidate predicted as a whole when the changed tokens are masked (sss)",
}


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """Accuracy by counting rule, two rules compared on the same tokens, and sub-token counts."""

    counts: Mapping[CountingRule, HitCounts]
    shares: Mapping[CountingRule, Value]
    versus: Mapping[tuple[CountingRule, CountingRule], PairedCounts]
    subtokens: tuple[int, int, int, int]


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> AccuracyResult:
    """Run the measures' probes and count the tokens that are the model's top prediction."""
    chosen = select_measures(settings.measures, session.lm.kind)
    named = {READ_ALIKE.get(measure.name, measure.name) for measure in chosen}
    rules = [rule for rule in COUNTING_RULES if not named or rule.measure in named]
    session.lm.prime([text for item in data.items for text in (item.more, item.less)])
    plans = {rule: token_accuracy.plan_probes(rule, data.items, session.lm) for rule in rules}
    asked = [probes for plan in plans.values() for sides in plan.values() for probes in sides.values()]
    readings = session.read((probe for probes in asked for probe in probes), f"{data.card.name}: accuracy")
    hits = {rule: token_accuracy.hits_by_pair(rule, plan, readings) for rule, plan in plans.items()}
    groups = unit_groups(data, settings)
    counts = {rule: token_accuracy.count_hits(pairs, groups) for rule, pairs in hits.items()}
    return AccuracyResult(
        counts,
        {rule: share_interval(n, rng=generator(settings.seed, rule.stream)) for rule, n in counts.items()},
        {
            (a, b): token_accuracy.paired_counts(hits[a], hits[b], groups)
            for a, b in SAME_TOKENS
            if a in hits and b in hits
        },
        token_accuracy.count_subtokens(data.items, session.lm),
    )


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Accuracy by measure beside the published one; measures on the same tokens; sub-token counts."""
    accuracies = _accuracy_table(observations)
    if not accuracies.rows:
        read = ", ".join(dict.fromkeys(rule.measure for rule in COUNTING_RULES))
        return Finding((f"none of the requested measures is supported; accuracy supports {read}",), ())
    tables = (accuracies, _versus_table(observations, settings.seed), _subtoken_table(observations))
    alt = "Share of tokens that are the model's top prediction, by measure and by what is counted."
    points = [
        (f"{rule.measure}: {rule.counted}", each.result.shares[rule], " · ".join(each.names))
        for rule in COUNTING_RULES
        for each in observations
        if rule in each.result.shares
    ]
    plots = charts.interval_plots("accuracy", "Token prediction accuracy", alt, points, axis="accuracy, %")
    return Finding(tuple(map(_answer, observations)), tuple(table for table in tables if table.rows), plots)


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The accuracy by counting rule, the first of a measure being its headline; differences on the same tokens."""
    headlines = {rule.measure: rule for rule in reversed(COUNTING_RULES)}
    every = []
    for each in observations:
        for rule, share in each.result.shares.items():
            trials = each.result.counts[rule].trials
            group = "all" if rule is headlines[rule.measure] else f"counted={rule.counted}"
            numbers = {"n": int(trials.sum()), "unscored": len(each.data.items) - trials.size}
            every.append(each.estimate(f"accuracy/{rule.measure}", "accuracy", share, group=group, **numbers))
        for (first, second), both in each.result.versus.items():
            what = f"accuracy/{first.measure}/{second.measure}"
            counts = {"n": both.table.n, "p": difference_test(both.first, both.second)}
            gap = _difference(first, second, both, settings.seed)
            every.append(each.estimate(what, "accuracy-difference", gap, null=0.0, **counts))
    return every


def _difference(first: CountingRule, second: CountingRule, both: PairedCounts, seed: int) -> Value:
    """The difference of two rules' accuracies on the same tokens, in points."""
    names = f"{first.measure} − {second.measure}"
    return difference_interval(both.first, both.second, rng=generator(seed, names))


def _accuracy_table(observations: Observations) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        model, data = observation.names
        for rule, counts in observation.result.counts.items():
            paper = observation.published_value("accuracy", measure=rule.measure, statistic="accuracy")
            pairs = counts.trials.size
            numbers = int(counts.trials.sum()), pairs, len(observation.data.items) - pairs
            accuracy = observation.result.shares[rule]
            rows.append((model, data, rule.measure, rule.counted, accuracy, *numbers, paper))
    return Table(
        "Token prediction accuracy, %",
        ("model", "data", "measure", "counted", "accuracy", "n", "pairs", "left out", "published"),
        tuple(rows),
        "A prediction is right if the original token is the model's top prediction. n counts tokens, or "
        "pairs where a whole candidate must be predicted. Left out: pairs that cannot be read, and those with a "
        "special token of the model ([MASK]) written in them. Intervals are over the units of the data (writers, "
        "target terms, …; else pairs), as neither tokens of a pair nor pairs of a unit are independent. The published "
        "code counts AUL over all tokens and SSS over changed tokens, the "
        "paper describes SSS by whole candidates: its number is shown beside both.",
    )


def _versus_table(observations: Observations, seed: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        for (first, second), both in observation.result.versus.items():
            names, tokens = f"{first.measure} − {second.measure}", second.counted.partition(",")[0]
            gap = _difference(first, second, both, seed)
            counts = (both.table.n, both.table.first, both.table.second, difference_test(both.first, both.second))
            rows.append((*observation.names, names, tokens, both.first.share, both.second.share, gap, *counts))
    first_columns = ("model", "data", "measures", "tokens", "first", "second", "difference")
    return Table(
        "Two measures on the same tokens",
        (*first_columns, "n", "only first right", "only second right", "p"),
        tuple(rows),
        "Accuracies in %, their difference in points with an interval over the units of the data. p: Student's t over "
        "the same units.",
    )


def _subtoken_table(observations: Observations) -> Table:
    rows = []
    for observation in observations:
        model, data = observation.names
        paper = observation.published_value("accuracy", measure="sss", statistic="equal-subtokens")
        rows.append((model, data, *observation.result.subtokens, None if paper is None else int(paper)))
    columns = ("model", "data", "pairs", "equally many", "one masked input", "empty span")
    return Table(
        "Sub-tokens in which the sentences of a pair differ",
        (*columns, "published equally many"),
        tuple(rows),
        "Where masking the changed tokens turns both sentences into the same input, SSS compares two "
        "candidates with one prediction; otherwise each is predicted in an input with its own number of "
        "masks. With an empty span there is nothing to predict, and SSS leaves the pair out.",
    )


def _answer(observation: DiagnosisObservation) -> str:
    counts, shares = observation.result.counts, observation.result.shares
    parts = [
        f"{token_accuracy.format_value(shares[rule], '%')} {wording}"
        for rule, wording in WORDING.items()
        if rule in counts and counts[rule].trials.size
    ]
    return f"{observation.where}: {'; '.join(parts) or 'no pair could be read'}"
