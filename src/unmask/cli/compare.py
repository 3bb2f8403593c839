"""`unmask compare`: paired tests between runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.core.errors import ResultError
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from unmask.stats import Comparison


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result folders; each is compared with the first.")],
    categories: Annotated[bool, typer.Option("--categories", help="Also compare by category.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparisons as JSON.")] = False,
) -> None:
    """Compare runs item by item: change of every score, interval, paired test with Holm's correction."""
    from unmask.audit.compare import compare as compare_results
    from unmask.audit.result import load
    from unmask.core.files import plain as as_plain

    if len(runs) < 2:
        raise ResultError(f"{len(runs)} run given: name at least two result folders to compare")
    first, *others = (load(run) for run in runs)
    everything = compare_results(first, *others, categories=categories, seed=seed)
    listed = []
    for number, run in enumerate(runs[1:], start=1):
        rows = [comparison for comparison in everything if comparison.run == number]
        listed.append(
            {"a": runs[0].name, "b": run.name, "comparisons": [as_plain(comparison) for comparison in rows]}
        )
        if not as_json:
            console().print(_table(f"{runs[0].name} → {run.name}", rows))
    if as_json:
        typer.echo(json.dumps(listed, indent=2))


def _table(title: str, rows: Sequence[Comparison]) -> Table:
    from rich.table import Table

    from unmask.findings.numbers import number, p_value, signed_number
    from unmask.report.wording import digits_of

    table = Table(title=title, title_justify="left", title_style="bold")
    for name in (
        "data",
        "measure",
        "statistic",
        "group",
        "before",
        "after",
        "change",
        "95% interval",
        "p (Holm)",
        "n",
        "flips",
    ):
        table.add_column(name, no_wrap=name != "group")
    for comparison in rows:
        digits = digits_of(comparison.statistic)
        span = f"{signed_number(comparison.low, digits)} to {signed_number(comparison.high, digits)}"
        values = (
            number(comparison.a_value, digits),
            number(comparison.b_value, digits),
            signed_number(comparison.change, digits),
            span,
        )
        tail = (p_value(comparison.p_holm), str(comparison.n), str(comparison.flips))
        table.add_row(
            comparison.data, comparison.measure, comparison.statistic, comparison.group, *values, *tail
        )
    return table
