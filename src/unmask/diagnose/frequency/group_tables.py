"""The words of advantaged and disadvantaged groups as tables (Kaneko & Bollegala 2022, Table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from unmask.diagnose.frequency.words import (
    ADVANTAGED,
    DISADVANTAGED,
    GroupWord,
    WordGroups,
    mean_ranks,
    top_words,
)
from unmask.diagnose.published import published_value
from unmask.findings import Cell, Table, Value
from unmask.stats import holm
from unmask.stats.subsets import Contrast, contrast

CORPUS = "wikipedia+bookcorpus"  # in the model column of the published numbers
SHOWN = 12  # most left-out words listed

Data = Mapping[str, Mapping[str, WordGroups]]  # by dataset and bias type
RANKS = (
    "Mean rank, 1 to 8 by frequency in the corpus, of the four words each group has most often in the "
    "dataset; eight words are too few for an interval. Difference: mean log10 frequency of all advantaged "
    "minus all "
    "disadvantaged words, each word once, Welch's interval; p by Mann–Whitney, Holm-corrected over the bias "
    "types of a dataset. Published: Wikipedia and BookCorpus."
)
LISTS = (
    "A: said of the advantaged group, D: of the disadvantaged, with the number of times the word is "
    "changed. Left out: words with another, non-social sense (our list, see the docs), and words equally "
    "often in both groups. Function words (a, the, not, …) are left out and not listed."
)


def word_tables(by_data: Data) -> tuple[Table, Table]:
    """Two tables: mean ranks with the difference of frequencies, and the words themselves."""
    ranks = [row for data, groups in by_data.items() for row in _rank_rows(data, groups)]
    lists = [
        _list_row(data, name, group) for data, groups in by_data.items() for name, group in groups.items()
    ]
    columns = (
        "data",
        "bias type",
        "words A",
        "words D",
        "rank A",
        "published A",
        "rank D",
        "published D",
        "log10 difference",
        "p Holm",
    )
    return (
        Table("Frequency of advantaged (A) and disadvantaged (D) words", columns, tuple(ranks), RANKS),
        Table(
            "The words, the most frequent first",
            ("data", "bias type", "words", "left out: ambiguous", "left out: in both groups"),
            tuple(lists),
            LISTS,
        ),
    )


def answers(by_data: Data) -> Iterator[str]:
    """For each dataset, in how many bias types the advantaged words are the more frequent ones."""
    for data, groups in by_data.items():
        both = [ranks for group in groups.values() if len(ranks := mean_ranks(top_words(group))) == 2]
        ahead = sum(ranks[ADVANTAGED] < ranks[DISADVANTAGED] for ranks in both)
        contrasts = _contrasts(groups)
        sure = [
            f"{name} ({difference.value:+.2f})"
            for name, (difference, p) in contrasts.items()
            if p is not None and p < 0.05
        ]
        yield (
            f"{data}: the advantaged group's words have the better mean rank in {ahead} of {len(both)} bias "
            f"types; over all words log10 frequency differs in {', '.join(sure) or 'none of them'} "
            "(advantaged − disadvantaged, p < 0.05 after Holm)"
        )


def _contrasts(groups: Mapping[str, WordGroups]) -> dict[str, tuple[Contrast, float | None]]:
    """Advantaged minus disadvantaged by bias type, with the corrected p-value."""
    differences = {
        name: contrast(_logs(group.advantaged), _logs(group.disadvantaged)) for name, group in groups.items()
    }
    adjusted = holm([difference.p for difference in differences.values()])
    return {
        name: (difference, p) for (name, difference), p in zip(differences.items(), adjusted, strict=True)
    }


def _rank_rows(data: str, groups: Mapping[str, WordGroups]) -> Iterator[tuple[Cell, ...]]:
    for name, (difference, p) in _contrasts(groups).items():
        ranks = mean_ranks(top_words(groups[name]))
        cells: list[Cell] = []
        for group in (ADVANTAGED, DISADVANTAGED):
            cells += [ranks.get(group), _published(data, name, group)]
        gap = Value(difference.value, difference.low, difference.high, difference.method)
        counts = len(groups[name].advantaged), len(groups[name].disadvantaged)
        yield (data, name, *counts, *cells, gap, p)


def _published(data: str, name: str, group: str) -> float | None:
    return published_value(
        "frequency", CORPUS, data=data, measure="frequency", statistic=f"rank-{group}", group=name
    )


def _list_row(data: str, name: str, group: WordGroups) -> tuple[Cell, ...]:
    chosen = [f"{word.text} ({side[0].upper()} {word.count})" for word, side in top_words(group)]
    return data, name, ", ".join(chosen), _listed(group.ambiguous), _listed(group.undecided)


def _listed(left_out: Sequence[GroupWord]) -> str:
    more = len(left_out) - SHOWN
    named = ", ".join(word.text for word in left_out[:SHOWN])
    return f"{named} and {more} more" if more > 0 else named


def _logs(words: Sequence[GroupWord]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([word.log10 for word in words], dtype=np.float64)
