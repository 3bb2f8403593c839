"""Progress: one callback that everything long-running calls, and one bar that shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from unmask.core.errors import one_line

if TYPE_CHECKING:
    from rich.progress import TaskID

INTERVAL = 30.0  # seconds between two lines where stderr is no terminal


class Progress(Protocol):
    """Called with a label, the share done (0 to 1), the total number of units, and a note (the loss)."""

    def __call__(self, label: str, share: float, total: int, note: str = "") -> None:
        """Report progress."""


PREPARE, PREPARATIONS = "prepare", ("import torch", "read the data", "load the model")
Step = Callable[[float], None]  # the share done of one labelled piece of work


def silent(label: str, share: float, total: int, note: str = "") -> None:
    """A callback that does nothing."""


def steps_of(progress: Progress | None, label: str, total: int) -> Step:
    """The callback of one piece of work: it takes the share done."""
    report = progress or silent
    return lambda share: report(label, share, total)


def report_preparation(progress: Progress | None, what: str = "") -> None:
    """Report which of the preparations begins, so that something is seen before the first score; empty: all done."""
    done = PREPARATIONS.index(what) if what else len(PREPARATIONS)
    (progress or silent)(PREPARE, done / len(PREPARATIONS), len(PREPARATIONS), what)


def with_label(progress: Progress | None, label: str) -> Progress:
    """The same callback under another label."""
    report = progress or silent
    return lambda _, share, total, note="": report(label, share, total, note)


def with_prefix(progress: Progress | None, prefix: str) -> Progress:
    """The same callback, its labels after a prefix: `before: pll, nine-axes`."""
    report = progress or silent
    return lambda label, share, total, note="": report(f"{prefix}: {label}", share, total, note)


def part_of(step: Step, begin: float, share: float) -> Step:
    """The callback of a part: its 0 to 1 is `begin` to `begin + share` of the whole."""
    return lambda part: step(begin + part * share)


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on stderr with rate, note and remaining time; each label has its own line.

    Where stderr is no terminal, as in CI, a plain line every `INTERVAL` seconds says what is being done.
    """
    with _live_bar() if sys.stderr.isatty() and not quiet else progress_lines(quiet=quiet) as update:
        yield update


@contextmanager
def _live_bar() -> Iterator[Progress]:
    """The bar in a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    tasks: dict[str, TaskID] = {}

    def update(label: str, share: float, total: int, note: str = "") -> None:
        bar.start()  # only once there is something to show
        if label not in tasks:
            tasks[label] = bar.add_task(one_line(label), total=total, completed=round(share * total), note="")
        task = bar.tasks[tasks[label]]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        bar.update(task.id, completed=round(share * total, 1), note=one_line(note) or rate)

    try:
        yield update
    finally:
        if tasks:
            bar.stop()


@dataclass(slots=True)
class _Work:
    """The latest report of a piece of work, and when and where it began."""

    label: str
    share: float
    total: int
    note: str
    began: float
    began_at: float  # share

    def line(self, now: float) -> str:
        """Such as `unmask: crows-pairs: 420 of 1,508 (28%), 5 min left`."""
        parts = [f"{round(self.share * self.total):,} of {self.total:,} ({self.share:.0%})", self.note]
        spent, done = now - self.began, self.share - self.began_at
        if spent > 0 and done > 0 and self.share < 1:
            parts.append(f"{max(1, round((1 - self.share) * spent / done / 60)):,} min left")
        return f"unmask: {self.label}: {', '.join(filter(None, parts))}"


@contextmanager
def progress_lines(*, quiet: bool = False) -> Iterator[Progress]:
    """A line on stderr every `INTERVAL` seconds about what was reported last, also while nothing is reported."""
    if quiet:
        yield silent
        return
    works: dict[str, _Work] = {}
    latest: list[_Work] = []
    ended = Event()

    def update(label: str, share: float, total: int, note: str = "") -> None:
        named, now = one_line(label), monotonic()
        work = works.setdefault(label, _Work(named, share, total, "", now, share))
        if share < work.share:  # the same work from the beginning, such as after a mitigation
            work.began, work.began_at = now, share
        work.share, work.total, work.note = share, total, one_line(note)
        latest[:] = [work]

    def report() -> None:
        while not ended.wait(INTERVAL):
            if latest:
                sys.stderr.write(f"{latest[0].line(monotonic())}\n")
                sys.stderr.flush()

    Thread(target=report, daemon=True, name="progress").start()
    try:
        yield update
    finally:
        ended.set()
