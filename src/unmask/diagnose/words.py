"""Changed words of pairs and their frequencies: by wordfreq or a file of counts, by the group the words are about."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import regex

from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.core.types import Dataset, Pair
from unmask.data import language as any_language
from unmask.data.formats import SUFFIXES, read_lines, read_records
from unmask.data.language import guess_language, language_of

COLUMNS = ("word", "count")  # of a file of counts
COUNTS = "give the counts of its words (counts)"
TOP = 4  # ranked words of each group
ADVANTAGED, DISADVANTAGED = "advantaged", "disadvantaged"
WORD = regex.compile(rf"{any_language.WORD}(?:'{any_language.WORD})*")
# Names of two words, counted as their first: an African American is not also an American of the other group.
_AMERICANS = (
    "african afro anglo arab asian black chinese hispanic italian japanese jewish korean latin mexican native white"
)
TWO_WORDS = re.compile(rf"\b({_AMERICANS.replace(' ', '|')})[\s-]+americans?\b")

# The paper leaves out words that have a non-social sense too, and names white and black. The list is ours:
# colours and directions, sizes, words for anybody, names that are also nouns.
_AMBIGUOUS = """
black blacks brown dark light red white whites yellow straight straights left right
big high large little low small able fit
man people person persons guy guys
bill grace grant hope jack mark rose
"""
# Words of grammar speak of no group; he, she, him, her, his and hers do, and stay.
_GRAMMAR = """
a an the this that these those and or but nor so as if because than then
in on at of to from for with without by over under against up down out off about into
not no never always yes very too more most less much many few all both some any other another such same
is are was were be been being am do does did done have has had having
can could will would shall should may might must cannot
don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't
haven't hasn't hadn't
i me my you your we us our they them their it its who whom whose which what when where why how
one two there here just only still yet
"""
AMBIGUOUS, GRAMMAR = frozenset(_AMBIGUOUS.split()), frozenset(_GRAMMAR.split())


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """Relative word frequencies; `floor`, that of the rarest known word, is used for unknown words."""

    source: str  # "wordfreq 3.1.1 (en)", or the name of a file
    frequency: Callable[[str], float]  # 0 for an unknown word
    floor: float
    language: str = ""

    def knows(self, word: str) -> bool:
        """Whether the word has a frequency."""
        return self.frequency(word) > 0

    def log10(self, word: str) -> float:
        """Log10 of the word's frequency."""
        return math.log10(max(self.frequency(word), self.floor))


def data_frequencies(data: Dataset, counts: Path | None) -> WordFrequencies:
    """Frequencies in the language of the data; of data that do not state theirs it is guessed if counts are given."""
    language = guess_language(data) if counts else language_of(data, COUNTS)
    return replace(frequencies_for(counts, language), language=language)


def frequencies_for(counts: Path | None, language: str) -> WordFrequencies:
    """Frequencies from the file `counts`, else from wordfreq; DataError if neither is available."""
    return _wordfreq(language) if counts is None else read_counts(counts)


def frequency_differences(data: Dataset, corpus: WordFrequencies) -> dict[str, float]:
    """By pair: mean log10 frequency of the words only in `more`, minus that of those only in `less`."""
    differences = {}
    for item in data.items:
        more, less = changed_words(item.more, item.less)
        if more and less:
            differences[item.id] = fmean(map(corpus.log10, more)) - fmean(map(corpus.log10, less))
    return differences


def read_counts(path: Path) -> WordFrequencies:
    """Read counts from a table or JSON lines with `word` and `count`, or from lines of word and count."""
    expected = "a file of words and their counts"
    tabular = path.suffix.lower() in SUFFIXES
    rows = read_records(path, expected) if tabular else _split_lines(read_lines(path, expected))
    counts: dict[str, float] = {}
    for row, record in enumerate(rows):
        word, count = _checked(record, rows.at(row))
        counts[word] = counts.get(word, 0.0) + count
    total = sum(counts.values())
    if not 0 < total < math.inf:
        what = "counts that are too large" if total else "no word with a count above 0"
        raise DataError(f"{rows.where}: {what}; expected a word and its count in a row")
    shares = {word: share for word, count in counts.items() if (share := count / total)}
    return WordFrequencies(file_name(path), lambda word: shares.get(word, 0.0), min(shares.values()))


def _wordfreq(language: str) -> WordFrequencies:
    try:
        wordfreq: Any = import_module("wordfreq")
    except ImportError:
        raise DataError(
            "no word frequencies: wordfreq is not installed; "
            "install unmask[words], or pass a file of words and counts as `counts`"
        ) from None
    try:
        floor = min(wordfreq.get_frequency_dict(language).values())
    except LookupError:
        advice = "pass a file of words and counts as `counts`"
        raise DataError(f"wordfreq has no frequencies for language {language!r}; {advice}") from None
    source = f"wordfreq {version('wordfreq')} ({language})"
    return WordFrequencies(source, lambda word: float(wordfreq.word_frequency(word, language)), floor)


def _split_lines(lines: Rows) -> Rows:
    """Lines of a word and its count as records."""
    rows = []
    for number, line in enumerate(lines):
        cells = line.split()
        if len(cells) != 2:
            raise DataError(f"{lines.at(number)}: {len(cells)} fields, expected a word and its count")
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return Rows(rows, lines.where, lines.lines)


def _checked(record: Any, at: str) -> tuple[str, float]:
    """A row's word in lower case and its count."""
    if not isinstance(record, Mapping) or not all(name in record for name in COLUMNS):
        held = quote(list(record) if isinstance(record, Mapping) else record)
        raise DataError(f"{at}: found {held}, expected columns 'word' and 'count'; rename or add them")
    word, count = record["word"], record["count"]
    try:
        number = float(count)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not isinstance(word, str) or not word.strip() or not number >= 0 or math.isinf(number):
        raise DataError(
            f"{at}: word {quote(word)} with count {quote(count)}, expected a word and a number of at least 0"
        )
    return word.strip().lower(), number


@dataclass(frozen=True, slots=True)
class GroupWord:
    """A word that stands in one sentence of a pair and not in the other."""

    text: str
    count: int  # times it is changed in the dataset
    log10: float  # of its frequency in the corpus


@dataclass(frozen=True, slots=True)
class WordGroups:
    """The changed words of one bias type, each in one place; the most often changed come first."""

    advantaged: tuple[GroupWord, ...]
    disadvantaged: tuple[GroupWord, ...]
    ambiguous: tuple[GroupWord, ...]  # with another, non-social sense
    tied: tuple[GroupWord, ...]  # equally often in both groups


def words(text: str) -> list[str]:
    """Lower-case words without punctuation and possessive 's, split at hyphens; *African American* is *african*."""
    matches = WORD.findall(TWO_WORDS.sub(r"\1", text.lower().replace("’", "'")))
    return [word.removesuffix("'s") for word in matches]


def changed_words(first: str, second: str) -> tuple[list[str], list[str]]:
    """The words of each sentence that are not shared, by difflib."""
    a, b = words(first), words(second)
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    parts = [(a[i:j], b[k:m]) for tag, i, j, k, m in codes if tag != "equal"]
    return [word for part, _ in parts for word in part], [word for _, part in parts for word in part]


def words_by_group(pairs: Iterable[Pair], log10: Callable[[str], float], *, language: str = "en") -> WordGroups:
    """The changed words of the pairs by group; a word in both goes to the one where it is more frequent.

    Ambiguous and function words are listed for English only.
    """
    ambiguous, grammar = (AMBIGUOUS, GRAMMAR) if language == "en" else (frozenset(), frozenset())
    counts: dict[str, Counter[str]] = {ADVANTAGED: Counter(), DISADVANTAGED: Counter()}
    for pair in pairs:
        in_more, in_less = changed_words(pair.more, pair.less)
        disadvantaged_in_more = pair.groups.get("direction") == "stereo"
        counts[DISADVANTAGED].update(in_more if disadvantaged_in_more else in_less)
        counts[ADVANTAGED].update(in_less if disadvantaged_in_more else in_more)
    members: dict[str, list[GroupWord]] = {field.name: [] for field in fields(WordGroups)}
    for text in set().union(*counts.values()) - grammar:
        here, there = counts[ADVANTAGED][text], counts[DISADVANTAGED][text]
        group = ADVANTAGED if here > there else DISADVANTAGED
        if text in ambiguous or here == there:
            group = "ambiguous" if text in ambiguous else "tied"
        members[group].append(GroupWord(text, here + there, log10(text)))
    return WordGroups(*(tuple(sorted(own, key=_most_changed)) for own in members.values()))


def _most_changed(word: GroupWord) -> tuple[int, float, str]:
    return -word.count, -word.log10, word.text


def top_words(groups: WordGroups, *, ties: bool = True) -> tuple[tuple[GroupWord, str], ...]:
    """The four most frequent words of each group in the dataset, sorted by corpus frequency.

    With `ties`, words equally often in both groups are advantaged ones, as *doctor*, *wife* and *husband* in the paper.
    """
    advantaged = sorted((*groups.advantaged, *(groups.tied if ties else ())), key=_most_changed)
    chosen = [(word, ADVANTAGED) for word in advantaged[:TOP]]
    chosen += [(word, DISADVANTAGED) for word in groups.disadvantaged[:TOP]]
    return tuple(sorted(chosen, key=lambda entry: (-entry[0].log10, entry[0].text)))


def mean_ranks(chosen: Iterable[tuple[GroupWord, str]]) -> dict[str, float]:
    """Mean rank of each group among the top words, 1 = most frequent; empty if a group has no word."""
    from scipy.stats import rankdata

    listed = list(chosen)
    ranks = rankdata([-word.log10 for word, _ in listed])
    by_group: dict[str, list[float]] = {}
    for rank, (_, group) in zip(ranks.tolist(), listed, strict=True):
        by_group.setdefault(group, []).append(rank)
    return {group: fmean(values) for group, values in by_group.items()} if len(by_group) == 2 else {}
