"""`unmask gate`: fail if a model is significantly worse than a baseline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.console import split_names
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.stats import GateResult


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
    from unmask.audit.result import load
    from unmask.core.files import plain

    candidate, before = load(run), load(baseline)
    verdicts = gate_results(candidate, before, measures=split_names(measure), tolerance=tolerance, seed=seed)
    unread = [check for check in candidate.checks if not check.ok and "accuracy" in check.name]
    if as_json:
        typer.echo(json.dumps([plain(verdict) for verdict in verdicts], indent=2))
    else:
        _show(verdicts)
        for check in unread:
            console().print(f"FAIL check {check.name}: {check.detail}")
    if unread or any(verdict.worse for verdict in verdicts):
        raise typer.Exit(1)


def _show(verdicts: Sequence[GateResult]) -> None:
    from unmask.audit.interpretation import digits_of
    from unmask.findings.numbers import number, signed_number

    for verdict in verdicts:
        digits = digits_of(verdict.statistic)
        change = f"{number(verdict.a_value, digits)} → {number(verdict.b_value, digits)}"
        span = f"{signed_number(verdict.low, digits)} to {signed_number(verdict.high, digits)}"
        console().print(
            f"{'FAIL' if verdict.worse else 'pass'} {verdict.data} {verdict.measure}: {change}, "
            f"worse by {signed_number(verdict.worsening, digits)} "
            f"({span}; allowed {verdict.tolerance:g}; n {verdict.n})"
        )
