"""Word frequencies, from wordfreq or from a file of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.data.formats import SUFFIXES, read_lines, read_records

COLUMNS = ("word", "count")


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """Relative word frequencies; `floor`, that of the rarest known word, is used for unknown words."""

    source: str  # "wordfreq 3.1.1 (en)", or the name of a file
    frequency: Callable[[str], float]  # 0 for an unknown word
    floor: float

    def knows(self, word: str) -> bool:
        """Whether the word has a frequency."""
        return self.frequency(word) > 0

    def log10(self, word: str) -> float:
        """Log10 of the word's frequency."""
        return math.log10(max(self.frequency(word), self.floor))


COUNTS = "give the counts of its words (counts)"


def frequencies_for(counts: Path | None, language: str) -> WordFrequencies:
    """Frequencies from the file `counts`, else from wordfreq; DataError if neither is available."""
    return _wordfreq(language) if counts is None else read_counts(counts)


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
