"""Flagged sentences as estimates, sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.corpus.count_findings import ProfessionCounts, profession_counts, scale_value
from unmask.corpus.counting import GROUPS
from unmask.corpus.flags import FlagCounts, FlaggedSentence, Flagger
from unmask.corpus.ratios import word_share
from unmask.data.documents import Problems
from unmask.findings import Finding, Table
from unmask.stats.shares import HitCounts, share_interval

MEASURE = "corpus-flag"
SHOWN = 15  # attributes in a table
EXAMPLES = 5  # sentences on the page
LONGEST = 300  # characters of a sentence on the page


@dataclass(frozen=True, slots=True)
class FlagSummary:
    """What is computed from the flagged sentences of a corpus."""

    flagger: Flagger
    counts: FlagCounts
    rate: Value  # flagged sentences per word
    stereotype: Value  # share of sentences that follow the stereotype among those that follow it or go against it
    attributes: tuple[ProfessionCounts, ...]
    examples: tuple[FlaggedSentence, ...]
    problems: Problems

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two groups."""
        return self.flagger.counter.terms.names


def summarize_flags(
    flagger: Flagger, counts: FlagCounts, examples: Sequence[FlaggedSentence], problems: Problems, *, seed: int = 0
) -> FlagSummary:
    """Shares with intervals over documents."""
    unit = "groups of documents" if counts.documents > GROUPS else "documents"
    rows = counts.by_group()
    decided = HitCounts.of(zip(rows[:, 0].tolist(), rows[:, :2].sum(1).tolist(), strict=True))
    by_words = np.stack([rows[:, 2], rows[:, 2], rows[:, 3]], axis=1)[rows[:, 3] > 0]
    share = Value(np.nan, method="no sentence with an expected group")
    if decided.trials.size:
        share = scale_value(share_interval(decided, rng=generator(seed, "stereotype"), unit=unit), 0.01)
    return FlagSummary(
        flagger,
        counts,
        word_share(by_words, 0, seed=seed, unit=unit),
        share,
        profession_counts(flagger.counter, counts.attributes),
        tuple(examples),
        problems,
    )


def flag_estimates(summary: FlagSummary) -> Iterator[Estimate]:
    """The rate of flagged sentences, the share that follows the stereotype, and each attribute's first-group share."""
    about = {"measure": MEASURE, "data": summary.flagger.counter.terms.source}
    stereotype, counter, _, words = summary.counts.totals
    rate = scale_value(summary.rate, 1000)
    yield Estimate.of(rate, **about, statistic="per-1000-words", n=words)
    yield Estimate.of(summary.stereotype, **about, statistic="stereotype-share", n=stereotype + counter)
    for each in summary.attributes:
        statistic = f"{summary.names[0]}-share"
        yield Estimate.of(each.share, **about, group=f"attribute={each.profession}", statistic=statistic, n=each.both)


def flag_finding(summary: FlagSummary, written: str) -> Finding:
    """How many sentences, of which attributes, and the first of them; `written` says where all are."""
    return Finding(tuple(_answers(summary, written)), tuple(_tables(summary)), (), tuple(_notes(summary)))


def _answers(summary: FlagSummary, written: str) -> Iterator[str]:
    stereotype, counter, flagged, words = summary.counts.totals
    yield (
        f"{flagged:,} sentences have a word of a group and an attribute, among {words:,} words in "
        f"{summary.counts.documents:,} documents{written}."
    )
    if stereotype + counter:
        share = summary.stereotype
        ends = f"95%: {100 * share.low:.1f} to {100 * share.high:.1f}, " if share.has_interval else ""
        yield (
            f"{stereotype:,} follow the stereotype and {counter:,} go against it: {100 * share.value:.1f}% "
            f"({ends}{share.method})."
        )


def _tables(summary: FlagSummary) -> Iterator[Table]:
    first, second = summary.names
    expected = summary.flagger.expected
    yield Table(
        "Attributes",
        ("attribute", "said of", "sentences", f"with {first}", f"with {second}", f"{first} share"),
        tuple(
            (
                each.profession,
                summary.names[expected[each.profession]] if each.profession in expected else None,
                *(each.sentences, each.first, each.second, each.share),
            )
            for each in summary.attributes[:SHOWN]
        ),
        "Sentences with the attribute and a word of a group; with words of both it counts for both. Intervals: 95%, "
        "Wilson, as if sentences were independent. The JSON has every attribute.",
    )
    if summary.examples:
        yield Table(
            "First sentences",
            ("file", "document", "offset", "sentence", first, second, "attributes", "reading"),
            tuple(
                (
                    *(each.file, each.document, each.offset),
                    each.text if len(each.text) <= LONGEST else f"{each.text[:LONGEST]}…",
                    *(", ".join(words) for words in (each.terms.first, each.terms.second, each.terms.attributes)),
                    each.terms.reading or None,
                )
                for each in summary.examples
            ),
            "Documents count from 0 in their file, characters from 0 in their document. Mixed: words of both groups, "
            "or attributes said of both.",
        )


def _notes(summary: FlagSummary) -> Iterator[str]:
    yield from summary.flagger.counter.terms.notes
    if summary.problems.count:
        yield f"{summary.problems.count:,} problems while reading; the first: {summary.problems.first[0]}"
    yield "flagged sentences are there to be read: words that occur together do not make a sentence biased"
