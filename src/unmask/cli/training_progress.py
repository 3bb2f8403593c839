"""Progress bar of training on stderr: steps, loss and remaining time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.training import ProgressCallback, TrainStep


@contextmanager
def training_bar(*, quiet: bool) -> Iterator[Callable[[str], ProgressCallback | None]]:
    """Yield a function that takes the name of a training and returns its progress callback."""
    if quiet:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)

    def start(name: str) -> ProgressCallback:
        tasks: list[TaskID] = []

        def update(step: TrainStep) -> None:
            bar.start()
            if not tasks:
                tasks.append(bar.add_task(name, total=step.steps, loss="", completed=step.step - 1))
            loss = "" if step.loss != step.loss else f"loss {step.loss:.3f}"
            bar.update(tasks[0], completed=step.step, loss=loss)

        return update

    try:
        yield start
    finally:
        if bar.tasks:
            bar.stop()
