"""`unmask study`: replicate a paper with one command, and show its progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names, stderr_printer
from unmask.core.errors import DataError
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.studies import StudyPlan
    from unmask.studies.backends import Backend
    from unmask.studies.run import StepCallback

STATUS = "status"
WORDS = {"kept": "cached", "done": "done", "failed": "FAILED", "blocked": "skipped"}


def study(  # noqa: PLR0913, PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="Study (see `unmask list studies`), or `status`.")],
    folder: Annotated[
        Path | None, typer.Argument(help="With `status`: the study's folder.", show_default=False)
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--models", help="Models instead of the paper's; comma-separated."),
    ] = None,
    data: options.Data = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the study; an incomplete study in it is resumed.",
            show_default="unmask-runs/study-NAME-TIME",
        ),
    ] = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Use the built-in models and small settings.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the steps and their expected duration without running them."),
    ] = False,
    engine: Annotated[str, typer.Option(help="Backend: local or ray.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster.", show_default="Ray on this machine")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads per step.", show_default="one per core")
    ] = None,
    shard: Annotated[int, typer.Option(help="Items per shard of an audit.")] = 1000,
    device: options.Device = None,
    dtype: options.Dtype = "fp32",
    limit: options.Limit = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of the study: NAME=VALUE or PART.NAME=VALUE; can be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of all steps.")] = 0,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    quiet: options.Quiet = False,
) -> None:
    """Replicate a paper: every table and figure next to the published numbers.

    Finished steps are not run again; if a step fails, the others still run and the exit code is 1.
    """
    if name == STATUS:
        _status(folder)
        return
    if folder is not None:
        raise DataError(
            f"{folder}: unexpected argument; give the folder with --out {folder}, or use `study status`"
        )
    from unmask.studies import Runtime, StudyOptions, find, plan_study, run

    chosen = StudyOptions(
        models=tuple(split_names(models)),
        data=tuple(split_names(data)),
        limit=_at_least_one("--limit", limit),
        seed=seed,
        reduced=reduced,
        dtype=dtype,
        shard=_at_least_one("--shard", shard) or shard,
        settings=_settings(settings or ()),
    )
    runtime = Runtime(data_dir, offline, device, _at_least_one("--threads", threads) or _cores())
    plan = plan_study(find(name), chosen, runtime)
    root = out or new_folder(f"study-{name}")
    if dry_run:
        _forecast(plan, root)
        return
    for note in plan.notes:
        stderr_printer(quiet)(f"note: {note}")
    ran = run(plan, root, backend=_engine(engine, ray_address), on_event=_teller(quiet))
    from unmask.findings.terminal import show

    for section in ran.sections:
        console().print(section.title, style="bold")
        show(section.finding)
    stderr_printer(quiet)(f"study in {root}; open {root / 'report.html'} in a browser")
    if ran.failed:
        raise typer.Exit(1)


def _engine(name: str, address: str | None) -> Backend:
    from unmask.studies.backends import local
    from unmask.studies.backends.ray import RayBackend

    if name not in ("local", "ray"):
        raise DataError(f"--engine {name}: give local or ray")
    if name == "local" and address:
        raise DataError("--ray-address requires --engine ray")
    return RayBackend(address) if name == "ray" else local.run


def _settings(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse `use.steps=500` into nested settings; values are JSON if valid, otherwise text."""
    import json

    settings: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not name or not equals:
            raise DataError(f"--set {assignment}: expected NAME=VALUE, as in --set use.steps=500")
        *parts, last = name.split(".")
        inner = settings
        for part in parts:
            inner = inner.setdefault(part, {})
        try:
            inner[last] = json.loads(value)
        except json.JSONDecodeError:
            inner[last] = value
    return settings


def _at_least_one(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise DataError(f"{option} {value}: give a number of at least 1")
    return value


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _teller(quiet: bool) -> StepCallback:
    def tell(event: object, number: int, of: int) -> None:
        state, seconds = WORDS[event.state], event.seconds  # type: ignore[attr-defined]
        took = f" in {seconds:.1f} s" if seconds else ""
        why = f": {event.message}" if event.message else ""  # type: ignore[attr-defined]
        stderr_printer(quiet)(f"[{number}/{of}] {event.step}: {state}{took}{why}")  # type: ignore[attr-defined]

    return tell


def _forecast(plan: StudyPlan, root: Path) -> None:
    from rich.table import Table as Grid

    from unmask.studies.estimates import CPU, GPU, expected_duration, format_duration, total_duration

    done = plan.completion(root)
    screen = console()
    for note in plan.notes:
        screen.print(f"note: {note}")
    grid = Grid(title=f"Steps of {plan.study.name}", title_justify="left", title_style="bold")
    for title in ("step", "after"):
        grid.add_column(title)
    for title in (CPU.name, GPU.name):
        grid.add_column(title, justify="right")
    for number, step in enumerate(plan.steps, 1):
        after = ", ".join(str(_place(plan, needed.name)) for needed in step.inputs.values()) or "–"
        cost = expected_duration(step)
        times = (
            ("done", "done") if done[step.name] else (format_duration(cost.cpu), format_duration(cost.gpu))
        )
        grid.add_row(f"{number}. {step.name}", after, *times)
    screen.print(grid)
    duration = total_duration(plan.steps, done)
    screen.print(
        f"{sum(not is_done for is_done in done.values())} of {len(done)} steps to do: about "
        f"{format_duration(duration.cpu)} on {CPU.name}, or {format_duration(duration.gpu)} "
        f"({duration.gpu / 3600:.2f} GPU hours) on {GPU.name}; from the rates "
        "in docs/speed.md, accurate to about a factor of two"
    )


def _place(plan: StudyPlan, name: str) -> int:
    return next(number for number, step in enumerate(plan.steps, 1) if step.name == name)


def _status(folder: Path | None) -> None:
    if folder is None:
        raise DataError("study status: give the folder of a study")
    from unmask.studies.status import study_status

    status = study_status(folder)
    screen = console()
    for step in status.steps:
        took = f" in {step.seconds:.1f} s" if step.seconds is not None else ""
        why = f": {step.message}" if step.message else ""
        screen.print(f"{step.state:<11}  {step.name}{took}{why}", soft_wrap=True)
    counts = {state: status.count(state) for state in dict.fromkeys(step.state for step in status.steps)}
    listed = ", ".join(f"{count} {state}" for state, count in counts.items())
    screen.print(f"{status.study}: {listed}; {'running now' if status.running else 'not running'}")
