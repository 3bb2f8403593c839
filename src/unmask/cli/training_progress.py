"""The bar of a training: steps, loss and time left, on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.training import ProgressCallback, TrainStep


@contextmanager
def training_bar(*, quiet: bool) -> Iterator[Callable[[str], ProgressCallback | None]]:
    """A function from the name of a training to what is told of its steps; several may follow each other."""
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

    def begun(name: str) -> ProgressCallback:
        tasks: list[TaskID] = []

        def told(moment: TrainStep) -> None:
            bar.start()
            if not tasks:
                tasks.append(bar.add_task(name, total=moment.steps, loss="", completed=moment.step - 1))
            loss = "" if moment.loss != moment.loss else f"loss {moment.loss:.3f}"
            bar.update(tasks[0], completed=moment.step, loss=loss)

        return told

    try:
        yield begun
    finally:
        if bar.tasks:
            bar.stop()
