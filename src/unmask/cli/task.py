"""`unmask task`: measure bias in downstream tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder
from unmask.core.options import Opening, Options, Serving
from unmask.core.progress import progress_bar
from unmask.core.signals import READINGS, keep, resume_in
from unmask.tasks.spec import TaskSettings


@options.with_groups
def task(  # noqa: PLR0913 - the parts of the command
    name: Annotated[str, typer.Argument(help="Task (see `unmask list tasks`).")],
    models: options.Models = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Result folder; an interrupted run in it is resumed.", show_default="unmask-runs/NAME-TIME"),
    ] = None,
    *,
    settings: TaskSettings,
    opening: Annotated[Opening, options.Without("kind", "dtype", "tf32")],
    serving: Serving,
    run: Annotated[Options, options.Without("mapping")],
    output: options.Output,
) -> None:
    """Measure bias in downstream tasks: classification, similarity, inference, coreference.

    Accuracy is reported beside bias. biasbios, stsbias and nlibias fine-tune the model first, unless it
    already has a classification head; winobias and winogender are zero-shot; sentiment and toxicity take a
    classifier, or with --train a language model to fine-tune.
    """
    from unmask.tasks import TASKS

    TASKS.find(name)  # an unknown name is an error before torch is imported
    from unmask.tasks.run import task as run_task
    from unmask.training.distributed import is_main_process, on_main_process

    main = is_main_process()
    folder = out or on_main_process(lambda: new_folder(name))
    keep(READINGS if run.store else "", again=resume_in(folder))
    with progress_bar(quiet=output.quiet or not main) as progress:
        result = run_task(
            name,
            models or [],
            out=folder,
            settings=settings,
            opening=opening,
            serving=serving,
            options=replace(run, progress=progress),
        )
    if main:
        output.finish(result)
