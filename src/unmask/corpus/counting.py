"""Count the words of two sets in files of any size: byte ranges in several processes, memory constant.

file ──► byte range ──► terms in it ──► sums by document ──► up to 1,000 groups of documents ──► totals

Memory does not grow with the corpus, and the ranges do not depend on the number of processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.corpus.cooccurrence import count_cooccurrences
from unmask.corpus.matching import Matcher
from unmask.corpus.ranges import byte_ranges, document_starts, read_range
from unmask.corpus.terms import TermSets
from unmask.data.documents import read_file
from unmask.data.text_files import (
    TABLES,
    Problems,
    TextLayout,
    existing_files,
    file_format,
    is_plain_text,
)

GROUPS = 1_000  # groups of documents, the units of the intervals
SMALL = 32 << 20  # bytes; below this starting processes takes longer than counting
_BATCH_BYTES = 8 << 20  # bytes of documents counted together

ByteProgress = Callable[[int], None]  # bytes read since the last call


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
        professions = len(self.terms.professions)
        empty = np.zeros((0, 3), dtype=np.int64)
        return CorpusCounts(
            np.zeros(len(self.forms), np.int64), empty, 0, np.zeros((professions, 3), np.int64)
        )

    def count_buffer(self, buffer: bytes, starts: Ints) -> CorpusCounts:
        """Count consecutive documents that begin at `starts`."""
        matches = self._matcher.find(buffer, starts)
        document = np.searchsorted(starts, matches.starts, side="right") - 1
        sides = self.set_of_form[matches.terms]
        sets = [np.bincount(document[sides == set_index], minlength=len(starts)) for set_index in (0, 1)]
        words = np.diff(np.append(matches.before, matches.words))
        rows = np.stack([*sets, words], axis=1).astype(np.int64)
        professions = len(self.terms.professions)
        return CorpusCounts(
            terms=np.bincount(matches.terms, minlength=len(self.forms)),
            groups=rows if len(rows) <= GROUPS else deal_into_groups(rows),
            documents=len(starts),
            cooccurrences=count_cooccurrences(
                buffer, matches, self.set_of_form, self.profession_of_form, professions
            )
            if professions
            else np.zeros((0, 3), np.int64),
            rows=(rows,) if self.per_document else (),
        )

    def count_range(self, path: Path, begin: int, end: int) -> CorpusCounts:
        """Count the documents that begin in a byte range of a plain text file."""
        first, text = read_range(path, begin, end, self.layout.unit)
        problems = Problems()
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"{path.name}, byte {first + error.start:,} (from 0)"
            problems = Problems(1, [f"{place}: not UTF-8, and perhaps others after it"])
        return replace(self.count_buffer(text, document_starts(text, self.layout.unit)), problems=problems)

    def count_file(self, path: Path) -> CorpusCounts:
        """Count a file that must be read from its beginning (a table, or compressed)."""
        single = self.layout.unit == "file" and file_format(path) not in TABLES
        layout = replace(self.layout, unit="line") if single else self.layout
        problems, total = Problems(), self.empty()
        texts = (
            document.text.encode("utf-8", errors="replace") for document in read_file(path, layout, problems)
        )
        for batch in _batches(texts):
            buffer = b"\n".join(batch)
            sizes = np.array([len(text) + 1 for text in batch[:-1]], dtype=np.int64)
            starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            counts = self.count_buffer(buffer, starts[:1] if single else starts)
            total = add_counts(total, counts, same_document=single and total.documents > 0)
        return replace(total, problems=problems)


def count(
    paths: Iterable[str | Path],
    counter: TermCounter,
    *,
    processes: int | None = None,
    progress: ByteProgress | None = None,
    on_part: Callable[[Path, CorpusCounts], None] | None = None,
) -> CorpusCounts:
    """Count all files; `on_part` receives each file and the counts of its parts, in order."""
    files = existing_files(paths)
    total, last = counter.empty(), Path()
    for task, counts in _counted(list(_tasks(files)), counter, processes):
        same = counter.layout.unit == "file" and task.path == last and is_plain_text(task.path)
        if on_part is not None:
            on_part(task.path, counts)
        total = add_counts(total, replace(counts, rows=()), same_document=same)
        last = task.path
        if progress is not None:
            progress(task.size)
    if not total.words:
        raise DataError(f"no words in {', '.join(path.name for path in files[:5])}: do they contain text?")
    return total


def add_counts(counts: CorpusCounts, other: CorpusCounts, *, same_document: bool = False) -> CorpusCounts:
    """Add two counts; with `same_document` the second continues the last document of the first."""
    if same_document:
        joined = counts.groups.copy()
        joined[(counts.documents - 1) % GROUPS] += other.groups.sum(0)
        documents = counts.documents
    else:
        joined, documents = _joined(counts, other), counts.documents + other.documents
    problems = Problems(counts.problems.count, list(counts.problems.first))
    problems.merge(other.problems)
    rows = (*counts.rows, *other.rows)
    return CorpusCounts(
        counts.terms + other.terms,
        joined,
        documents,
        counts.cooccurrences + other.cooccurrences,
        problems,
        rows,
    )


def deal_into_groups(rows: Ints, first: int = 0) -> Ints:
    """Sum rows into `GROUPS` groups, round-robin from group `first` on."""
    groups = np.zeros((GROUPS, rows.shape[1]), dtype=np.int64)
    np.add.at(groups, (first + np.arange(len(rows))) % GROUPS, rows)
    return groups


def _joined(counts: CorpusCounts, other: CorpusCounts) -> Ints:
    """Concatenate the groups while they are few, else continue the round-robin of the first."""
    if len(counts.groups) + len(other.groups) <= GROUPS:
        return np.concatenate([counts.groups, other.groups])
    groups = deal_into_groups(other.groups, counts.documents % GROUPS)
    groups[: len(counts.groups)] += counts.groups
    return groups


@dataclass(frozen=True, slots=True)
class _Task:
    path: Path
    begin: int
    end: int | None  # None: read the whole file through its reader
    size: int


def _tasks(files: Sequence[Path]) -> Iterator[_Task]:
    for path in files:
        size = path.stat().st_size
        if is_plain_text(path):
            yield from (_Task(path, begin, end, end - begin) for begin, end in byte_ranges(size))
        else:
            yield _Task(path, 0, None, size)


def _run(task: _Task, counter: TermCounter) -> CorpusCounts:
    return (
        counter.count_file(task.path)
        if task.end is None
        else counter.count_range(task.path, task.begin, task.end)
    )


def _counted(
    tasks: Sequence[_Task], counter: TermCounter, processes: int | None
) -> Iterator[tuple[_Task, CorpusCounts]]:
    """Tasks and their counts, in order; at most two tasks per process are queued."""
    workers = min(len(tasks), processes or os.cpu_count() or 1)
    if workers <= 1 or (processes is None and sum(task.size for task in tasks) < SMALL):
        yield from ((task, _run(task, counter)) for task in tasks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _init_worker, (counter,)) as pool:
        waiting: list[tuple[_Task, Future[CorpusCounts]]] = []
        for task in tasks:
            waiting.append((task, pool.submit(_work, task)))
            if len(waiting) >= 2 * workers:
                first, future = waiting.pop(0)
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()


_worker_counter: list[TermCounter] = []  # in a worker process: the counter it was started with


def _init_worker(counter: TermCounter) -> None:
    _worker_counter[:] = [counter]


def _work(task: _Task) -> CorpusCounts:
    return _run(task, _worker_counter[0])


def _batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Batches of documents of a few megabytes."""
    batch, size = list[bytes](), 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
