"""`unmask report`: a self-contained page, tables for papers, figures, a model card."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.console import stderr_printer
from unmask.core.errors import ResultError
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.findings.envelope import Result
    from unmask.report.comparison_page import RunComparison


class Format(StrEnum):
    """Output format."""

    html = "html"
    md = "md"
    latex = "latex"
    csv = "csv"


class TableName(StrEnum):
    """Tables that can be selected."""

    headline = "headline"
    category = "category"
    changes = "changes"
    checks = "checks"


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Result folders; if several, each is compared with the first.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output file.", show_default="report.html; tables: stdout"),
    ] = None,
    kind: Annotated[
        Format, typer.Option("--format", help="HTML page, or tables as Markdown, LaTeX (booktabs) or CSV.")
    ] = Format.html,
    table: Annotated[
        list[TableName] | None, typer.Option("--table", help="Only this table; can be repeated.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for all charts as SVG, PNG and PDF.", show_default=False)
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(help="Model card to add the results to: metadata and a section.", show_default=False),
    ] = None,
) -> None:
    """Write a self-contained HTML page, or tables; several runs are compared."""
    from unmask.audit.result import load
    from unmask.core.files import write_text

    results = [load(run) for run in runs]
    tables = _validate(results, kind, table or [], card)
    comparison = _compare(
        results, needed=kind is Format.html or TableName.changes in tables or figures is not None
    )
    text = _page(results, comparison) if kind is Format.html else _tables(results, kind, tables, comparison)
    path = out or (Path("report.html") if kind is Format.html else None)
    tell = stderr_printer(quiet=False) if path is None else _print
    if path is None:
        typer.echo(text, nl=False)
    else:
        tell(f"wrote {write_text(path, text)}")
    if figures is not None:
        tell(f"wrote {_figures(results, comparison, figures)} files into {figures}")
    if card is not None:
        tell(f"wrote {_card(results[0], card)}")


def _validate(
    results: Sequence[Result], kind: Format, tables: Sequence[TableName], card: Path | None
) -> Sequence[TableName]:
    """Validate the options; returns the tables to write."""
    if tables and kind is Format.html:
        raise ResultError("--table applies to --format md, latex or csv: choose one of these formats")
    if kind is Format.csv and len(tables) > 1:
        raise ResultError(
            f"--format csv writes one table, {len(tables)} were given: run the command once for each"
        )
    if TableName.changes in tables and len(results) < 2:
        raise ResultError("--table changes needs at least two result folders")
    if card is not None and len(results) > 1:
        raise ResultError(f"--card takes one run, {len(results)} were given: give the run of the model")
    if tables or kind in (Format.html, Format.csv):
        return tables
    return [name for name in TableName if name is not TableName.changes or len(results) > 1]


def _compare(results: Sequence[Result], *, needed: bool) -> RunComparison | None:
    from unmask.report import comparison_page

    return comparison_page.compare_runs(results) if needed and len(results) > 1 else None


def _page(results: Sequence[Result], comparison: RunComparison | None) -> str:
    from unmask.report import audit_page, comparison_page

    return audit_page.page(results[0]) if comparison is None else comparison_page.page(results, comparison)


def _tables(
    results: Sequence[Result], kind: Format, chosen: Sequence[TableName], comparison: RunComparison | None
) -> str:
    from unmask.findings import latex, markdown
    from unmask.report import tables
    from unmask.report.selection import model_names

    if kind is Format.csv:
        return _csv(results, chosen, comparison)
    names, changes = model_names(results), [*comparison.whole, *comparison.split] if comparison else []
    builders = {
        TableName.headline: lambda: tables.headline_table(results, names),
        TableName.category: lambda: tables.category_table(results, names),
        TableName.changes: lambda: tables.change_table(changes, names),
        TableName.checks: lambda: tables.check_table(results, names),
    }
    built = [builders[name]() for name in chosen]
    return latex.document(built) if kind is Format.latex else markdown.document(built)


def _csv(results: Sequence[Result], chosen: Sequence[TableName], comparison: RunComparison | None) -> str:
    """One table as CSV; all estimates if none was selected."""
    import pandas as pd

    from unmask.report import tables
    from unmask.report.selection import model_names

    names = model_names(results)
    if comparison is not None and TableName.changes in chosen:
        changes = tables.change_records([*comparison.whole, *comparison.split], names)
        return tables.as_csv(pd.DataFrame(changes))
    if TableName.checks in chosen:
        return tables.as_csv(tables.check_frame(results, names))
    table = tables.estimate_frame(results, names)
    if chosen:
        over_all = table["group"] == "all"
        table = table[
            over_all if TableName.headline in chosen else table["group"].str.startswith("category=")
        ]
    return tables.as_csv(table)


def _figures(results: Sequence[Result], comparison: RunComparison | None, folder: Path) -> int:
    from unmask.findings import export
    from unmask.report import audit_page, comparison_page

    groups = (
        audit_page.draw_figures(results[0])
        if comparison is None
        else comparison_page.draw_figures(results, comparison)
    )
    return len(export.write([figure for group in groups.values() for figure in group], folder))


def _card(result: Result, path: Path) -> Path:
    from unmask.report import card

    return card.write(result, path)


def _print(line: str) -> None:
    console().print(line, soft_wrap=True)
