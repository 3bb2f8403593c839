"""`corpus count`: ILPS, the shares of the words of two sets, and professions in the same sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from unmask import data
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.files import file_name
from unmask.core.options import Options, TextLayout, fill_groups
from unmask.core.progress import steps_of
from unmask.core.request import with_request
from unmask.core.types import Ints
from unmask.corpus.counting import GROUPS, CorpusCounts, TermCounter, count_files
from unmask.corpus.ratios import ilps, scale_value, word_share
from unmask.corpus.spec import CountSettings, Files
from unmask.corpus.tables import document_writer
from unmask.corpus.terms import FEMININE, terms_of
from unmask.data.documents import existing_files
from unmask.findings import Finding, Plot, Section, Table
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.findings.sentences import correlation, size
from unmask.stats.shares import wilson

MEASURE = "corpus-count"
TITLE = "Words of two groups in a corpus"
SHOWN = 15  # most words of each set, and most professions, in a table
FEWEST = 10  # sentences with a word of either set that a profession needs to be plotted


@with_request("corpus count", "files")
def count(
    files: Files,
    *,
    out: str | Path | None = None,
    count_with: Callable[..., CorpusCounts] = count_files,
    **options: Any,
) -> Result:
    """Count the words of two sets in a corpus: ILPS = ln(P_f / P_m) with its interval.

    Args:
        files: text, JSON lines, CSV, TSV or Parquet, also compressed; memory does not grow with their size.
        out: the result folder; None: nothing is written.
        count_with: the function that counts, such as one that counts on a cluster.
        options: fields of `CountSettings`, `TextLayout` and `Options` (of these `seed` and `progress`), or
            these groups themselves as `settings`, `layout` and `options`.
    """
    settings, layout, run = fill_groups(options, settings=CountSettings, layout=TextLayout, options=Options)
    with result_folder(out, "corpus") as folder:
        paths, per_document = existing_files(files), settings.per_document
        terms = terms_of(settings, professions=settings.professions)
        counter = TermCounter(terms, layout, per_document is not None, settings.whitespace)
        table = document_writer(per_document, terms.names, whole_files=layout.unit == "file") if per_document else None
        megabytes = sum(path.stat().st_size for path in paths) / 1e6
        step = steps_of(run.progress, "megabytes", max(1, round(megabytes)))
        with table or nullcontext() as on_part:
            counts = count_with(paths, counter, processes=settings.processes, step=step, on_part=on_part)
        words = WordCounts(counts, counter, run.seed)
        lead = f"Counted: {', '.join(map(file_name, paths[:5]))}{' …' if paths[5:] else ''}."
        return folder.finish(
            build(
                "corpus",
                title=TITLE,
                lead=lead,
                data=[{"name": file_name(path), "bytes": path.stat().st_size} for path in paths],
                options=asdict(settings) | asdict(layout) | {"seed": run.seed},
                estimates=words.estimates,
                findings=[Section("corpus", TITLE, lead, words.finding())],
                details=words.details(),
            )
        )


@dataclass(frozen=True, slots=True)
class AttributeCounts:
    """A profession or another attribute: the sentences it occurs in, and those with a word of either set."""

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


def attribute_counts(counter: TermCounter, cooccurrences: Ints) -> tuple[AttributeCounts, ...]:
    """The professions, or other attributes, that occur, most frequent first."""
    women = {occupation.name: occupation.women for occupation in data.read("occupations")}
    together = zip(counter.terms.professions, cooccurrences.tolist(), strict=True)
    present = [
        AttributeCounts(name, sentences, first, second, women.get(name))
        for name, (sentences, first, second) in together
        if sentences
    ]
    return tuple(sorted(present, key=lambda attribute: -attribute.sentences))


def attribute_estimates(attributes: Sequence[AttributeCounts], label: str, first: str, **about: Any) -> list[Estimate]:
    """The share of the first set among the sentences with each attribute and a word of a set."""
    return [
        Estimate.of(each.share, **about, group=f"{label}={each.profession}", statistic=f"{first}-share", n=each.both)
        for each in attributes
    ]


@dataclass(frozen=True)
class WordCounts:
    """The counts of a corpus, and what is computed from them."""

    counts: CorpusCounts
    counter: TermCounter
    seed: int

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two sets."""
        return self.counter.terms.names

    @property
    def unit(self) -> str:
        """What is resampled."""
        return "groups of documents" if self.counts.documents > GROUPS else "documents"

    @cached_property
    def shares(self) -> list[Value]:
        """The shares of the two sets among all words."""
        return [word_share(self.counts.groups, side, seed=self.seed, unit=self.unit) for side in (0, 1)]

    @cached_property
    def professions(self) -> tuple[AttributeCounts, ...]:
        """The professions that occur, most frequent first."""
        return attribute_counts(self.counter, self.counts.cooccurrences)

    @property
    def frequent_professions(self) -> list[AttributeCounts]:
        """The professions with a known share of women and enough words, if the first set is feminine."""
        known = [each for each in self.professions if each.women is not None and each.both >= FEWEST]
        return known if self.names[0] == FEMININE else []

    @property
    def about(self) -> dict[str, Any]:
        """Of what its estimates are: the sets of words, so that the same words can be compared in two corpora."""
        return {"measure": MEASURE, "data": self.counter.terms.source}

    @cached_property
    def estimates(self) -> list[Estimate]:
        """ILPS first, then the share of each set, the correlation over professions, and each profession."""
        ratio = ilps(self.counts.groups, seed=self.seed, unit=self.unit)
        found = [Estimate.of(ratio, **self.about, statistic="ilps", null=0.0, n=self.counts.documents)]
        found += [
            Estimate.of(share, **self.about, group=f"set={name}", statistic="word-share", n=self.counts.words)
            for name, share in zip(self.names, self.shares, strict=True)
        ]
        if len(self.frequent_professions) >= 4:
            rho = spearmanr(
                [each.share.value for each in self.frequent_professions],
                [each.women or 0.0 for each in self.frequent_professions],
            )
            value = Value(float(rho.statistic), method="no interval")
            about = {**self.about, "statistic": "spearman", "null": 0.0, "p": float(rho.pvalue)}
            found.append(Estimate.of(value, **about, n=len(self.frequent_professions)))
        return found + attribute_estimates(self.professions, "profession", self.names[0], **self.about)

    def details(self) -> dict[str, Any]:
        """What a result records besides its numbers."""
        counted = zip(self.counter.forms, self.counts.terms.tolist(), self.counter.set_of_form.tolist(), strict=True)
        return {
            "sets": self.counter.terms.source,
            "documents": self.counts.documents,
            "words": self.counts.words,
            "counts": {name: self.counts.set_total(side) for side, name in enumerate(self.names)},
            "terms": {term: n for term, n, side in counted if n and side < 2},
            "professions": self.professions,
            "problems": self.counts.problems,
        }

    def finding(self) -> Finding:
        """ILPS, the words it is computed from, and the professions in the same sentences."""
        counts, (first, second) = self.counts, self.names
        tables = [
            Table(
                "Words of the two sets",
                ("set", "words found", "per 1,000 words", "different words found", "of"),
                tuple(
                    (
                        name,
                        counts.set_total(side),
                        scale_value(self.shares[side], 1000),
                        len(self._words(side)),
                        len(self.counter.terms.sets[side]),
                    )
                    for side, name in enumerate(self.names)
                ),
                f"Sets: {self.counter.terms.source}. Intervals: 95%, over {self.unit}. Per 1,000 words: 1,000 × P.",
                digits=3,
            ),
            Table(
                "Most frequent words of each set",
                (first, "found", second, "found "),
                tuple(
                    (*left, *right) for left, right in zip_longest(*map(self._words, (0, 1)), fillvalue=(None, None))
                )[:SHOWN],
            ),
            Table(
                "Professions and the words in the same sentence",
                ("profession", "sentences", f"with {first}", f"with {second}", f"{first} share", "women in it"),
                tuple(
                    (each.profession, each.sentences, each.first, each.second, each.share, each.women)
                    for each in self.professions[:SHOWN]
                ),
                "A sentence with words of both sets counts for both. Intervals: 95%, Wilson, as if sentences were "
                "independent. Women: US Bureau of Labor Statistics, 2020. The JSON has every profession.",
            ),
        ]
        return Finding(
            tuple(self._answers()), tuple(table for table in tables if table.rows), self._plots(), tuple(self._notes())
        )

    def _words(self, side: int) -> list[tuple[str, int]]:
        """The words of a set that were found, the most frequent first, and how often."""
        numbers = np.flatnonzero((self.counter.set_of_form == side) & (self.counts.terms > 0))
        order = numbers[np.argsort(-self.counts.terms[numbers], kind="stable")]
        return [(self.counter.forms[form], int(self.counts.terms[form])) for form in order]

    def _answers(self) -> Iterator[str]:
        counts, (first, second) = self.counts, self.names
        ratio, *others = self.estimates
        yield (
            f"{counts.set_total(0):,} {first} and {counts.set_total(1):,} {second} words among {counts.words:,} in "
            f"{counts.documents:,} documents."
        )
        times = f"; {np.exp(ratio.value):.2f} {first} words for each {second} one" if np.isfinite(ratio.value) else ""
        yield f"{size(f'ILPS = ln(P_{first} / P_{second}):', ratio, digits=3)}, {ratio.method}{times}."
        for rho in (each for each in others if each.statistic == "spearman"):
            what = f"Over {rho.n} professions, {first} words in their sentences and women in them (US, 2020)"
            yield f"{correlation(what, rho, symbol='ρ', p=rho.p)}."

    def _plots(self) -> tuple[Plot, ...]:
        if len(self.frequent_professions) < 2:
            return ()
        from unmask.findings.charts import scatter

        rows = [
            {"x": each.women, "y": each.share.value, "label": each.profession, "series": "profession"}
            for each in self.frequent_professions
        ]
        chart = scatter(rows, x="share of women in it (US, 2020)", y="share of feminine words", diagonal=True)
        alt = f"A point for each of {len(rows)} professions: women in it, and feminine words beside its name."
        return (Plot("corpus-professions", "Words beside professions, and who has them", alt, chart),)

    def _notes(self) -> Iterator[str]:
        counts = self.counts
        yield from self.counter.terms.notes
        yield from counts.problems.notes()
        if counts.documents > GROUPS:
            yield f"{counts.documents:,} documents were assigned in turn to {GROUPS:,} groups for the intervals"
        if rare := sum(each.both < FEWEST for each in self.professions):
            yield f"{rare} professions have fewer than {FEWEST} such words nearby and are not plotted"
        yield "counts say how often words are used, not what is said with them"
