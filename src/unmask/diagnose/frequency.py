"""`frequency`: how much of a score is word frequency? (Kaneko & Bollegala 2022, Table 2, and beyond)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.audit.session import has_field
from unmask.core.estimate import Estimate
from unmask.core.options import option
from unmask.core.types import Dataset, Pair
from unmask.diagnose import regressions, words
from unmask.diagnose.scores import distinct_notes, not_pairs_reason, score_rows
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.diagnose.words import ADVANTAGED, DISADVANTAGED, GroupWord, WordFrequencies, WordGroups
from unmask.findings import Cell, Conclusion, Finding, Table

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.stats.regression import PropertyRegression

WHAT = "word frequency"
CORPUS = "wikipedia+bookcorpus"  # in the model column of the published numbers
SIDES = {"A": ADVANTAGED, "D": DISADVANTAGED}
SHOWN = 12  # most left-out words listed
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


@dataclass(frozen=True)
class FrequencyOptions(UnitOptions):
    """Options of `frequency`."""

    counts: Path | None = option(None, "Word counts (word, count) to use instead of wordfreq.")


@dataclass(frozen=True, slots=True)
class FrequencyResult:
    """The changed words of a dataset, and every measure regressed on their frequencies."""

    groups: Mapping[str, WordGroups]  # by bias type; empty where the pairs have no direction
    regressions: Mapping[str, PropertyRegression]
    notes: tuple[str, ...]


def observe(session: Session, data: Dataset, options: FrequencyOptions) -> FrequencyResult:
    """Group the words, score every pair, and regress score differences on frequency differences."""
    corpus = words.data_frequencies(data, options.counts)
    by = words.frequency_differences(data, corpus)
    fits = regressions.measure_regressions(score_rows(session, data, options), by, options, data=data.card.name)
    notes = tuple(f"{data.card.name}: {note}" for note in _notes(data, corpus, one_sided=len(data.items) - len(by)))
    return FrequencyResult(_groups(data, corpus), fits, notes)


def conclude(observations: Observations, options: FrequencyOptions) -> Conclusion:
    """The words of every dataset, then the regression of each measure on their frequency."""
    by_data = {each.data.card.name: each for each in observations if each.result.groups}
    contrasts = {data: _contrasts(data, each.result.groups) for data, each in by_data.items()}
    fitted = regressions.estimates("frequency", observations)
    compared = [estimate for data in by_data for estimate in contrasts[data].values()]
    return Conclusion(
        Finding(
            (
                *(
                    line
                    for data, each in by_data.items()
                    for line in _word_answers(data, each.result.groups, contrasts[data])
                ),
                *regressions.answers(observations, what=WHAT),
            ),
            (
                Table.of(
                    "Frequency of advantaged (A) and disadvantaged (D) words",
                    (
                        _rank_record(each, name, estimate)
                        for data, each in by_data.items()
                        for name, estimate in contrasts[data].items()
                    ),
                    RANKS,
                ),
                Table.of(
                    "The words, the most frequent first",
                    (
                        _word_record(data, name, group)
                        for data, each in by_data.items()
                        for name, group in each.result.groups.items()
                    ),
                    LISTS,
                ),
                *regressions.tables(observations, what=WHAT, step="tenfold frequency"),
            ),
            regressions.slopes_plot(observations, id="frequency-slopes", what=WHAT),
            distinct_notes(observations),
        ),
        (*fitted, *compared),
        {"words": {data: _details(each.result.groups) for data, each in by_data.items()}},
    )


def _groups(data: Dataset, corpus: WordFrequencies) -> dict[str, WordGroups]:
    """The words of every bias type, from pairs with a direction."""
    by_type: dict[str, list[Pair]] = {}
    for item in data.items:
        if item.groups.get("direction"):
            by_type.setdefault(item.groups.get("category", "all"), []).append(item)
    language = corpus.language
    return {name: words.words_by_group(items, corpus.log10, language=language) for name, items in by_type.items()}


def _notes(data: Dataset, corpus: WordFrequencies, *, one_sided: int) -> Iterator[str]:
    changed = {word for item in data.items for side in words.changed_words(item.more, item.less) for word in side}
    unknown = sum(not corpus.knows(word) for word in changed)
    yield f"frequencies from {corpus.source}"
    if unknown:
        yield (
            f"{unknown:,} of {len(changed):,} changed words are not in {corpus.source}; "
            "they get the frequency of the rarest word that is"
        )
    if one_sided:
        yield (
            f"{one_sided:,} of {len(data.items):,} pairs are left out of the regressions: "
            "only one of their sentences has changed words"
        )
    if not has_field(data, "direction"):
        yield "its pairs have no direction, so its words cannot be grouped"
    elif corpus.language != "en":
        yield "ambiguous and function words are listed for English only and are kept here"
    if one_sided == len(data.items):
        yield "no line can be fitted, no pair has changed words in both sentences"


def _contrasts(data: str, groups: Mapping[str, WordGroups]) -> dict[str, Estimate]:
    """By bias type, the log10 frequency of advantaged minus that of disadvantaged words."""
    import numpy as np

    from unmask.stats.corrections import holm
    from unmask.stats.shares import contrast

    sides = {name: (group.advantaged, group.disadvantaged) for name, group in groups.items()}
    differences = {
        name: contrast(*(np.array([word.log10 for word in side], float) for side in both))
        for name, both in sides.items()
    }
    adjusted = holm([difference.p for difference in differences.values()])
    return {
        name: Estimate.of(
            difference,
            measure="frequency/words",
            statistic="log10-difference",
            data=data,
            group=f"category={name}",
            null=0.0,
            n=sum(map(len, sides[name])),
            p=difference.p,
            p_holm=p,
        )
        for (name, difference), p in zip(differences.items(), adjusted, strict=True)
    }


def _rank_record(observation: DiagnosisObservation, name: str, difference: Estimate) -> dict[str, Cell]:
    """A row of the table of ranks: one bias type."""
    group = observation.result.groups[name]
    ranks, decided = (words.mean_ranks(words.top_words(group, ties=ties)) for ties in (True, False))
    record: dict[str, Cell] = {"data": observation.data.card.name, "bias type": name}
    record |= {"words A": len(group.advantaged), "words D": len(group.disadvantaged), "ties": len(group.tied)}
    for letter, side in SIDES.items():
        record[f"rank {letter}"] = ranks.get(side)
        record[f"published {letter}"] = observation.published_value(
            "frequency", measure="frequency", model=CORPUS, statistic=f"rank-{side}", group=name
        )
    record |= {f"rank {letter} without ties": decided.get(side) for letter, side in SIDES.items()}
    return record | {"log10 difference": difference, "p Holm": difference.p_holm}


def _word_record(data: str, name: str, group: WordGroups) -> dict[str, Cell]:
    """A row of the table of words: one bias type."""
    marks = [("=" if word in group.tied else side[0].upper(), word) for word, side in words.top_words(group)]
    return {
        "data": data,
        "bias type": name,
        "words": ", ".join(f"{word.text} ({mark} {word.count})" for mark, word in marks),
        "left out: ambiguous": _shortened(group.ambiguous),
        "equally often in both groups": _shortened(group.tied),
    }


def _shortened(left_out: Sequence[GroupWord]) -> str:
    more = len(left_out) - SHOWN
    named = ", ".join(word.text for word in left_out[:SHOWN])
    return f"{named} and {more} more" if more > 0 else named


def _details(groups: Mapping[str, WordGroups]) -> dict[str, object]:
    """By bias type: the top words with their group, and the mean rank of each group."""
    top = {name: words.top_words(group) for name, group in groups.items()}
    return {
        name: {"top": [asdict(word) | {"group": side} for word, side in chosen], "mean_ranks": words.mean_ranks(chosen)}
        for name, chosen in top.items()
    }


def _word_answers(data: str, groups: Mapping[str, WordGroups], contrasts: Mapping[str, Estimate]) -> Iterator[str]:
    """In how many bias types the advantaged words have the better ranks; the differences over all words."""
    from unmask.findings import sentences

    (ahead, both), (ahead_decided, both_decided) = (_ahead(groups.values(), ties=ties) for ties in (True, False))
    yield (
        f"{data}: the advantaged group's words have the better mean rank in {ahead} of {both} bias types "
        f"({ahead_decided} of {both_decided} without words equally often in both groups)"
    )
    shown = [name for name, each in contrasts.items() if sentences.verdict(each) in ("above", "below")]
    for name in shown:
        what = f"{data}, {name}: log10 frequency of advantaged − disadvantaged words"
        yield sentences.size(what, contrasts[name], "(p < 0.05 after Holm)")
    if not shown:
        yield f"{data}: over all words, no difference in frequency found in any bias type"


def _ahead(groups: Iterable[WordGroups], *, ties: bool) -> tuple[int, int]:
    """In how many bias types the advantaged words have the better mean rank, and how many have ranks."""
    ranked = [words.mean_ranks(words.top_words(group, ties=ties)) for group in groups]
    both = [ranks for ranks in ranked if ranks]
    return sum(ranks[ADVANTAGED] < ranks[DISADVANTAGED] for ranks in both), len(both)


FREQUENCY = Diagnosis(
    name="frequency",
    title="Word frequency",
    question="How much of a score is the frequency of the words that differ?",
    observe=observe,
    conclude=conclude,
    options=FrequencyOptions,
    order=3,
    unfit_reason=not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
)
