"""Count the words of two sets in files of any size: byte ranges in several processes, memory constant.

file ──► byte range ──► terms in it ──► sums by document ──► up to 1,000 groups of documents ──► totals

Memory does not grow with the corpus, and the ranges do not depend on the number of processes.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

import numpy as np

from unmask.core.errors import DataError
from unmask.core.options import TextLayout
from unmask.core.progress import Step
from unmask.core.signals import no_interrupts
from unmask.core.types import Ints
from unmask.corpus.matching import Matcher, Matches
from unmask.corpus.ranges import FilePart, document_starts, file_parts, read_range
from unmask.corpus.terms import TermSets
from unmask.data.documents import TABLES, Problems, existing_files, file_format, read_file
from unmask.data.language import LONGEST, ends_sentence

T = TypeVar("T")
GROUPS = 1_000  # groups of documents, the units of the intervals
SMALL = 32 << 20  # bytes; below this starting processes takes longer than counting
_AFTER = 24  # bytes of context after the mark that may end a sentence
_LINE_END = 10
_BATCH_BYTES = 8 << 20  # bytes of documents counted together


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """Counts over a corpus or a part of it."""

    terms: Ints  # by term
    groups: Ints  # by group of documents: words of the first set, of the second, all words
    documents: int
    cooccurrences: Ints  # by profession: sentences with it, also with the first set, the second
    problems: Problems = field(default_factory=Problems)
    rows: tuple[Ints, ...] = ()  # by document if `per_document`: first set, second set, all words

    @property
    def words(self) -> int:
        """The number of all words."""
        return int(self.groups[:, 2].sum())

    def set_total(self, number: int) -> int:
        """The number of words of the first (0) or second (1) set."""
        return int(self.groups[:, number].sum())


PartCallback = Callable[[Path, CorpusCounts], None]  # the file and the counts of a part of it


@dataclass(frozen=True)
class TermCounter:
    """What to count, and how files are read."""

    terms: TermSets
    layout: TextLayout = field(default_factory=TextLayout)
    per_document: bool = False
    whitespace_only: bool = False  # a word counts only with white space on both sides

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """Every term to match: both sets, then the names of professions."""
        return (*self.terms.sets[0], *self.terms.sets[1], *(form for forms in self._names for form in forms))

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self.terms.professions.values())

    @cached_property
    def set_of_form(self) -> Ints:
        """For each form: in the first set (0), in the second (1), or the name of a profession (2)."""
        sizes = [len(self.terms.sets[0]), len(self.terms.sets[1]), sum(map(len, self._names))]
        return np.repeat([0, 1, 2], sizes)

    @cached_property
    def profession_of_form(self) -> Ints:
        """For each form: the index of its profession; -1 for words of the sets."""
        words = len(self.terms.sets[0]) + len(self.terms.sets[1])
        numbers = np.repeat(np.arange(len(self._names)), [len(forms) for forms in self._names])
        return np.concatenate([np.full(words, -1), numbers]).astype(np.int64)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.forms, self.whitespace_only)

    def empty(self) -> CorpusCounts:
        """The counts of no text."""
        terms, professions = len(self.forms), len(self.terms.professions)
        rows, together = (np.zeros((size, 3), np.int64) for size in (0, professions))
        return CorpusCounts(np.zeros(terms, np.int64), rows, 0, together)

    def count_buffer(self, buffer: bytes, starts: Ints) -> CorpusCounts:
        """Count consecutive documents that begin at `starts`."""
        matches = self._matcher.find(buffer, starts)
        document = np.searchsorted(starts, matches.starts, side="right") - 1
        sides = self.set_of_form[matches.terms]
        sets = [np.bincount(document[sides == set_index], minlength=len(starts)) for set_index in (0, 1)]
        words = np.diff(np.append(matches.before, matches.words))
        rows = np.stack([*sets, words], axis=1).astype(np.int64)
        return CorpusCounts(
            terms=np.bincount(matches.terms, minlength=len(self.forms)),
            groups=rows if len(rows) <= GROUPS else deal_into_groups(rows),
            documents=len(starts),
            cooccurrences=self._count_cooccurrences(buffer, matches),
            rows=(rows,) if self.per_document else (),
        )

    def _count_cooccurrences(self, buffer: bytes, matches: Matches) -> Ints:
        """By profession: sentences with it, and of these those with a word of the first and second set."""
        counts = np.zeros((len(self.terms.professions), 3), dtype=np.int64)
        if not len(counts):
            return counts
        sides = self.set_of_form[matches.terms]
        words = [matches.starts[sides == number].tolist() for number in (0, 1)]
        marks = sentence_marks(buffer)
        begin = end = -1
        seen: set[int] = set()
        named = self.profession_of_form[matches.terms[sides == 2]].tolist()
        for start, profession in zip(matches.starts[sides == 2].tolist(), named, strict=True):
            if start >= end:
                begin, end = sentence_around(buffer, marks, start)
                seen = set()
            if profession not in seen:
                seen.add(profession)
                has_word = [bisect_left(of_set, begin) < bisect_left(of_set, end) for of_set in words]
                counts[profession] += (1, *has_word)
        return counts

    def count_part(self, part: FilePart) -> CorpusCounts:
        """Count a whole file, or the documents that begin in a byte range of a plain text file."""
        if part.whole:
            return self.count_file(part.path)
        first, text = read_range(part.path, part.begin, part.end, self.layout.unit)
        problems = Problems()
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"{part.path.name}, byte {first + error.start:,} (from 0)"
            problems = Problems(1, [f"{place}: not UTF-8, and perhaps others after it"])
        return replace(self.count_buffer(text, document_starts(text, self.layout.unit)), problems=problems)

    def count_file(self, path: Path) -> CorpusCounts:
        """Count a file that must be read from its beginning (a table, or compressed)."""
        single = self.layout.unit == "file" and file_format(path) not in TABLES
        layout = replace(self.layout, unit="line") if single else self.layout
        problems, total = Problems(), self.empty()
        texts = (document.text.encode("utf-8", errors="replace") for document in read_file(path, layout, problems))
        for batch in document_batches(texts, len):
            buffer = b"\n".join(batch)
            sizes = np.array([len(text) + 1 for text in batch[:-1]], dtype=np.int64)
            starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            counts = self.count_buffer(buffer, starts[:1] if single else starts)
            total = add_counts(total, counts, same_document=single and total.documents > 0)
        return replace(total, problems=problems)


def count_files(
    paths: Iterable[str | Path],
    counter: TermCounter,
    *,
    processes: int | None = None,
    step: Step | None = None,
    on_part: PartCallback | None = None,
) -> CorpusCounts:
    """Count all files; `on_part` receives each file and the counts of its parts, in order."""
    parts = list(file_parts(existing_files(paths)))
    return sum_parts(parts, _count_parts(parts, counter, processes), counter, step=step, on_part=on_part)


def sum_parts(
    parts: Sequence[FilePart],
    counted: Iterable[CorpusCounts],
    counter: TermCounter,
    *,
    step: Step | None = None,
    on_part: PartCallback | None = None,
) -> CorpusCounts:
    """The sum of the counts of all parts, which come in their order; an error if there are no words."""
    total, last, done = counter.empty(), Path(), 0
    size = sum(part.end - part.begin for part in parts)
    for part, counts in zip(parts, counted, strict=True):
        same = counter.layout.unit == "file" and part.path == last and not part.whole
        if on_part is not None:
            on_part(part.path, counts)
        total = add_counts(total, replace(counts, rows=()), same_document=same)
        last, done = part.path, done + part.end - part.begin
        if step is not None:
            step(done / size if size else 1.0)
    if not total.words:
        names = dict.fromkeys(part.path.name for part in parts)
        raise DataError(f"no words in {', '.join([*names][:5]) or 'these files'}: do they contain text?")
    return total


def add_counts(counts: CorpusCounts, other: CorpusCounts, *, same_document: bool = False) -> CorpusCounts:
    """Add two counts; with `same_document` the second continues the last document of the first."""
    documents = counts.documents + (0 if same_document else other.documents)
    if same_document:
        joined = counts.groups.copy()
        joined[(counts.documents - 1) % GROUPS] += other.groups.sum(0)
    elif len(counts.groups) + len(other.groups) <= GROUPS:
        joined = np.concatenate([counts.groups, other.groups])
    else:  # continue the round-robin of the first
        joined = deal_into_groups(other.groups, counts.documents % GROUPS)
        joined[: len(counts.groups)] += counts.groups
    problems = Problems(counts.problems.count, list(counts.problems.first))
    problems.merge(other.problems)
    together = counts.cooccurrences + other.cooccurrences
    rows = (*counts.rows, *other.rows)
    return CorpusCounts(counts.terms + other.terms, joined, documents, together, problems, rows)


def deal_into_groups(rows: Ints, first: int = 0) -> Ints:
    """Sum rows into `GROUPS` groups, round-robin from group `first` on."""
    groups = np.zeros((GROUPS, rows.shape[1]), dtype=np.int64)
    np.add.at(groups, (first + np.arange(len(rows))) % GROUPS, rows)
    return groups


def _count_parts(parts: Sequence[FilePart], counter: TermCounter, processes: int | None) -> Iterator[CorpusCounts]:
    """The counts of the parts, in order; at most two parts per process are queued."""
    workers = min(len(parts), processes or os.cpu_count() or 1)
    if workers <= 1 or (processes is None and sum(part.end - part.begin for part in parts) < SMALL):
        yield from map(counter.count_part, parts)
        return
    others = {*active_children()}
    with ProcessPoolExecutor(workers, get_context("spawn"), _init_worker, (counter,)) as pool, _ended_on_error(others):
        waiting: list[Future[CorpusCounts]] = []
        for part in parts:
            with no_interrupts():  # a worker is started here
                waiting.append(pool.submit(_count_in_worker, part))
            if len(waiting) >= 2 * workers:
                yield waiting.pop(0).result()
        yield from (future.result() for future in waiting)


@contextmanager
def _ended_on_error(others: Container[BaseProcess]) -> Iterator[None]:
    """End all child processes but the `others` when the block fails: the pool would wait for their work."""
    try:
        yield
    except BaseException:
        for child in active_children():
            if child not in others:
                child.terminate()
        raise


_worker_counter: list[TermCounter] = []  # in a worker process: the counter it was started with


def _init_worker(counter: TermCounter) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker_counter[:] = [counter]


def _end_with_parent() -> None:
    """End this worker when its parent process has ended, however it ended."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _count_in_worker(part: FilePart) -> CorpusCounts:
    return _worker_counter[0].count_part(part)


def document_batches(documents: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Batches of documents of a few megabytes in all."""
    batch, size = list[T](), 0
    for document in documents:
        batch.append(document)
        size += length(document)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def sentence_marks(buffer: bytes) -> list[int]:
    """Where a sentence may end: at a mark, or at the end of a line."""
    raw = np.frombuffer(buffer, np.uint8)
    return np.flatnonzero((raw == 46) | (raw == 33) | (raw == 63) | (raw == _LINE_END)).tolist()  # . ! ?


def sentence_around(buffer: bytes, marks: list[int], position: int) -> tuple[int, int]:
    """Begin and end of the sentence around a position."""
    after = bisect_right(marks, position)
    before = after - 1
    while after < len(marks) and not _ends(buffer, marks[after]):
        after += 1
    while before >= 0 and not _ends(buffer, marks[before]):
        before -= 1
    return (marks[before] + 1 if before >= 0 else 0), (marks[after] if after < len(marks) else len(buffer))


def _ends(buffer: bytes, mark: int) -> bool:
    """Does a sentence end at this mark?"""
    if buffer[mark] == _LINE_END:
        return True
    before = buffer[max(0, mark - LONGEST - 1) : mark].decode("utf-8", errors="ignore")
    after = buffer[mark : mark + _AFTER].decode("utf-8", errors="ignore")
    return ends_sentence(before, after.partition("\n")[0])
