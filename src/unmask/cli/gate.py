"""`unmask gate`: fail if a model is significantly worse than a baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.console import split_names
from unmask.findings.terminal import console


def gate(
    run: Annotated[Path, typer.Argument(help="Result folder of the candidate model.")],
    baseline: Annotated[Path, typer.Option(help="Result folder of the baseline model.")],
    measure: Annotated[
        list[str] | None, typer.Option(help="Only these measures.", show_default="all shared ones")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Accepted worsening, in the units of the measure.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Exit with code 1 if the run is significantly worse than the baseline or an accuracy check failed."""
    from unmask.audit.compare import gate as gate_results
    from unmask.audit.interpretation import digits_of
    from unmask.audit.result import load
    from unmask.core.files import plain
    from unmask.findings.numbers import number, signed_number

    candidate, before = load(run), load(baseline)
    verdicts = gate_results(candidate, before, measures=split_names(measure), tolerance=tolerance, seed=seed)
    unread = [check for check in candidate.checks if not check.ok and "accuracy" in check.name]
    if as_json:
        typer.echo(json.dumps([plain(verdict) for verdict in verdicts], indent=2))
    else:
        screen = console()
        for each in verdicts:
            digits = digits_of(each.statistic)
            change = f"{number(each.a_value, digits)} → {number(each.b_value, digits)}"
            worse, low, high = (signed_number(v, digits) for v in (each.worsening, each.low, each.high))
            worse += f" ({low} to {high}; allowed {each.tolerance:g}; n {each.n})"
            verdict = "FAIL" if each.worse else "pass"
            screen.print(f"{verdict} {each.data} {each.measure}: {change}, worse by {worse}")
        for check in unread:
            screen.print(f"FAIL check {check.name}: {check.detail}")
    if unread or any(verdict.worse for verdict in verdicts):
        raise typer.Exit(1)
