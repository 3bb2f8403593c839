"""`unmask task`: measure bias in downstream tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, stderr_printer
from unmask.core.progress import progress_bar
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.tasks import TaskResult


def task(  # noqa: PLR0913, PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="Task (see `unmask list tasks`).")],
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Hub names or folders; default: the built-in model.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Result folder; an interrupted run in it is resumed.", show_default="unmask-runs/NAME-TIME"
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Training file.", show_default="the task's own data")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="With --train: validation file.", show_default="its last tenth")
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            help="Hyper-parameter grid, such as 'batch=16,32 rate=3e-5 epochs=3'.",
            show_default="as published: batch=16,32,64 rate=1e-5,3e-5,5e-5 epochs=1,3,5",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="Maximum training and evaluation examples, sampled with --seed.", show_default="all"
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Maximum training steps.", show_default="by epochs")
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(help="Measure bias every N training steps (first values of --grid, no search)."),
    ] = None,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints to resume from.")] = 500,
    length: Annotated[int, typer.Option(help="Maximum input tokens; longer inputs are truncated.")] = 128,
    data: Annotated[
        Path | None, typer.Option(help="sentiment: file of pairs; toxicity: texts and labels to classify.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="sentiment, toxicity: label whose score is used.")] = None,
    scrub: Annotated[bool, typer.Option("--scrub", help="biasbios: replace gender words with _.")] = False,
    triples: Annotated[int, typer.Option(help="nlibias: number of sampled triples.")] = 10_000,
    device: options.Device = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N evaluation items.")] = None,
    seed: Annotated[
        int, typer.Option(help="Random seed (head initialisation, data order, samples, bootstrap).")
    ] = 0,
    tokens: options.Tokens = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    allow_pickle: options.AllowPickle = False,
    trust_remote_code: options.TrustRemoteCode = False,
    no_store: options.NoStore = False,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure bias in downstream tasks: classification, similarity, inference, coreference.

    Accuracy is reported beside bias. biasbios, stsbias and nlibias fine-tune the model first, unless it
    already has a classification head; winobias and winogender are zero-shot; sentiment and toxicity take a
    classifier.
    """
    from unmask.core.options import Opening, Options
    from unmask.tasks import Grid, TaskSettings, find, run
    from unmask.tasks.run import result_json
    from unmask.training.distributed import is_main_process, on_main_process

    chosen = find(name)
    settings = TaskSettings(
        seed=seed,
        limit=limit,
        data_dir=data_dir,
        data=data,
        train=train,
        dev=dev,
        rows=rows,
        grid=Grid.parse(grid or ""),
        length=length,
        every=every,
        steps=steps,
        save_every=save_every,
        scrub=scrub,
        triples=triples,
        label=label,
        allow_pickle=allow_pickle,
    )
    how = Opening(
        device=device, offline=offline, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code
    )
    folder = out or on_main_process(lambda: new_folder(name))
    with progress_bar(quiet=quiet or not is_main_process()) as progress:
        stored = not no_store and is_main_process()
        limits = Options(limit, seed, tokens, stored, data_dir, offline, progress)
        done = run(chosen, models or [], settings=settings, out=folder, opening=how, options=limits)
    if not is_main_process():
        return
    content = result_json(done, settings)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        _show(done)
    if not no_report:
        from unmask.findings import Section
        from unmask.findings.html import write

        files = ", ".join(f"{file['name']} (sha256 {file['sha256'][:12]}…)" for file in done.files)
        section = Section(chosen.name, chosen.title, chosen.question, done.finding, files)
        models_ = ", ".join(str(observation.model["id"]) for observation in done.observations)
        write(f"{chosen.title}: {models_}", chosen.question, [section], content, folder, download="task.json")
    stderr_printer(quiet)(
        f"result in {folder}" + ("" if no_report else f"; open {folder / 'report.html'} in a browser")
    )


def _show(done: TaskResult) -> None:
    from unmask.findings.terminal import show

    console().print(f"{done.task.name}: {done.task.question}", style="bold")
    show(done.finding)
