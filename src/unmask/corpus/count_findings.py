"""The counts of a corpus: ratio, shares and professions as estimates, sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from scipy.stats import spearmanr

from unmask import data
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.types import Ints
from unmask.corpus.counting import GROUPS, CorpusCounts, TermCounter
from unmask.corpus.ratios import ilps, word_share
from unmask.corpus.terms import FEMININE
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_number
from unmask.stats.shares import wilson

MEASURE = "corpus-count"
SHOWN = 15  # most words of each set, and most professions, in a table
FEWEST = 10  # sentences with a word of either set that a profession needs to be plotted


@dataclass(frozen=True, slots=True)
class ProfessionCounts:
    """A profession: the sentences it occurs in, and those with a word of either set."""

    profession: str
    sentences: int
    first: int
    second: int
    women: float | None  # share of women in the occupation

    @property
    def both(self) -> int:
        """Sentences with a word of the first set and with one of the second; with both they count twice."""
        return self.first + self.second

    @property
    def share(self) -> Value:
        """The share of the first set."""
        if not self.both:
            return Value(NAN, method="no word of either set in its sentences")
        return scale_value(wilson(self.first, self.both), 0.01)


@dataclass(frozen=True, slots=True)
class CountSummary:
    """What is computed from the counts of a corpus."""

    counts: CorpusCounts
    counter: TermCounter
    unit: str  # what is resampled
    ratio: Value  # ILPS
    shares: tuple[Value, ...]  # of the two sets among all words
    professions: tuple[ProfessionCounts, ...]  # those that occur, most frequent first

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two sets."""
        return self.counter.terms.names

    @property
    def frequent_professions(self) -> list[ProfessionCounts]:
        """The professions with a known share of women and enough words, if the first set is feminine."""
        known = [each for each in self.professions if each.women is not None and each.both >= FEWEST]
        return known if self.names[0] == FEMININE else []

    @property
    def correlation(self) -> Estimate | None:
        """Spearman's ρ of the share of feminine words and of women over the professions."""
        known = self.frequent_professions
        if len(known) < 4:
            return None
        rho = spearmanr([each.share.value for each in known], [each.women or 0.0 for each in known])
        value = Value(float(rho.statistic), method="no interval")
        about = {"measure": MEASURE, "data": self.counter.terms.source, "statistic": "spearman"}
        return Estimate.of(value, **about, null=0.0, n=len(known), p=float(rho.pvalue))


def summarize(counts: CorpusCounts, counter: TermCounter, *, seed: int = 0) -> CountSummary:
    """ILPS, the shares of the two sets, and the professions in the same sentences."""
    unit = "groups of documents" if counts.documents > GROUPS else "documents"
    return CountSummary(
        counts,
        counter,
        unit,
        ilps(counts.groups, seed=seed, unit=unit),
        tuple(word_share(counts.groups, side, seed=seed, unit=unit) for side in (0, 1)),
        profession_counts(counter, counts.cooccurrences),
    )


def profession_counts(counter: TermCounter, cooccurrences: Ints) -> tuple[ProfessionCounts, ...]:
    """The professions, or other attributes, that occur, most frequent first."""
    women = {occupation.name: occupation.women for occupation in data.read("occupations")}
    together = zip(counter.terms.professions, cooccurrences.tolist(), strict=True)
    found = [
        ProfessionCounts(name, sentences, first, second, women.get(name))
        for name, (sentences, first, second) in together
        if sentences
    ]
    return tuple(sorted(found, key=lambda profession: -profession.sentences))


def count_estimates(summary: CountSummary) -> Iterator[Estimate]:
    """ILPS first, then the share of each set, the correlation over professions, and each profession.

    Their data are the sets of words, so that the same words can be compared in two corpora.
    """
    about = {"measure": MEASURE, "data": summary.counter.terms.source}
    documents, words = summary.counts.documents, summary.counts.words
    yield Estimate.of(summary.ratio, **about, statistic="ilps", null=0.0, n=documents)
    for name, share in zip(summary.names, summary.shares, strict=True):
        yield Estimate.of(share, **about, group=f"set={name}", statistic="word-share", n=words)
    if summary.correlation is not None:
        yield summary.correlation
    for each in summary.professions:
        group, statistic = f"profession={each.profession}", f"{summary.names[0]}-share"
        yield Estimate.of(each.share, **about, group=group, statistic=statistic, n=each.both)


def count_finding(summary: CountSummary, files: Sequence[str]) -> Finding:
    """ILPS, the words it is computed from, and the professions in the same sentences."""
    return Finding(
        tuple(_answers(summary)), tuple(_tables(summary, files)), tuple(_plots(summary)), tuple(_notes(summary))
    )


def _answers(summary: CountSummary) -> Iterator[str]:
    counts, names, ratio = summary.counts, summary.names, summary.ratio
    yield (
        f"{counts.set_total(0):,} {names[0]} and {counts.set_total(1):,} {names[1]} words among "
        f"{counts.words:,} in {counts.documents:,} documents."
    )
    if np.isfinite(ratio.value):
        times = float(np.exp(abs(ratio.value)))
        more, less = names if ratio.value >= 0 else names[::-1]
        ends = f"95%: {signed_number(ratio.low, 3)} to {signed_number(ratio.high, 3)}, {ratio.method}"
        yield (
            f"ILPS = ln(P_{names[0]} / P_{names[1]}) = {signed_number(ratio.value, 3)} "
            f"({ends if ratio.has_interval else ratio.method}): "
            f"for each {less} word there are {times:.2f} {more} ones."
        )
    else:
        yield f"ILPS: {ratio.method}."
    if (rho := summary.correlation) is not None:
        yield (
            f"Over {rho.n} professions the share of feminine words in sentences with a profession and "
            f"the share of women in it (US, 2020) correlate with Spearman's ρ = {signed_number(rho.value)} "
            f"(p = {rho.p:.2g})."
        )


def _tables(summary: CountSummary, files: Sequence[str]) -> Iterator[Table]:
    counts, counter, (first, second) = summary.counts, summary.counter, summary.names
    yield Table(
        title="Words of the two sets",
        columns=("set", "words found", "per 1,000 words", "different words found", "of"),
        rows=tuple(
            (
                summary.names[side],
                counts.set_total(side),
                scale_value(summary.shares[side], 1000),
                int((counts.terms[counter.set_of_form == side] > 0).sum()),
                len(counter.terms.sets[side]),
            )
            for side in (0, 1)
        ),
        note=f"{', '.join(files[:5])}{' …' if len(files) > 5 else ''}; sets: {counter.terms.source}. "
        f"Intervals: 95%, over {summary.unit}. Per 1,000 words: 1,000 × P.",
        digits=3,
    )
    columns = zip_longest(*(_most_frequent(summary, side) for side in (0, 1)), fillvalue=(None, None))
    yield Table(
        title="Most frequent words of each set",
        columns=(first, "found", second, "found "),
        rows=tuple((*left, *right) for left, right in columns),
    )
    if summary.professions:
        yield Table(
            title="Professions and the words in the same sentence",
            columns=("profession", "sentences", f"with {first}", f"with {second}", f"{first} share", "women in it"),
            rows=tuple(
                (each.profession, each.sentences, each.first, each.second, each.share, each.women)
                for each in summary.professions[:SHOWN]
            ),
            note="A sentence with words of both sets counts for both. Intervals: 95%, Wilson, as if "
            "sentences were independent. Women: US Bureau of Labor Statistics, 2020. "
            "The JSON has every profession.",
        )


def _most_frequent(summary: CountSummary, side: int) -> list[tuple[str, int]]:
    """The words of a set that were found most often, and how often."""
    found, counter = summary.counts.terms, summary.counter
    numbers = np.flatnonzero((counter.set_of_form == side) & (found > 0))
    order = numbers[np.argsort(-found[numbers], kind="stable")][:SHOWN]
    return [(counter.forms[form], int(found[form])) for form in order]


def _plots(summary: CountSummary) -> Iterator[Plot]:
    if len(summary.frequent_professions) < 2:
        return
    from unmask.findings.charts import scatter

    rows = [
        {"x": each.women, "y": each.share.value, "label": each.profession, "series": "profession"}
        for each in summary.frequent_professions
    ]
    chart = scatter(rows, x="share of women in it (US, 2020)", y="share of feminine words", diagonal=True)
    alt = f"A point for each of {len(rows)} professions: women in it, and feminine words beside its name."
    yield Plot("corpus-professions", "Words beside professions, and who has them", alt, chart)


def _notes(summary: CountSummary) -> Iterator[str]:
    counts = summary.counts
    yield from summary.counter.terms.notes
    if counts.problems.count:
        yield f"{counts.problems.count:,} problems while reading; the first: {counts.problems.first[0]}"
    if counts.documents > GROUPS:
        yield f"{counts.documents:,} documents were assigned in turn to {GROUPS:,} groups for the intervals"
    rare = sum(each.both < FEWEST for each in summary.professions)
    if rare:
        yield f"{rare} professions have fewer than {FEWEST} such words nearby and are not plotted"
    yield "counts say how often words are used, not what is said with them"


def scale_value(value: Value, factor: float) -> Value:
    """A value and its interval times a factor."""
    return Value(value.value * factor, value.low * factor, value.high * factor, value.method)
