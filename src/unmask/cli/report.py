"""`unmask report`: a self-contained page, tables for papers, figures, a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from unmask.core.signals import keep

Format = Literal["html", "md", "latex", "csv"]
Layout = Literal["long", "wide"]


def report(  # noqa: PLR0913, PLR0917 - the options of the command
    runs: Annotated[list[Path], typer.Argument(help="Result folders; if several, each is compared with the first.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Output file.",
            show_default="report.html, unless figures or a card are asked for; tables: stdout",
        ),
    ] = None,
    kind: Annotated[
        Format, typer.Option("--format", help="HTML page, or tables as Markdown, LaTeX (booktabs) or CSV.")
    ] = "html",
    table: Annotated[
        list[str] | None,
        typer.Option(help="Only this table: headline, verdict, category, changes or checks; can be repeated."),
    ] = None,
    layout: Annotated[
        Layout,
        typer.Option(
            help="long: a row for each estimate. wide: as papers print them, a row for each model (of one run: each "
            "category), a column for each measure."
        ),
    ] = "long",
    figures: Annotated[
        Path | None, typer.Option(help="Folder for all charts as SVG, PNG and PDF.", show_default=False)
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            help="Model card to add the results to: metadata, a section, and .eval_results/ beside it.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the files written, or the tables, as JSON.")] = False,
) -> None:
    """Write a self-contained HTML page, or tables; several runs are compared."""
    from unmask.findings.terminal import print_json, say, write_out
    from unmask.report.eval_results import path_beside
    from unmask.report.run import report as write_report

    if figures is not None:
        keep("figures that are complete")
    tables = cast(Any, table or ())  # checked there
    written = write_report(*runs, out=out, format=kind, tables=tables, layout=layout, figures=figures, card=card)
    to_stdout = isinstance(written, str)
    beside = None if card is None else path_beside(card)
    also = beside if beside is not None and beside.is_file() else None
    paths = list(dict.fromkeys(filter(None, (None if to_stdout else written, figures, card, also))))
    if as_json:
        print_json({"files": [str(path) for path in paths], **({"text": written} if to_stdout else {})})
        return
    if to_stdout:
        write_out(str(written))
    for path in paths:
        say(f"wrote {path}") if to_stdout else write_out(f"wrote {path}\n")
