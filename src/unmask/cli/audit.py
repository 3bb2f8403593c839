"""`unmask audit`: measure the bias of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options
from unmask.core.progress import progress_bar


@options.with_groups
def audit(  # noqa: PLR0913 - the parts of the command
    model: options.Model = None,
    data: options.Data = None,
    measure: options.Measures = None,
    out: options.Out = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a check fails.")] = False,
    *,
    opening: Opening,
    run: Options,
    output: options.Output,
) -> None:
    """Measure the bias of a model on pairs of sentences, with intervals and checks.

    Without arguments the built-in model is measured on the built-in data, offline.
    """
    from unmask.audit.run import DEFAULT_DATA
    from unmask.audit.run import audit as run_audit
    from unmask.models.builtin import BUILT_IN

    folder = out or new_folder(model or BUILT_IN)
    with progress_bar(quiet=output.quiet) as progress:
        result = run_audit(
            model,
            data=split_names(data) or DEFAULT_DATA,
            measures=split_names(measure),
            out=folder,
            opening=opening,
            options=replace(run, progress=progress),
        )
    output.finish(result)
    if strict and not all(check.ok for check in result.checks):
        raise typer.Exit(1)
