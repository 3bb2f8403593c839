"""`unmask audit`: measure the bias of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options
from unmask.core.progress import progress_bar
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from unmask.findings.envelope import Result

SHOWN = 3  # words shown at each end of a ranking


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
    output.finish(result, show)
    if strict and not all(check.ok for check in result.checks):
        raise typer.Exit(1)


def show(result: Result) -> None:
    """Print one table per dataset, then the checks."""
    screen = console()
    model = result.meta["model"]
    what = (
        f"{model['architecture']}, {model['parameters']:,} parameters, {model['dtype']} on {model['device']}"
    )
    screen.print(f"{model['id']} ({what})")
    for warning in model["warnings"]:
        screen.print(f"note: {warning}")
    if model["kind"] == "causal":
        screen.print(f"begin-of-text rule: {model['begin_rule']}")
    broken = any(not check.ok and "accuracy" in check.name for check in result.checks)
    for card in result.meta["data"]:
        screen.print(_table(result, card, broken=broken))
        for line in _leanings(result, str(card["name"])):
            screen.print(f"  {line}")
        for warning in card["warnings"][:3]:
            screen.print(f"  note: {warning}")
    screen.print("checks")
    for line in _checks(result):
        screen.print(f"  {line}")


def _leanings(result: Result, data: str) -> list[str]:
    """For template data: the words with the largest values, and the mean over words that have a gender."""
    from unmask.findings.numbers import number, signed_number
    from unmask.report.wording import interval

    estimates = [
        estimate
        for estimate in result.estimates
        if estimate.data == data and estimate.statistic in ("appd", "third")
    ]
    of_measure = [
        estimate for estimate in estimates if estimate.measure == estimates[0].measure
    ]  # if there are several such measures, the first
    by_group = {estimate.group: estimate.value for estimate in of_measure if estimate.statistic == "appd"}
    neutral = {f"word={row['word']}" for row in result.items.to_pylist() if row.get("goal") == "zero"}
    words = sorted((value, group) for group, value in by_group.items() if group in neutral)
    if not words:
        return []
    ends = {"men": words[: -SHOWN - 1 : -1], "women": words[:SHOWN]}
    proper = {"women": by_group.get("goal=female"), "men": by_group.get("goal=male")}
    lines = [
        f"furthest towards {whom}: "
        + ", ".join(f"{group.partition('=')[2]} {signed_number(value)}" for value, group in ranked)
        for whom, ranked in ends.items()
    ]
    lines += [
        f"mean probability of the third word: {number(estimate.value, 3)} "
        f"({interval(estimate, 3)}, n {estimate.n})"
        for estimate in of_measure
        if (estimate.statistic, estimate.group) == ("third", "all")
    ]
    gendered_text = ", ".join(
        f"for {whom} {signed_number(value)}" for whom, value in proper.items() if value is not None
    )
    return [*lines, f"gendered words {gendered_text}: these should lean"] if gendered_text else lines


def _checks(result: Result) -> list[str]:
    """All checks of one dataset; of several, the failed ones and one summary line for each dataset."""
    if len(result.meta["data"]) == 1:
        return [f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in result.checks]
    lines = [f"FAIL {check.name}: {check.detail}" for check in result.checks if not check.ok]
    for card in result.meta["data"]:
        passed = [check for check in result.checks if check.ok and check.name.startswith(f"{card['name']}/")]
        known = [
            check.detail
            for check in passed
            if check.name.endswith(("/masked-accuracy", "/next-token-accuracy"))
        ]
        lines.append(f"ok   {card['name']}: {len(passed)} passed{f'; {known[0]}' if known else ''}")
    return lines


def _table(result: Result, card: dict[str, object], *, broken: bool) -> Table:
    from rich.table import Table

    from unmask.findings.numbers import number
    from unmask.measures import MEASURES
    from unmask.report.wording import digits_of, interval, reading

    unverified = ", unverified copy" if card["verified"] is False else ""
    table = Table(
        title=f"{card['title']} ({card['n']:,} items{unverified})", title_justify="left", title_style="bold"
    )
    for name, right in (
        ("measure", 0),
        ("score", 1),
        ("95% interval", 1),
        ("n", 1),
        ("ties", 1),
        ("unscored", 1),
    ):
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    table.add_column("what it means")
    for estimate in result.headlines():
        if estimate.data != card["name"]:
            continue
        digits = digits_of(estimate.statistic)
        meaning = "a check failed: do not interpret this number" if broken else reading(estimate)
        counts = (str(estimate.n), str(estimate.ties), str(estimate.unscored))
        table.add_row(
            estimate.measure,
            number(estimate.value, digits),
            interval(estimate, digits),
            *counts,
            f"{meaning} ({MEASURES[estimate.measure].reads})",
        )
    return table
