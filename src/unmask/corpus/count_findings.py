"""What was counted, in words, tables and plots."""

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

SHOWN = 15  # words of each set, and professions, in tables
FEWEST = 10  # sentences with a word of either set that a profession needs to be drawn


@dataclass(frozen=True, slots=True)
class ProfessionCounts:
    """A profession: the sentences it stands in, and which words stand there with it."""

    name: str
    sentences: int
    first: int
    second: int
    share: Value  # of the first set among both; a sentence with both counts for each
    women: float | None  # of those who have the occupation


def count_finding(
    counts: CorpusCounts, counter: TermCounter, files: Sequence[str], *, seed: int = 0
) -> Finding:
    """ILPS, the words it is made of, and the professions they stand beside."""
    unit = "groups of documents" if counts.documents > GROUPS else "documents"
    beside = sorted(profession_counts(counts, counter), key=lambda one: -one.sentences)
    return Finding(
        tuple(_answers(counts, counter, beside, seed, unit)),
        tuple(_tables(counts, counter, beside, files, (seed, unit))),
        tuple(_plots(beside, counter)),
        tuple(_notes(counts, counter, beside)),
    )


def profession_counts(counts: CorpusCounts, counter: TermCounter) -> list[ProfessionCounts]:
    """Every profession found in a sentence."""
    women = {one.name: one.women for one in data.read("occupations")}
    made = []
    for name, (sentences, first, second) in zip(
        counter.terms.professions, counts.cooccurrences.tolist(), strict=True
    ):
        if sentences:
            made.append(
                ProfessionCounts(
                    name, sentences, first, second, _wilson(first, first + second), women.get(name)
                )
            )
    return made


def _wilson(first: int, both: int) -> Value:
    if not both:
        return Value(np.nan, np.nan, np.nan, "no word of either set beside it")
    low, high = proportion_confint(first, both, method="wilson")
    return Value(first / both, float(low), float(high), "wilson")


def _answers(
    counts: CorpusCounts, counter: TermCounter, beside: Sequence[ProfessionCounts], seed: int, unit: str
) -> Iterator[str]:
    names, found = counter.terms.names, ilps(counts.groups, seed=seed, unit=unit)
    first, second = counts.set_total(0), counts.set_total(1)
    yield (
        f"{first:,} {names[0]} and {second:,} {names[1]} words among {counts.words:,} "
        f"in {counts.documents:,} documents."
    )
    if np.isfinite(found.value):
        times = float(np.exp(abs(found.value)))
        more, less = names if found.value >= 0 else names[::-1]
        ends = f"95%: {found.low:+.3f} to {found.high:+.3f}, {found.method}"
        held = ends if np.isfinite(found.low) else found.method
        yield (
            f"ILPS = ln(P_{names[0]} / P_{names[1]}) = {found.value:+.3f} ({held}): "
            f"for each {less} word there are {times:.2f} {more} ones."
        )
    else:
        yield f"ILPS: {found.method}."
    drawn = [one for one in beside if one.first + one.second >= FEWEST and one.women is not None]
    if len(drawn) >= 4 and names[0] == "feminine":
        women = [float(one.women or 0.0) for one in drawn]
        rho = spearmanr([one.share.value for one in drawn], women)
        yield (
            f"Over {len(drawn)} professions the share of feminine words beside a profession and the share of "
            f"women in it (US, 2020) go together with Spearman's ρ = {rho.statistic:+.2f} "
            f"(p = {rho.pvalue:.2g})."
        )


def _tables(
    counts: CorpusCounts,
    counter: TermCounter,
    beside: Sequence[ProfessionCounts],
    files: Sequence[str],
    how: tuple[int, str],
) -> Iterator[Table]:
    seed, unit = how
    names = counter.terms.names
    yield Table(
        title="Words of the two sets",
        columns=("set", "words found", "per 1,000 words", "different words found", "of"),
        rows=tuple(
            (
                names[side],
                counts.set_total(side),
                _times(word_share(counts.groups, side, seed=seed, unit=unit), 1000),
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
    if beside:
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
                (one.name, one.sentences, one.first, one.second, one.share, one.women)
                for one in beside[:SHOWN]
            ),
            note="A sentence with words of both sets counts for both. Intervals: 95%, Wilson, as if "
            "sentences were independent. Women: US Bureau of Labor Statistics, 2020. "
            "The JSON has every profession.",
        )


def professions_json(counts: CorpusCounts, counter: TermCounter) -> list[Mapping[str, object]]:
    """All professions found, for the result file."""
    return [
        {
            "profession": one.name,
            "sentences": one.sentences,
            "first": one.first,
            "second": one.second,
            "women": one.women,
        }
        for one in profession_counts(counts, counter)
    ]


def _side_by_side(counts: CorpusCounts, counter: TermCounter) -> Iterator[tuple[str | int | None, ...]]:
    sides = []
    for side in (0, 1):
        numbers = np.flatnonzero((counter.set_of_form == side) & (counts.terms > 0))
        order = numbers[np.argsort(-counts.terms[numbers], kind="stable")][:SHOWN]
        sides.append([(counter.forms[at], int(counts.terms[at])) for at in order])
    for row in range(max(map(len, sides))):
        cells = [side[row] if row < len(side) else (None, None) for side in sides]
        yield (*cells[0], *cells[1])


def _plots(beside: Sequence[ProfessionCounts], counter: TermCounter) -> Iterator[Plot]:
    drawn = [one for one in beside if one.first + one.second >= FEWEST and one.women is not None]
    if len(drawn) < 2 or counter.terms.names[0] != "feminine":
        return
    from unmask.findings.charts import scatter

    rows = [
        {"x": one.women, "y": one.share.value, "label": one.name, "series": "profession"} for one in drawn
    ]
    chart = scatter(rows, x="share of women in it (US, 2020)", y="share of feminine words", diagonal=True)
    alt = f"A point for each of {len(drawn)} professions: women in it, and feminine words beside its name."
    yield Plot("corpus-professions", "Words beside professions, and who has them", alt, chart)


def _notes(counts: CorpusCounts, counter: TermCounter, beside: Sequence[ProfessionCounts]) -> Iterator[str]:
    yield from counter.terms.notes
    if counts.problems.count:
        yield f"{counts.problems.count:,} problems in reading; the first: {counts.problems.first[0]}"
    if counts.documents > GROUPS:
        yield f"{counts.documents:,} documents were dealt in turn to {GROUPS:,} groups for the intervals"
    few = [one for one in beside if one.first + one.second < FEWEST]
    if few:
        yield f"{len(few)} professions have fewer than {FEWEST} such words beside them and are not drawn"
    yield "counts say how often words are used, not what is said with them"


def _times(one: Value, factor: float) -> Value:
    return Value(one.value * factor, one.low * factor, one.high * factor, one.method)
