"""Progress: one callback that everything long-running calls, and one bar that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Called with a label, the share done (0 to 1), the total number of units, and a note (the loss)."""

    def __call__(self, label: str, share: float, total: int, note: str = "") -> None:
        """Report progress."""


Step = Callable[[float], None]  # the share done of one labelled piece of work


def silent(label: str, share: float, total: int, note: str = "") -> None:
    """A callback that does nothing."""


def steps_of(progress: Progress | None, label: str, total: int) -> Step:
    """The callback of one piece of work: it takes the share done."""
    report = progress or silent
    return lambda share: report(label, share, total)


def with_label(progress: Progress | None, label: str) -> Progress:
    """The same callback under another label."""
    report = progress or silent
    return lambda _, share, total, note="": report(label, share, total, note)


def part_of(step: Step, begin: float, share: float) -> Step:
    """The callback of a part: its 0 to 1 is `begin` to `begin + share` of the whole."""
    return lambda part: step(begin + part * share)


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on stderr with rate, note and remaining time; each label has its own line."""
    if quiet:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    tasks: dict[str, int] = {}

    def update(label: str, share: float, total: int, note: str = "") -> None:
        bar.start()  # only once there is something to show
        if label not in tasks:
            tasks[label] = bar.add_task(label, total=total, completed=round(share * total), note="")
        task = bar.tasks[tasks[label]]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        bar.update(task.id, completed=round(share * total, 1), note=note or rate)

    try:
        yield update
    finally:
        if tasks:
            bar.stop()
