"""`unmask study`: replicate a paper with one command, and show its progress."""

from __future__ import annotations

import sys
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.console import new_folder
from unmask.cli.options import Given, Output, Without, things_app, with_groups
from unmask.core.options import OptionGroup
from unmask.core.progress import progress_lines
from unmask.core.signals import keep, resume_in
from unmask.findings.terminal import console, print_json, show
from unmask.studies.spec import Runtime

if TYPE_CHECKING:
    from unmask.findings.envelope import Result


def study(  # noqa: PLR0913 - the parts of the command
    name: str,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the study; an incomplete study in it is resumed.",
            show_default="unmask-runs/study-NAME-TIME",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the steps, their expected duration, and what each table is made of."),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting within a group: train.epochs=1, use.steps=500; can be repeated."),
    ] = None,
    *,
    options: OptionGroup,
    given: Given,
    runtime: Runtime,
    output: Output,
) -> None:
    """Replicate a paper: every table and figure next to the published numbers.

    Finished steps are not run again; if a step fails, the others still run and the exit code is 1. `unmask study
    status FOLDER` shows which steps are done.
    """
    from unmask.studies import run

    chosen = {
        option.name: given[option.name] for option in (*fields(options), *fields(runtime)) if option.name in given
    }
    plan = run.make_plan(name, settings=settings or (), **chosen)
    if dry_run:
        from unmask.studies.forecast import forecast, parts_table

        missing = list(plan.steps) if out is None else plan.missing_steps(out)
        found = forecast(plan.steps, missing, plan.runtime)
        parts = parts_table(plan.study, plan.roles, plan.steps, unfinished=missing, runtime=plan.runtime)
        show(replace(found, tables=(*found.tables, *([parts] if parts.rows else [])), notes=plan.notes))
        return
    root = out or new_folder(f"study-{name}")
    for note in plan.notes:
        output.say(f"note: {note}")

    keep("finished steps", again=resume_in(root))

    with progress_lines(quiet=output.quiet or sys.stderr.isatty()) as remind:  # a step may take longer than a line

        def report(label: str, share: float, total: int, note: str = "") -> None:
            """A line for every step: steps may take hours, and their lines stay in a log."""
            output.say(f"[{round(share * total)}/{total}] {note}")
            remind(label, share, total)

        remind("steps", 0.0, len(plan.steps))
        result = run.study(plan, out=root, progress=report, settings=settings or (), **chosen)
    output.finish(result, _show)
    if result.meta["details"]["failed"]:
        raise typer.Exit(1)


def _show(result: Result) -> None:
    """Print every section under its title."""
    for section in result.findings:
        console().print(section.title, style="bold")
        show(section.finding)


app = things_app(study, "unmask.studies:STUDIES", metavar="STUDY", about=lambda study: study.question)


@app.command("status")
@with_groups
def print_status(
    folder: Annotated[Path, typer.Argument(help="Folder of a study.", show_default=False)],
    *,
    output: Annotated[Output, Without("report", "quiet", "save_config")],
) -> None:
    """Show which steps of a study are done."""
    from unmask.studies.cache import study_status

    status = study_status(folder)
    if output.as_json:
        print_json(asdict(status))
        return
    screen = console()
    for step in status.steps:
        took = f" in {step.seconds:.1f} s" if step.seconds is not None else ""
        why = f": {step.message}" if step.message else ""
        screen.print(f"{step.state:<11}  {step.name}{took}{why}", soft_wrap=True)
    states = [step.state for step in status.steps]
    listed = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    screen.print(f"{status.study}: {listed}; {'running now' if status.running else 'not running'}")
