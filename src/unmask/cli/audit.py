"""`unmask audit`: measure the bias of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options, Precision, Serving
from unmask.core.progress import progress_bar, report_preparation
from unmask.core.signals import READINGS, keep


@options.with_groups
def audit(  # noqa: PLR0913, PLR0917 - the parts of the command
    model: options.Model = None,
    data: options.Data = None,
    measures: options.Measures = None,
    out: options.Out = None,
    precision: Annotated[
        Precision,
        typer.Option(
            help="certified: score in a faster precision, and again in fp32 what it could decide otherwise; "
            "plain: all in the dtype."
        ),
    ] = "plain",
    independent: Annotated[
        bool,
        typer.Option(
            "--independent",
            help="Take pairs for independent: intervals over pairs, not over the writers, terms, … they share.",
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a check fails.")] = False,
    *,
    opening: Opening,
    serving: Serving,
    run: Options,
    output: options.Output,
) -> None:
    """Measure the bias of a model on pairs of sentences, with intervals and checks.

    Without arguments the built-in model is measured on the built-in data, offline.
    """
    from unmask.data import check_names
    from unmask.measures import MEASURES
    from unmask.models.builtin import BUILT_IN

    check_names(split_names(data))
    MEASURES.find_all(split_names(measures))  # an unknown name is an error before torch is imported
    folder = out or new_folder(model or BUILT_IN)
    keep(READINGS if run.store else "")
    with progress_bar(quiet=output.quiet) as progress:
        report_preparation(progress, "import torch")
        from unmask.audit.run import DEFAULT_DATA
        from unmask.audit.run import audit as run_audit

        result = run_audit(
            model,
            data=split_names(data) or DEFAULT_DATA,
            measures=split_names(measures),
            out=folder,
            precision=precision,
            independent=independent,
            opening=opening,
            serving=serving,
            options=replace(run, progress=progress),
        )
    output.finish(result)
    if strict and not all(check.ok for check in result.checks):
        raise typer.Exit(1)
