"""`frequency`: how much of a score is word frequency? (Kaneko & Bollegala 2022, Table 2, and beyond)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from unmask.audit.session import Session, has_field
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Pair
from unmask.data.language import guess_language, language_of
from unmask.diagnose import regressions, word_groups
from unmask.diagnose.common import score_rows
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.diagnose.word_frequencies import COUNTS, WordFrequencies, frequencies_for
from unmask.diagnose.word_groups import ADVANTAGED, DISADVANTAGED, GroupWord, WordGroups
from unmask.findings import Cell, Finding, Table
from unmask.findings.numbers import signed_number
from unmask.stats.corrections import holm
from unmask.stats.regression import PropertyRegression
from unmask.stats.shares import Contrast, contrast

WHAT = "word frequency"
CORPUS = "wikipedia+bookcorpus"  # in the model column of the published numbers
SHOWN = 12  # most left-out words listed
Data = Mapping[str, Mapping[str, WordGroups]]  # by dataset and bias type
RANKS = (
    "Mean rank, 1 to 8 by frequency in the corpus, of the four words each group has most often in the "
    "dataset; eight words are too few for an interval. Ranks A and D count words equally often in both groups as "
    "advantaged, as the paper's list does; without ties these are left out. Difference: mean log10 frequency of all "
    "advantaged minus all disadvantaged words, ties left out, each word once, Welch's interval; p by Mann–Whitney, "
    "Holm-corrected over the bias types of a dataset. Published: Wikipedia and BookCorpus."
)
LISTS = (
    "A: said of the advantaged group, D: of the disadvantaged, =: of both equally often, with the number of times "
    "the word is changed. African American and the like count as one word, african. Left out: words with another, "
    "non-social sense (our list, see the docs). Function words (a, the, not, …) are left out and not listed."
)


@dataclass(frozen=True, slots=True)
class FrequencyResult:
    """The changed words of a dataset, and every measure regressed on their frequencies."""

    corpus: str
    language: str
    groups: Mapping[str, WordGroups]  # by bias type; empty where the pairs have no direction
    regressions: Mapping[str, PropertyRegression]
    pairs: int
    one_sided: int  # pairs in which one sentence has no changed word
    unknown: int  # changed words without a known frequency
    changed: int  # number of changed words


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> FrequencyResult:
    """Group the words, score every pair, and regress score differences on frequency differences."""
    language = guess_language(data) if settings.counts else language_of(data, COUNTS)
    corpus = frequencies_for(settings.counts, language)
    by = frequency_differences(data, corpus)
    rows = score_rows(session, data, settings)
    words = {word for item in data.items for side in word_groups.changed_words(item.more, item.less) for word in side}
    return FrequencyResult(
        corpus=corpus.source,
        language=language,
        groups=_groups(data, corpus, language),
        regressions=regressions.measure_regressions(rows, by, settings, data=data.card.name),
        pairs=len(data.items),
        one_sided=len(data.items) - len(by),
        unknown=sum(not corpus.knows(word) for word in words),
        changed=len(words),
    )


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """The words of every dataset, then the regression of each measure on their frequency."""
    by_data = _by_data(observations)
    return Finding(
        (*_answers(by_data), *regressions.answers(observations, what=WHAT)),
        (
            *(_word_tables(observations, by_data) if by_data else ()),
            *regressions.tables(observations, what=WHAT, step="tenfold frequency"),
        ),
        regressions.slopes_plot(observations, id="frequency-slopes", what=WHAT),
        tuple(dict.fromkeys(note for observation in observations for note in _notes(observation))),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Standardised slopes on frequency; of the words themselves, the difference of both groups."""
    every = regressions.estimates("frequency", observations)
    what = {"measure": "frequency/words", "statistic": "log10-difference", "null": 0.0}
    for data, groups in _by_data(observations).items():
        for name, (difference, p) in _contrasts(groups).items():
            n = len(groups[name].advantaged) + len(groups[name].disadvantaged)
            where = {"data": data, "group": f"category={name}"}
            every.append(Estimate.of(difference, **what, **where, n=n, p=difference.p, p_holm=p))
    return every


def details(observations: Observations, _: DiagnosisSettings) -> dict[str, object]:
    """By dataset and bias type: the top words with their group, and the mean rank of each group."""
    return {
        "words": {
            data: {
                name: {
                    "top": [asdict(word) | {"group": side} for word, side in word_groups.top_words(group)],
                    "mean_ranks": word_groups.mean_ranks(word_groups.top_words(group)),
                }
                for name, group in groups.items()
            }
            for data, groups in _by_data(observations).items()
        }
    }


def _by_data(observations: Observations) -> Data:
    """The groups of words of every dataset that has some."""
    return {each.data.card.name: each.result.groups for each in observations if each.result.groups}


def frequency_differences(data: Dataset, corpus: WordFrequencies) -> dict[str, float]:
    """By pair: mean log10 frequency of the words only in `more`, minus that of those only in `less`."""
    differences = {}
    for item in data.items:
        more, less = word_groups.changed_words(item.more, item.less)
        if more and less:
            means = [float(np.mean([corpus.log10(word) for word in side])) for side in (more, less)]
            differences[item.id] = means[0] - means[1]
    return differences


def _groups(data: Dataset, corpus: WordFrequencies, language: str) -> dict[str, WordGroups]:
    """The words of every bias type, from pairs with a direction."""
    by_type: dict[str, list[Pair]] = {}
    for item in data.items:
        if item.groups.get("direction"):
            by_type.setdefault(item.groups.get("category", "all"), []).append(item)
    return {name: word_groups.words_by_group(items, corpus.log10, language=language) for name, items in by_type.items()}


def _notes(observation: DiagnosisObservation) -> Iterator[str]:
    result, name = observation.result, observation.data.card.name
    yield f"{name}: frequencies from {result.corpus}"
    if result.unknown:
        yield (
            f"{name}: {result.unknown:,} of {result.changed:,} changed words are not in {result.corpus}; "
            "they get the frequency of the rarest word that is"
        )
    if result.one_sided:
        yield (
            f"{name}: {result.one_sided:,} of {result.pairs:,} pairs are left out of the regressions: "
            "only one of their sentences has changed words"
        )
    if not has_field(observation.data, "direction"):
        yield f"{name}: its pairs have no direction, so its words cannot be grouped"
    elif result.language != "en":
        yield f"{name}: ambiguous and function words are listed for English only and are kept here"
    if not result.regressions:
        yield f"{name}: no line can be fitted, no pair has changed words in both sentences"


def _word_tables(observations: Observations, by_data: Data) -> tuple[Table, Table]:
    """Two tables: mean ranks with the difference of frequencies, and the words themselves."""
    ranks: list[tuple[Cell, ...]] = []
    lists: list[tuple[Cell, ...]] = []
    observed = {each.names[1]: each for each in observations}
    published = {"measure": "frequency", "model": CORPUS}
    for data, groups in by_data.items():
        for name, (difference, p) in _contrasts(groups).items():
            group, cells = groups[name], list[Cell]()
            of, top = word_groups.mean_ranks(word_groups.top_words(group)), word_groups.top_words(group)
            for side in (ADVANTAGED, DISADVANTAGED):
                paper = observed[data].published_value("frequency", **published, statistic=f"rank-{side}", group=name)
                cells += [of.get(side), paper]
            decided = word_groups.mean_ranks(word_groups.top_words(group, ties=False))
            cells += [decided.get(side) for side in (ADVANTAGED, DISADVANTAGED)]
            counts = len(group.advantaged), len(group.disadvantaged), len(group.tied)
            ranks.append((data, name, *counts, *cells, difference, p))
            marks = [("=" if word in group.tied else side[0].upper(), word) for word, side in top]
            chosen = ", ".join(f"{word.text} ({mark} {word.count})" for mark, word in marks)
            lists.append((data, name, chosen, _listed(group.ambiguous), _listed(group.tied)))
    title = "Frequency of advantaged (A) and disadvantaged (D) words"
    counted = ("words A", "words D", "ties", "rank A", "published A", "rank D", "published D")
    columns = (
        "data",
        "bias type",
        *counted,
        "rank A without ties",
        "rank D without ties",
        "log10 difference",
        "p Holm",
    )
    listed = ("data", "bias type", "words", "left out: ambiguous", "equally often in both groups")
    return (
        Table(title, columns, tuple(ranks), RANKS),
        Table("The words, the most frequent first", listed, tuple(lists), LISTS),
    )


def _answers(by_data: Data) -> Iterator[str]:
    """For each dataset, in how many bias types the advantaged words are the more frequent ones."""
    for data, groups in by_data.items():
        (ahead, both), (ahead_decided, both_decided) = (_ahead(groups.values(), ties=ties) for ties in (True, False))
        contrasts = _contrasts(groups).items()
        sure = [f"{name} ({signed_number(gap.value)})" for name, (gap, p) in contrasts if p is not None and p < 0.05]
        yield (
            f"{data}: the advantaged group's words have the better mean rank in {ahead} of {both} bias types "
            f"({ahead_decided} of {both_decided} without words equally often in both groups); over all words log10 "
            f"frequency differs in {', '.join(sure) or 'none of them'} "
            "(advantaged − disadvantaged, p < 0.05 after Holm)"
        )


def _ahead(groups: Iterable[WordGroups], *, ties: bool) -> tuple[int, int]:
    """In how many bias types the advantaged words have the better mean rank, and how many have ranks."""
    ranked = [word_groups.mean_ranks(word_groups.top_words(group, ties=ties)) for group in groups]
    both = [ranks for ranks in ranked if ranks]
    return sum(ranks[ADVANTAGED] < ranks[DISADVANTAGED] for ranks in both), len(both)


def _contrasts(groups: Mapping[str, WordGroups]) -> dict[str, tuple[Contrast, float | None]]:
    """Advantaged minus disadvantaged by bias type, with the corrected p-value."""
    differences = []
    for group in groups.values():
        sides = (group.advantaged, group.disadvantaged)
        differences.append(contrast(*(np.array([word.log10 for word in side], float) for side in sides)))
    adjusted = holm([difference.p for difference in differences])
    return dict(zip(groups, zip(differences, adjusted, strict=True), strict=True))


def _listed(left_out: Sequence[GroupWord]) -> str:
    more = len(left_out) - SHOWN
    named = ", ".join(word.text for word in left_out[:SHOWN])
    return f"{named} and {more} more" if more > 0 else named
