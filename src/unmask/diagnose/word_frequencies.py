"""Word frequencies, from wordfreq or from a file of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.data.formats import SUFFIXES, decode, records

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


def frequencies_for(counts: Path | None, language: str) -> WordFrequencies:
    """Frequencies from the file `counts`, else from wordfreq; DataError if neither is available."""
    return _wordfreq(language) if counts is None else read_counts(counts)


def read_counts(path: Path) -> WordFrequencies:
    """Read counts from a table or JSON lines with `word` and `count`, or from lines of word and count."""
    try:
        data = path.read_bytes()
    except OSError as error:
        why = error.strerror or "it cannot be read"
        raise DataError(f"{path}: {why}; expected a file of words and their counts") from None
    tabular = path.suffix.lower() in SUFFIXES
    rows = records(data, path.suffix, path.name) if tabular else _lines(decode(data, path.name), path.name)
    counts: dict[str, float] = {}
    for row, record in enumerate(rows):
        word, count = _checked(record, f"{path.name}, row {row} (from 0)")
        counts[word] = counts.get(word, 0.0) + count
    total = sum(counts.values())
    if not total:
        raise DataError(f"{path.name}: no word with a count above 0; expected a word and its count in a row")
    shares = {word: count / total for word, count in counts.items() if count}
    return WordFrequencies(path.name, lambda word: shares.get(word, 0.0), min(shares.values()))


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


def _lines(text: str, where: str) -> list[dict[str, str]]:
    """Parse lines of a word and its count; empty lines are skipped."""
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split()
        if cells and len(cells) != 2:
            raise DataError(f"{where}, line {number}: {len(cells)} fields, expected a word and its count")
        rows += [dict(zip(COLUMNS, cells, strict=True))] if cells else []
    return rows


def _checked(record: Any, at: str) -> tuple[str, float]:
    """A row's word in lower case and its count."""
    if not isinstance(record, Mapping) or not all(name in record for name in COLUMNS):
        held = ", ".join(map(str, record)) if isinstance(record, Mapping) else type(record).__name__
        raise DataError(f"{at}: found {held or 'nothing'}, expected columns 'word' and 'count'; rename or add them")
    word, count = str(record["word"]).strip().lower(), record["count"]
    try:
        number = float(count)
    except (TypeError, ValueError):
        number = math.nan
    if not word or not number >= 0 or math.isinf(number):
        raise DataError(f"{at}: word {word!r} with count {count!r}, expected a word and a number of at least 0")
    return word, number
