"""Find the sentences of a corpus that have a word of a group and an attribute of a lexicon, in constant memory.

documents ──► batches of a few megabytes ──► terms ──► sentences with both ──► table, counts by document

An attribute may have a group that it is stereotypically said of: a sentence with a word of this group, and none of the
other, follows the stereotype; one with a word of the other group only goes against it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.corpus.counting import GROUPS, TermCounter, document_batches, sentence_around, sentence_marks
from unmask.corpus.matching import Matcher
from unmask.corpus.tables import ColumnKind, table_writer
from unmask.data.documents import Document
from unmask.data.language import CLOSING

BATCH_ROWS = 1_000  # sentences written at a time
MAX_SHOWN = 2_000  # characters of a sentence in the table; of a longer one, those around its first term
Reading = Literal["stereotype", "counter", "mixed", ""]
Words = tuple[str, ...]
_LEAD = re.compile(rf"[{re.escape(CLOSING)}]*\s+")  # what belongs to the sentence before


@dataclass(frozen=True, slots=True)
class FlaggedTerms:
    """The terms of a flagged sentence, each once, as the lists have them, and how it reads."""

    first: Words  # of the first group
    second: Words
    attributes: Words
    reading: Reading


@dataclass(frozen=True, slots=True)
class FlaggedSentence:
    """A sentence with a word of a group and an attribute, and where it is."""

    file: str
    document: int  # from 0, as in the file
    offset: int  # of its first character in the document, from 0
    text: str
    terms: FlaggedTerms


@dataclass(slots=True)
class FlagCounts:
    """Counts over a corpus; they grow as it is read."""

    attributes: Ints  # by attribute: flagged sentences with it, of these with the first group, with the second
    groups: Ints = field(default_factory=lambda: np.zeros((GROUPS, 4), np.int64))  # stereotype, counter, all, words
    documents: int = 0

    def by_group(self) -> Ints:
        """The counts by group of documents; by document if there are few."""
        return self.groups[: min(self.documents, GROUPS)]

    @property
    def totals(self) -> tuple[int, int, int, int]:
        """Sentences that follow the stereotype, that go against it, all flagged ones; and words."""
        stereotype, counter, flagged, words = self.groups.sum(0).tolist()
        return stereotype, counter, flagged, words


@dataclass(frozen=True)
class Flagger:
    """Two groups of words and attributes, with the group (0 or 1) that each is stereotypically said of."""

    counter: TermCounter
    expected: Mapping[str, int]

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.counter.forms, self.counter.whitespace_only)

    @cached_property
    def _attributes(self) -> tuple[str, ...]:
        return tuple(self.counter.terms.professions)

    def empty(self) -> FlagCounts:
        """The counts of no text."""
        return FlagCounts(np.zeros((len(self._attributes), 3), np.int64))

    def flag(self, documents: Iterable[Document], counts: FlagCounts) -> Iterator[FlaggedSentence]:
        """Yield the flagged sentences of documents, and add to the counts."""
        for batch in document_batches(documents, lambda document: len(document.text)):
            yield from self._flag_batch(batch, counts)
        if not counts.totals[3]:
            raise DataError("no words in these files: do they contain text?")

    def _flag_batch(self, batch: Sequence[Document], counts: FlagCounts) -> Iterator[FlaggedSentence]:
        texts = [document.text.encode("utf-8", errors="replace") for document in batch]
        buffer = b"\n".join(texts)
        begins = np.concatenate([[0], np.cumsum([len(text) + 1 for text in texts[:-1]])]).astype(np.int64)
        matches = self._matcher.find(buffer, begins)
        groups = (counts.documents + np.arange(len(batch))) % GROUPS
        np.add.at(counts.groups[:, 3], groups, np.diff(np.append(matches.before, matches.words)))
        for begin, end, some in _sentences(buffer, matches.starts.tolist()):
            found = self._terms(matches.terms[some])
            if found is None:
                continue
            number = int(np.searchsorted(begins, begin, side="right")) - 1
            self._count(counts, int(groups[number]), found)
            before = buffer[begins[number] : begin].decode("utf-8", errors="replace")
            term = len(buffer[begin : int(matches.starts[some.start])].decode("utf-8", errors="replace"))
            offset, text = _excerpt(buffer[begin:end].decode("utf-8", errors="replace"), term)
            yield FlaggedSentence(batch[number].file, batch[number].row, len(before) + offset, text, found)
        counts.documents += len(batch)

    def _terms(self, terms: Ints) -> FlaggedTerms | None:
        """The words of both groups and the attributes among the terms of a sentence; None if it is not flagged."""
        sides = self.counter.set_of_form[terms]
        first, second = (
            tuple(dict.fromkeys(self.counter.forms[term] for term in terms[sides == side].tolist())) for side in (0, 1)
        )
        numbers = dict.fromkeys(self.counter.profession_of_form[terms[sides == 2]].tolist())
        if not numbers or not (first or second):
            return None
        attributes = tuple(self._attributes[number] for number in numbers)
        return FlaggedTerms(first, second, attributes, self._reading(first, second, attributes))

    def _reading(self, first: Words, second: Words, attributes: Words) -> Reading:
        expected = {self.expected[name] for name in attributes if name in self.expected}
        if not expected:
            return ""
        if len(expected) > 1 or (first and second):
            return "mixed"
        return "stereotype" if bool(first) == (0 in expected) else "counter"

    def _count(self, counts: FlagCounts, group: int, found: FlaggedTerms) -> None:
        counts.groups[group, 2] += 1
        if found.reading in ("stereotype", "counter"):
            counts.groups[group, 0 if found.reading == "stereotype" else 1] += 1
        for name in found.attributes:
            counts.attributes[self._attributes.index(name)] += (1, bool(found.first), bool(found.second))


def _sentences(buffer: bytes, starts: Sequence[int]) -> Iterator[tuple[int, int, slice]]:
    """Begin and end of every sentence with a term, its mark included, and its terms' numbers."""
    marks, position = sentence_marks(buffer), 0
    while position < len(starts):
        begin, end = sentence_around(buffer, marks, starts[position])
        last = bisect_left(starts, end, position)
        yield begin, end + (buffer[end : end + 1] in (b".", b"!", b"?")), slice(position, max(last, position + 1))
        position = max(last, position + 1)


def _excerpt(raw: str, term: int) -> tuple[int, str]:
    """What is shown of a sentence, and its offset; `term` is where its first term is."""
    match = _LEAD.match(raw)
    begin = match.end() if match else 0
    if len(raw) - begin > MAX_SHOWN:
        begin = max(begin, min(term - MAX_SHOWN // 2, len(raw) - MAX_SHOWN))
    return begin, raw[begin : begin + MAX_SHOWN].rstrip()


@contextmanager
def sentence_writer(path: Path, names: tuple[str, str]) -> Iterator[Callable[[FlaggedSentence], None]]:
    """Yield a function that writes a sentence to a table, CSV or Parquet."""
    columns: dict[str, ColumnKind] = {"file": "text", "document": "integer", "offset": "integer", "sentence": "text"}
    words = (*names, "attributes", "reading")
    if len({*columns, *words}) < len(columns) + len(words):
        raise DataError(f"{path}: two columns of the table have one name: {', '.join((*columns, *words))}")
    pending: list[FlaggedSentence] = []
    with table_writer(path, {**columns, **dict.fromkeys(words, "text")}) as write_rows:

        def write_pending() -> None:
            rows = [
                (
                    *(each.file, each.document, each.offset, each.text),
                    *("; ".join(part) for part in (each.terms.first, each.terms.second, each.terms.attributes)),
                    each.terms.reading,
                )
                for each in pending
            ]
            write_rows([*zip(*rows, strict=True)])
            pending.clear()

        def write(sentence: FlaggedSentence) -> None:
            pending.append(sentence)
            if len(pending) >= BATCH_ROWS:
                write_pending()

        yield write
        if pending:
            write_pending()
