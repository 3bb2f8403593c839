"""`unmask task`: measure bias in downstream tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from unmask.cli import options
from unmask.cli.console import new_folder
from unmask.core.options import Opening, OptionGroup, Options, Serving
from unmask.core.progress import progress_bar
from unmask.core.signals import READINGS, keep, resume_in


def task(  # noqa: PLR0913 - the parts of the command
    name: str,
    models: options.Models = None,
    out: options.Out = None,
    *,
    settings: OptionGroup,
    opening: Annotated[Opening, options.Without("kind", "dtype", "tf32")],
    serving: Serving,
    run: Annotated[Options, options.Without("mapping")],
    output: options.Output,
) -> None:
    """Measure bias in downstream tasks: classification, similarity, inference, coreference.

    Accuracy is reported beside bias. biasbios, stsbias and nlibias fine-tune the model first, unless it
    already has a classification head; winobias and winogender are zero-shot; sentiment and toxicity take a
    classifier, or with --train a language model to fine-tune. An interrupted run in a result folder is resumed.
    """
    from unmask.tasks.run import task as run_task
    from unmask.training.distributed import is_main_process, on_main_process

    main = is_main_process()
    folder = out or on_main_process(lambda: new_folder(name))
    keep(READINGS if run.store else "", again=resume_in(folder))
    groups: dict[str, Any] = {"settings": settings, "opening": opening, "serving": serving}
    with progress_bar(quiet=output.quiet or not main) as progress:
        result = run_task(name, models or [], out=folder, options=replace(run, progress=progress), **groups)
    if main:
        output.finish(result)


app = options.things_app(task, "unmask.tasks:TASKS", metavar="TASK", about=lambda task: task.question)
