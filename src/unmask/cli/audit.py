"""`unmask audit`: ask a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.console import console, new_folder, progress_bar, split_names, stderr_printer

if TYPE_CHECKING:
    from rich.table import Table

    from unmask.audit.result import Result

SHOWN = 3  # words at either end of a ranking


def audit(  # noqa: PLR0913, PLR0917 - one parameter an option
    model: Annotated[
        str | None,
        typer.Argument(
            help="Hub name (name@revision) or folder; nothing for the built-in model.", show_default=False
        ),
    ] = None,
    data: options.Data = None,
    measure: options.Measures = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/MODEL-TIME")
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = "fp32",
    tf32: options.Tf32 = False,
    kind: options.KindOf = None,
    limit: options.Limit = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    tokens: options.Tokens = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    allow_pickle: options.AllowPickle = False,
    trust_remote_code: options.TrustRemoteCode = False,
    no_store: options.NoStore = False,
    no_report: options.NoReport = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when a check fails.")] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Ask a model about pairs of sentences and print how it leans, with intervals and checks.

    Without arguments the built-in model is asked about the built-in data, offline.
    """
    from unmask.audit.plan import Options
    from unmask.audit.run import DEFAULT_DATA
    from unmask.audit.run import audit as run
    from unmask.models.builtin import BUILT_IN
    from unmask.models.loading import Opening

    speak = stderr_printer(quiet)
    how = Opening(kind, device, dtype, tf32, offline, allow_pickle, trust_remote_code)  # type: ignore[arg-type]
    folder = out or new_folder(model or BUILT_IN)
    with progress_bar(quiet=quiet) as progress:
        settings = Options(limit, seed, tokens, not no_store, data_dir, offline, progress)
        asked = split_names(data) or DEFAULT_DATA
        result = run(
            model, data=asked, measures=split_names(measure), out=folder, opening=how, options=settings
        )
    if not no_report:
        from unmask.report import write

        write(result, folder / "report.html")
    if as_json:
        typer.echo(json.dumps(result.meta, indent=2, ensure_ascii=False))
    else:
        show(result)
    speak(f"result in {folder}" + ("" if no_report else f"; open {folder / 'report.html'} in a browser"))
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
    """For template data: the words that lean furthest, and whether words proper to one gender lean at all."""
    from unmask.findings.numbers import number, signed_number
    from unmask.report.wording import interval

    made = [one for one in result.estimates if one.data == data and one.statistic in ("appd", "third")]
    mine = [one for one in made if one.measure == made[0].measure]  # of several such measures the first
    found = {one.group: one.value for one in mine if one.statistic == "appd"}
    neutral = {f"word={row['word']}" for row in result.items.to_pylist() if row.get("goal") == "zero"}
    words = sorted((value, group) for group, value in found.items() if group in neutral)
    if not words:
        return []
    ends = {"men": words[: -SHOWN - 1 : -1], "women": words[:SHOWN]}
    proper = {"women": found.get("goal=female"), "men": found.get("goal=male")}
    lines = [
        f"furthest towards {whom}: "
        + ", ".join(f"{group.partition('=')[2]} {signed_number(value)}" for value, group in some)
        for whom, some in ends.items()
    ]
    lines += [
        f"the third word has {number(one.value, 3)} on average ({interval(one, 3)}, n {one.n})"
        for one in mine
        if (one.statistic, one.group) == ("third", "all")
    ]
    said = ", ".join(
        f"to {whom} {signed_number(value)}" for whom, value in proper.items() if value is not None
    )
    return [*lines, f"words proper {said}: these should lean"] if said else lines


def _checks(result: Result) -> list[str]:
    """Every check of one dataset; of several, those that failed and one line each for the rest."""
    if len(result.meta["data"]) == 1:
        return [f"{'ok  ' if one.ok else 'FAIL'} {one.name}: {one.detail}" for one in result.checks]
    lines = [f"FAIL {one.name}: {one.detail}" for one in result.checks if not one.ok]
    for card in result.meta["data"]:
        passed = [one for one in result.checks if one.ok and one.name.startswith(f"{card['name']}/")]
        known = [
            one.detail for one in passed if one.name.endswith(("/masked-accuracy", "/next-token-accuracy"))
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
    for one in result.headlines():
        if one.data != card["name"]:
            continue
        digits = digits_of(one.statistic)
        meaning = "a check failed: do not read this number" if broken else reading(one)
        counts = (str(one.n), str(one.ties), str(one.unscored))
        table.add_row(
            one.measure,
            number(one.value, digits),
            interval(one, digits),
            *counts,
            f"{meaning} ({MEASURES[one.measure].reads})",
        )
    return table
