"""The counts of a corpus as sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr
from statsmodels.stats.proportion import proportion_confint

from unmask import data
from unmask.corpus.counting import GROUPS, CorpusCounts, TermCounter
from unmask.corpus.ratios import ilps, word_share
from unmask.findings import Finding, Plot, Table, Value

SHOWN = 15  # most words of each set, and most professions, in a table
FEWEST = 10  # sentences with a word of either set that a profession needs to be plotted


@dataclass(frozen=True, slots=True)
class ProfessionCounts:
    """A profession: the sentences it occurs in, and those with a word of either set."""

    name: str
    sentences: int
    first: int
    second: int
    share: Value  # first / (first + second); a sentence with words of both sets counts twice
    women: float | None  # share of women in the occupation


def count_finding(
    counts: CorpusCounts, counter: TermCounter, files: Sequence[str], *, seed: int = 0
) -> Finding:
    """ILPS, the words it is computed from, and the professions in the same sentences."""
    unit = "groups of documents" if counts.documents > GROUPS else "documents"
    professions = sorted(profession_counts(counts, counter), key=lambda profession: -profession.sentences)
    return Finding(
        tuple(_answers(counts, counter, professions, seed, unit)),
        tuple(_tables(counts, counter, professions, files, (seed, unit))),
        tuple(_plots(professions, counter)),
        tuple(_notes(counts, counter, professions)),
    )


def profession_counts(counts: CorpusCounts, counter: TermCounter) -> list[ProfessionCounts]:
    """Every profession that occurs in the corpus."""
    women = {occupation.name: occupation.women for occupation in data.read("occupations")}
    result = []
    for name, (sentences, first, second) in zip(
        counter.terms.professions, counts.cooccurrences.tolist(), strict=True
    ):
        if sentences:
            result.append(
                ProfessionCounts(
                    name, sentences, first, second, _wilson(first, first + second), women.get(name)
                )
            )
    return result


def _wilson(first: int, both: int) -> Value:
    if not both:
        return Value(np.nan, np.nan, np.nan, "no word of either set in its sentences")
    low, high = proportion_confint(first, both, method="wilson")
    return Value(first / both, float(low), float(high), "wilson")


def _answers(
    counts: CorpusCounts, counter: TermCounter, professions: Sequence[ProfessionCounts], seed: int, unit: str
) -> Iterator[str]:
    names, ratio = counter.terms.names, ilps(counts.groups, seed=seed, unit=unit)
    first, second = counts.set_total(0), counts.set_total(1)
    yield (
        f"{first:,} {names[0]} and {second:,} {names[1]} words among {counts.words:,} "
        f"in {counts.documents:,} documents."
    )
    if np.isfinite(ratio.value):
        times = float(np.exp(abs(ratio.value)))
        more, less = names if ratio.value >= 0 else names[::-1]
        ends = f"95%: {ratio.low:+.3f} to {ratio.high:+.3f}, {ratio.method}"
        interval = ends if np.isfinite(ratio.low) else ratio.method
        yield (
            f"ILPS = ln(P_{names[0]} / P_{names[1]}) = {ratio.value:+.3f} ({interval}): "
            f"for each {less} word there are {times:.2f} {more} ones."
        )
    else:
        yield f"ILPS: {ratio.method}."
    plotted = _plottable(professions)
    if len(plotted) >= 4 and names[0] == "feminine":
        women = [float(profession.women or 0.0) for profession in plotted]
        rho = spearmanr([profession.share.value for profession in plotted], women)
        yield (
            f"Over {len(plotted)} professions the share of feminine words in sentences with a profession and "
            f"the share of women in it (US, 2020) correlate with Spearman's ρ = {rho.statistic:+.2f} "
            f"(p = {rho.pvalue:.2g})."
        )


def _tables(
    counts: CorpusCounts,
    counter: TermCounter,
    professions: Sequence[ProfessionCounts],
    files: Sequence[str],
    seed_and_unit: tuple[int, str],
) -> Iterator[Table]:
    seed, unit = seed_and_unit
    names = counter.terms.names
    yield Table(
        title="Words of the two sets",
        columns=("set", "words found", "per 1,000 words", "different words found", "of"),
        rows=tuple(
            (
                names[side],
                counts.set_total(side),
                _scaled(word_share(counts.groups, side, seed=seed, unit=unit), 1000),
                int((counts.terms[counter.set_of_form == side] > 0).sum()),
                len(counter.terms.sets[side]),
            )
            for side in (0, 1)
        ),
        note=f"{', '.join(files[:5])}{' …' if len(files) > 5 else ''}; sets: {counter.terms.source}. "
        f"Intervals: 95%, over {unit}. Per 1,000 words: 1,000 × P.",
        digits=3,
    )
    yield Table(
        title="Most frequent words of each set",
        columns=(names[0], "found", names[1], "found "),
        rows=tuple(_side_by_side(counts, counter)),
    )
    if professions:
        yield Table(
            title="Professions and the words in the same sentence",
            columns=(
                "profession",
                "sentences",
                f"with {names[0]}",
                f"with {names[1]}",
                f"{names[0]} share",
                "women in it",
            ),
            rows=tuple(
                (each.name, each.sentences, each.first, each.second, each.share, each.women)
                for each in professions[:SHOWN]
            ),
            note="A sentence with words of both sets counts for both. Intervals: 95%, Wilson, as if "
            "sentences were independent. Women: US Bureau of Labor Statistics, 2020. "
            "The JSON has every profession.",
        )


def professions_json(counts: CorpusCounts, counter: TermCounter) -> list[Mapping[str, object]]:
    """All professions that occur, for the result file."""
    return [
        {
            "profession": profession.name,
            "sentences": profession.sentences,
            "first": profession.first,
            "second": profession.second,
            "women": profession.women,
        }
        for profession in profession_counts(counts, counter)
    ]


def _side_by_side(counts: CorpusCounts, counter: TermCounter) -> Iterator[tuple[str | int | None, ...]]:
    sides = []
    for side in (0, 1):
        numbers = np.flatnonzero((counter.set_of_form == side) & (counts.terms > 0))
        order = numbers[np.argsort(-counts.terms[numbers], kind="stable")][:SHOWN]
        sides.append([(counter.forms[form], int(counts.terms[form])) for form in order])
    for row in range(max(map(len, sides))):
        cells = [side[row] if row < len(side) else (None, None) for side in sides]
        yield (*cells[0], *cells[1])


def _plottable(professions: Sequence[ProfessionCounts]) -> list[ProfessionCounts]:
    return [each for each in professions if each.first + each.second >= FEWEST and each.women is not None]


def _plots(professions: Sequence[ProfessionCounts], counter: TermCounter) -> Iterator[Plot]:
    plotted = _plottable(professions)
    if len(plotted) < 2 or counter.terms.names[0] != "feminine":
        return
    from unmask.findings.charts import scatter

    rows = [
        {"x": each.women, "y": each.share.value, "label": each.name, "series": "profession"}
        for each in plotted
    ]
    chart = scatter(rows, x="share of women in it (US, 2020)", y="share of feminine words", diagonal=True)
    alt = f"A point for each of {len(plotted)} professions: women in it, and feminine words beside its name."
    yield Plot("corpus-professions", "Words beside professions, and who has them", alt, chart)


def _notes(
    counts: CorpusCounts, counter: TermCounter, professions: Sequence[ProfessionCounts]
) -> Iterator[str]:
    yield from counter.terms.notes
    if counts.problems.count:
        yield f"{counts.problems.count:,} problems while reading; the first: {counts.problems.first[0]}"
    if counts.documents > GROUPS:
        yield f"{counts.documents:,} documents were assigned in turn to {GROUPS:,} groups for the intervals"
    rare = [profession for profession in professions if profession.first + profession.second < FEWEST]
    if rare:
        yield f"{len(rare)} professions have fewer than {FEWEST} such words nearby and are not plotted"
    yield "counts say how often words are used, not what is said with them"


def _scaled(value: Value, factor: float) -> Value:
    return Value(value.value * factor, value.low * factor, value.high * factor, value.method)
