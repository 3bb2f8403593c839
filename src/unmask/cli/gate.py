"""`unmask gate`: fail if a model is worse than a baseline, or beyond a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.audit.gate import GateOptions
from unmask.cli import options
from unmask.findings import terminal


@options.with_groups
def gate(
    run: Annotated[Path, typer.Argument(help="Result folder of the candidate model.")],
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            help="Result folder of the baseline; several, after one another: trainings that differ in their seed.",
            show_default="none: see --max",
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="File for JUnit XML.", show_default="none")] = None,
    summary: Annotated[
        Path | None,
        typer.Option(help="File that a Markdown summary is appended to, such as $GITHUB_STEP_SUMMARY; - for stdout."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    *,
    allowed: GateOptions,
) -> None:
    """Fail if a run is worse than its baseline, or beyond a limit.

    Judged are bias scores and mean differences, over all items and by bias type. With several baselines the
    differences between trainings count as noise; with one the answer is about these two checkpoints.

    Exit code 0: not worse; 1: worse; 3: the data cannot tell. What cannot be judged fails: data or items of the
    baseline that the run lacks, values that are missing, and runs whose check of accuracy, finite outputs or an
    endpoint's contract failed.
    """
    from unmask.audit.gate import gate as gate_results
    from unmask.audit.gate_forms import junit as to_junit
    from unmask.audit.gate_forms import lines
    from unmask.audit.gate_forms import summary as to_summary
    from unmask.core.files import append_text, write_text

    result = gate_results(run, baseline or None, options=allowed)
    if junit is not None:
        write_text(junit, to_junit(result))
    if summary is not None and summary != Path("-"):
        append_text(summary, to_summary(result))
    if as_json:
        terminal.print_json(result.to_json())
    elif summary == Path("-"):
        terminal.write_out(to_summary(result))
    else:
        screen = terminal.console()
        for line in lines(result):
            screen.print(line, soft_wrap=True)
    raise typer.Exit(result.exit_code)
