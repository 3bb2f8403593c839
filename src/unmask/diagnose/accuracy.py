"""`accuracy`: does the model predict the tokens a measure reads? (Kaneko & Bollegala 2022, Table 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unmask.audit.session import Session
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Dataset
from unmask.diagnose.common import interval_row
from unmask.diagnose.published import published_value
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.diagnose.token_accuracy import (
    AUL,
    COUNTING_RULES,
    CPS,
    PLL,
    SSS,
    SSS_TOKENS,
    CountingRule,
    PairedCounts,
    SubtokenCounts,
    count_hits,
    count_subtokens,
    format_value,
    hits_by_pair,
    paired_counts,
    plan_probes,
    pooled_share,
    share_difference,
)
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.measures import select_measures
from unmask.stats.mcnemar import EXACT_BELOW, mcnemar_p
from unmask.stats.pooled import HitCounts

SAME_TOKENS = ((AUL, CPS), (AUL, SSS_TOKENS), (AUL, PLL))
NOTHING_READ = "no pair could be read"
READ_ALIKE = {"aula": "aul", "aula-normalised": "aul", "cps-exact": "cps", "sss-diagonal": "sss"}


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """Accuracy by counting rule, two rules compared on the same tokens, and sub-token counts."""

    counts: Mapping[CountingRule, HitCounts]
    shares: Mapping[CountingRule, Value]
    versus: Mapping[tuple[CountingRule, CountingRule], PairedCounts]
    subtokens: SubtokenCounts


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> AccuracyResult:
    """Run the measures' probes and count the tokens that are the model's top prediction."""
    rules = _rules(settings, session)
    session.lm.prime([text for item in data.items for text in (item.more, item.less)])
    plans = {rule: plan_probes(rule, data.items, session.lm) for rule in rules}
    probes = (
        probe for plan in plans.values() for sides in plan.values() for ask in sides.values() for probe in ask
    )
    readings = session.read(probes, f"{data.card.name}: accuracy")
    hits_by_rule = {rule: hits_by_pair(rule, plan, readings) for rule, plan in plans.items()}
    counts = {rule: count_hits(hits.values()) for rule, hits in hits_by_rule.items()}
    return AccuracyResult(
        counts,
        {rule: pooled_share(count, settings.seed, rule.counted) for rule, count in counts.items()},
        {
            (a, b): paired_counts(hits_by_rule[a], hits_by_rule[b])
            for a, b in SAME_TOKENS
            if a in hits_by_rule and b in hits_by_rule
        },
        count_subtokens(data.items, session.lm),
    )


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Accuracy by measure beside the published one; measures on the same tokens; sub-token counts."""
    rows = tuple(row for observation in observations for row in _accuracies(observation))
    if not rows:
        read = ", ".join(dict.fromkeys(way.measure for way in COUNTING_RULES))
        return Finding((f"none of the requested measures is supported; accuracy supports {read}",), ())
    pairs = tuple(row for observation in observations for row in _comparisons(observation, settings.seed))
    tables = [_accuracy_table(rows)]
    tables += [_versus_table(pairs)] if pairs else []
    tables += [_subtoken_table(observations)]
    return Finding(tuple(map(_answer, observations)), tuple(tables), (_plot(observations),))


def estimates(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> list[Estimate]:
    """The accuracy by counting rule; the first rule of a measure is its headline."""
    headlines = {rule.measure: rule for rule in reversed(COUNTING_RULES)}
    return [
        observation.estimate(
            f"accuracy/{rule.measure}",
            "accuracy",
            share,
            group="all" if rule is headlines[rule.measure] else f"counted={rule.counted}",
            n=int(observation.result.counts[rule].trials.sum()),
            unscored=_left_out(observation, rule),
        )
        for observation in observations
        for rule, share in observation.result.shares.items()
    ]


def _rules(settings: DiagnosisSettings, session: Session) -> list[CountingRule]:
    """Counting rules of the requested measures; all if none are requested."""
    named = {
        READ_ALIKE.get(measure.name, measure.name)
        for measure in select_measures(settings.measures, session.lm.kind)
    }
    return [rule for rule in COUNTING_RULES if not named or rule.measure in named]


def _left_out(observation: DiagnosisObservation, rule: CountingRule) -> int:
    """Number of pairs that cannot be read by a rule."""
    return len(observation.data.items) - int(observation.result.counts[rule].trials.size)


def _accuracies(observation: DiagnosisObservation) -> Iterator[tuple[Cell, ...]]:
    model, data = observation.names
    for rule, counts in observation.result.counts.items():
        paper = published_value("accuracy", model, data=data, measure=rule.measure, statistic="accuracy")
        numbers = int(counts.trials.sum()), counts.trials.size, _left_out(observation, rule)
        accuracy = observation.result.shares[rule]
        yield (model, data, rule.measure, rule.counted, accuracy, *numbers, paper)


def _accuracy_table(rows: tuple[tuple[Cell, ...], ...]) -> Table:
    return Table(
        "Token prediction accuracy, %",
        ("model", "data", "measure", "counted", "accuracy", "n", "pairs", "left out", "published"),
        rows,
        "A prediction is right if the original token is the model's top prediction. n counts tokens, or "
        "pairs where a whole candidate must be predicted. Intervals are over pairs, as tokens of a pair are "
        "not independent. The published code counts AUL over all tokens and SSS over changed tokens, the "
        "paper describes SSS by whole candidates: its number is shown beside both.",
    )


def _comparisons(observation: DiagnosisObservation, seed: int) -> Iterator[tuple[Cell, ...]]:
    for (first, second), both in observation.result.versus.items():
        names = f"{first.measure} − {second.measure}"
        tokens = second.counted.partition(",")[0]
        gap = share_difference(both.first, both.second, seed, names)
        shares = (both.first.share, both.second.share, gap)
        counts = (both.table.n, both.table.first, both.table.second)
        yield (*observation.names, names, tokens, *shares, *counts, mcnemar_p(both.table))


def _versus_table(rows: tuple[tuple[Cell, ...], ...]) -> Table:
    return Table(
        "Two measures on the same tokens",
        (
            *("model", "data", "measures", "tokens", "first", "second", "difference"),
            *("n", "only first right", "only second right", "p"),
        ),
        rows,
        "Accuracies in %, their difference in points with an interval over pairs. p by McNemar's test, exact "
        f"where fewer than {EXACT_BELOW} tokens are right by one measure only; it treats tokens as "
        "independent, so where it and the interval disagree, trust the interval.",
    )


def _subtoken_table(observations: Sequence[DiagnosisObservation]) -> Table:
    rows = []
    for observation in observations:
        (model, data), subtokens = observation.names, observation.result.subtokens
        paper = published_value("accuracy", model, data=data, measure="sss", statistic="equal-subtokens")
        counts = (subtokens.pairs, subtokens.equal, subtokens.shared, subtokens.empty)
        rows.append((model, data, *counts, None if paper is None else int(paper)))
    return Table(
        "Sub-tokens in which the sentences of a pair differ",
        (
            *("model", "data", "pairs", "equally many", "one masked input", "empty span"),
            "published equally many",
        ),
        tuple(rows),
        "Where masking the changed tokens turns both sentences into the same input, SSS compares two "
        "candidates with one prediction; otherwise each is predicted in an input with its own number of "
        "masks. With an empty span there is nothing to predict, and SSS leaves the pair out.",
    )


def _answer(observation: DiagnosisObservation) -> str:
    words = {
        AUL: "of the content tokens are the top prediction when nothing is masked (aul)",
        CPS: "of the shared tokens when masked one at a time (cps)",
        SSS: "of the pairs have a candidate predicted as a whole when the changed tokens are masked (sss)",
    }
    parts = [
        f"{format_value(observation.result.shares[rule], '%')} {wording}"
        for rule, wording in words.items()
        if (counts := observation.result.counts.get(rule)) and counts.trials.size
    ]
    return f"{observation.where}: {'; '.join(parts) or NOTHING_READ}"


def _plot(observations: Sequence[DiagnosisObservation]) -> Plot:
    rows = [
        interval_row(f"{rule.measure}: {rule.counted}", share, " · ".join(observation.names))
        for rule in COUNTING_RULES
        for observation in observations
        if (share := observation.result.shares.get(rule))
    ]
    alt = "Share of tokens that are the model's top prediction, by measure and by what is counted."
    return Plot("accuracy", "Token prediction accuracy", alt, charts.intervals(rows, axis="accuracy, %"))


ACCURACY = Diagnosis(
    name="accuracy",
    title="Token prediction accuracy",
    question="Does the model predict the tokens that a measure reads?",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    order=1,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
)
