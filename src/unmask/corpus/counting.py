"""Count the words of two sets in files of any size: parts of files in several processes, sums of fixed size.

file ──► part of it ──► terms in it ──► sums by document ──► up to 1,000 groups of documents ──► all sums

What is kept does not grow with the corpus. How it is cut does not depend on the number of processes.
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
from unmask.corpus.documents import (
    TABLES,
    Problems,
    TextLayout,
    existing_files,
    file_format,
    is_plain_text,
    read_file,
)
from unmask.corpus.matching import Matcher
from unmask.corpus.ranges import byte_ranges, document_starts, read_range
from unmask.corpus.terms import TermSets

GROUPS = 1_000  # of documents; what intervals are computed over
SMALL = 32 << 20  # bytes; below this starting processes takes longer than counting
_HELD = 8 << 20  # bytes of documents counted together

ByteProgress = Callable[[int], None]  # bytes of files done since the last time


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """Sums over a part of a corpus."""

    terms: Ints  # by term
    groups: Ints  # by group of documents: words of the first set, of the second, words in all
    documents: int
    cooccurrences: Ints  # by thing: sentences with it, of these with a word of the first set, of the second
    problems: Problems = field(default_factory=Problems)
    rows: tuple[Ints, ...] = ()  # by document, where asked for: first, second, words

    @property
    def words(self) -> int:
        """Words in all."""
        return int(self.groups[:, 2].sum())

    def set_total(self, number: int) -> int:
        """Words of the first (0) or second (1) set."""
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
        """Every term looked for: both sets, then the names of things."""
        return (*self.terms.sets[0], *self.terms.sets[1], *(one for many in self._names for one in many))

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self.terms.professions.values())

    @cached_property
    def set_of_form(self) -> Ints:
        """Of each form: of the first set (0), the second (1) or a thing's name (2)."""
        sizes = [len(self.terms.sets[0]), len(self.terms.sets[1]), sum(map(len, self._names))]
        return np.repeat([0, 1, 2], sizes)

    @cached_property
    def profession_of_form(self) -> Ints:
        """Of each form: the number of the thing it names; -1 for words of the sets."""
        words = len(self.terms.sets[0]) + len(self.terms.sets[1])
        numbers = np.repeat(np.arange(len(self._names)), [len(many) for many in self._names])
        return np.concatenate([np.full(words, -1), numbers]).astype(np.int64)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.forms, self.whitespace_only)

    def empty(self) -> CorpusCounts:
        """The sums over no text."""
        things = len(self.terms.professions)
        empty = np.zeros((0, 3), dtype=np.int64)
        return CorpusCounts(np.zeros(len(self.forms), np.int64), empty, 0, np.zeros((things, 3), np.int64))

    def count_buffer(self, buffer: bytes, begins: Ints) -> CorpusCounts:
        """The sums over documents that lie one behind another."""
        found = self._matcher.find(buffer, begins)
        place = np.searchsorted(begins, found.starts, side="right") - 1
        sides = self.set_of_form[found.terms]
        sets = [np.bincount(place[sides == one], minlength=len(begins)) for one in (0, 1)]
        words = np.diff(np.append(found.before, found.words))
        rows = np.stack([*sets, words], axis=1).astype(np.int64)
        things = len(self.terms.professions)
        return CorpusCounts(
            terms=np.bincount(found.terms, minlength=len(self.forms)),
            groups=rows if len(rows) <= GROUPS else deal_into_groups(rows),
            documents=len(begins),
            cooccurrences=count_cooccurrences(
                buffer, found, self.set_of_form, self.profession_of_form, things
            )
            if things
            else np.zeros((0, 3), np.int64),
            rows=(rows,) if self.per_document else (),
        )

    def count_range(self, path: Path, begin: int, end: int) -> CorpusCounts:
        """The sums over a part of a plain text file."""
        text = read_range(path, begin, end, self.layout.unit)
        problems = Problems()
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.add(path.name, begin + error.start, "this byte (and perhaps others) is not UTF-8")
        return replace(self.count_buffer(text, document_starts(text, self.layout.unit)), problems=problems)

    def count_file(self, path: Path) -> CorpusCounts:
        """The sums over a file that must be read from its beginning."""
        one = self.layout.unit == "file" and file_format(path) not in TABLES
        layout = replace(self.layout, unit="line") if one else self.layout
        problems, total = Problems(), self.empty()
        texts = (
            document.text.encode("utf-8", errors="replace") for document in read_file(path, layout, problems)
        )
        for held in _held(texts):
            buffer = b"\n".join(held)
            sizes = np.array([len(text) + 1 for text in held[:-1]], dtype=np.int64)
            begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            some = self.count_buffer(buffer, begins[:1] if one else begins)
            total = add_counts(total, some, same_document=one and total.documents > 0)
        return replace(total, problems=problems)


def count(
    paths: Iterable[str | Path],
    counter: TermCounter,
    *,
    processes: int | None = None,
    progress: ByteProgress | None = None,
    on_part: Callable[[Path, CorpusCounts], None] | None = None,
) -> CorpusCounts:
    """The sums over all files; `on_part` receives the sums of every part in order, with their file."""
    files = existing_files(paths)
    total, last = counter.empty(), Path()
    for task, some in _counted(list(_tasks(files)), counter, processes):
        same = counter.layout.unit == "file" and task.path == last and is_plain_text(task.path)
        if on_part is not None:
            on_part(task.path, some)
        total = add_counts(total, replace(some, rows=()), same_document=same)
        last = task.path
        if progress is not None:
            progress(task.size)
    if not total.words:
        raise DataError(f"no words in {', '.join(path.name for path in files[:5])}: is there text in it?")
    return total


def add_counts(one: CorpusCounts, other: CorpusCounts, *, same_document: bool = False) -> CorpusCounts:
    """The sums over both; with `same_document` the other is the rest of the first's last document."""
    if same_document:
        joined = one.groups.copy()
        joined[(one.documents - 1) % GROUPS] += other.groups.sum(0)
        documents = one.documents
    else:
        joined, documents = _joined(one, other), one.documents + other.documents
    problems = Problems(one.problems.count, list(one.problems.first))
    problems.merge(other.problems)
    rows = (*one.rows, *other.rows)
    return CorpusCounts(
        one.terms + other.terms, joined, documents, one.cooccurrences + other.cooccurrences, problems, rows
    )


def deal_into_groups(rows: Ints, first: int = 0) -> Ints:
    """The sums of rows that are dealt in turn to `GROUPS` groups."""
    made = np.zeros((GROUPS, rows.shape[1]), dtype=np.int64)
    np.add.at(made, (first + np.arange(len(rows))) % GROUPS, rows)
    return made


def _joined(one: CorpusCounts, other: CorpusCounts) -> Ints:
    """Groups side by side while they are few, else the other's dealt on from where the first ended."""
    if len(one.groups) + len(other.groups) <= GROUPS:
        return np.concatenate([one.groups, other.groups])
    made = deal_into_groups(other.groups, one.documents % GROUPS)
    made[: len(one.groups)] += one.groups
    return made


@dataclass(frozen=True, slots=True)
class _Task:
    path: Path
    begin: int
    end: int | None  # None: the whole file, through its reader
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
    """Tasks and their sums, in order; never more than twice as many at once as there are processes."""
    workers = min(len(tasks), processes or os.cpu_count() or 1)
    if workers <= 1 or (processes is None and sum(one.size for one in tasks) < SMALL):
        yield from ((task, _run(task, counter)) for task in tasks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (counter,)) as pool:
        waiting: list[tuple[_Task, Future[CorpusCounts]]] = []
        for task in tasks:
            waiting.append((task, pool.submit(_work, task)))
            if len(waiting) >= 2 * workers:
                first, future = waiting.pop(0)
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()


_mine: list[TermCounter] = []  # of a worker process: what it was started with


def _begin(counter: TermCounter) -> None:
    _mine[:] = [counter]


def _work(task: _Task) -> CorpusCounts:
    return _run(task, _mine[0])


def _held(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Documents in batches of a few megabytes."""
    batch, size = list[bytes](), 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _HELD:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
