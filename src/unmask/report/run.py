"""Write the report of one result, or of several compared: page, tables, figures, model card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from unmask.audit.compare import compare
from unmask.audit.result import AuditResult, load
from unmask.core.boundary import read_json
from unmask.core.errors import OutputError, ResultError, UnknownName, UnmaskError
from unmask.core.files import KIND_FILES, lock_folder, refuse_result_file, write_text
from unmask.findings import Finding, Section, Table, charts, csv, html, latex, markdown
from unmask.findings.envelope import PAGE, RESULT, Result, build
from unmask.findings.figure import Figure, export
from unmask.report import comparison_page, tables, wide_tables
from unmask.report import page as pages
from unmask.report.comparison_page import Changes
from unmask.report.selection import model_names

Format = Literal["html", "md", "latex", "csv"]
TableName = Literal["headline", "verdict", "category", "changes", "checks"]
Layout = Literal["long", "wide"]
TABLES: tuple[TableName, ...] = ("headline", "verdict", "category", "changes", "checks")


def report(
    *runs: Result | str | Path,
    out: str | Path | None = None,
    format: Format = "html",
    tables: Sequence[TableName] = (),
    layout: Layout = "long",
    figures: str | Path | None = None,
    card: str | Path | None = None,
) -> Path | str:
    """Write a self-contained page, or tables; several results are compared with the first.

    Args:
        runs: results or their folders, of the same kind.
        out: the file; default: `report.html` for a page, none if figures or a card are asked for; tables are
            returned as text.
        format: html, or tables as md, latex (booktabs) or csv.
        tables: which tables; default: all that the results have.
        layout: long, one row an estimate; wide, a row for each model (one result: each category) and a column for
            each measure, as papers print them.
        figures: a folder for all charts as SVG, PNG and PDF.
        card: a model card (Markdown) to add the results of one audit to; `.eval_results/unmask.yaml` beside it has
            those on data of the hub.
    """
    results = [run if isinstance(run, Result) else load(run) for run in runs]
    names = _validate(results, format, tables, card)
    if layout == "wide":
        _validate_wide(results, format, tables)
    view = _View.of(results) if format == "html" or figures is not None else None
    others = [Path(path) for path in (figures, card) if path is not None]
    path = Path(out) if out is not None else Path(PAGE) if format == "html" and not others else None
    for target in (path, card):
        if target is not None:
            refuse_result_file(Path(target), KIND_FILES)  # the others are never written over
    if format != "html":
        text = _tables(results, format, names, tables if layout == "wide" else None)
    else:
        text = view.page() if view is not None and path is not None else ""
    if view is not None and figures is not None:
        export(view.figures(), Path(figures))
    if card is not None and isinstance(results[0], AuditResult):
        from unmask.report import card as cards
        from unmask.report import eval_results

        cards.write(results[0], Path(card))
        eval_results.write(results[0], Path(card))
    if path is None:
        return text or others[0]
    return write_text(path, text)


def write_page(result: Result) -> Path:
    """Write `report.html` into the folder of a result; plots of findings are also written as SVG files.

    Whatever goes wrong, the result itself is complete, and the error says so.
    """
    assert result.folder is not None
    try:
        view = _View.of([result])
        page, figures = view.page(), [] if result.kind == "audit" else view.figures()
        with lock_folder(result.folder):
            if read_json(result.folder / RESULT, ResultError) != result.meta:
                raise ResultError("another process has written a new result there")
            for figure in figures:
                if figure.svg:
                    write_text(result.folder / f"{figure.id}.svg", figure.svg)
            return write_text(result.folder / PAGE, page)
    except Exception as error:  # of any library that draws
        reason = str(error) if isinstance(error, UnmaskError) else f"{type(error).__name__}: {error}"
        raise OutputError(
            f"the result is in {result.folder}, but its page could not be written ({reason}): "
            f"try `unmask report {result.folder}`"
        ) from error


def _validate(
    results: Sequence[Result], format: Format, tables: Sequence[TableName], card: str | Path | None
) -> Sequence[TableName]:
    """Check what was asked for; returns the tables to write."""
    if not results:
        raise ResultError("no result given: name at least one result folder")
    kinds = list(dict.fromkeys(result.kind for result in results))
    if len(kinds) > 1:
        raise ResultError(f"results of different kinds ({', '.join(kinds)}): give results of one command")
    if unknown := [name for name in tables if name not in TABLES]:
        raise UnknownName("table", unknown[0], TABLES)
    if tables and format == "html":
        raise ResultError("tables are selected in the formats md, latex and csv: choose one of these")
    if format == "csv" and len(tables) > 1:
        raise ResultError(f"CSV has one table, {len(tables)} were given: write one file for each")
    if "changes" in tables and len(results) < 2:
        raise ResultError("the table changes needs at least two results")
    if card is not None and (len(results) > 1 or kinds != ["audit"]):
        found = f"{len(results)} results were given" if len(results) > 1 else f"a {kinds[0]} was given"
        raise ResultError(f"a model card takes one audit, {found}: give the audit of the model")
    if tables or format in ("html", "csv"):
        return tables
    # sentences are no table of a paper, and captions name the checks that failed
    left_out = {"changes": len(results) < 2, "verdict": format == "latex", "checks": True}
    return [name for name in TABLES if not left_out.get(name)]


def _validate_wide(results: Sequence[Result], format: Format, tables: Sequence[TableName]) -> None:
    """Check that a wide layout is possible."""
    if format == "html":
        raise ResultError("the layout wide is for the formats md, latex and csv: choose one of these")
    if results[0].kind != "audit":
        raise ResultError(f"the layout wide takes audits, a {results[0].kind} was given: leave the layout out")
    if others := {*tables} - {"headline", "category"}:
        raise ResultError(f"the table {min(others)} has no wide layout: choose headline or category")


@dataclass(frozen=True)
class _View:
    """What a page and its figures show: one result, or audits and their comparison, computed and drawn once."""

    shown: Result
    audits: Sequence[AuditResult] = ()
    comparison: Changes | None = None

    @classmethod
    def of(cls, results: Sequence[Result]) -> _View:
        """The view of one result, or of several of one kind."""
        audits = [result for result in results if isinstance(result, AuditResult)]
        if len(results) == 1:
            return cls(results[0])
        return cls(audits[0], audits, comparison_page.compare_runs(audits)) if audits else cls(_compared(results))

    def page(self) -> str:
        """The page as HTML."""
        if self.comparison is not None:
            return comparison_page.page(self.audits, self.comparison, self.figures_by_section)
        write = pages.page if isinstance(self.shown, AuditResult) else html.page
        return write(self.shown, self.figures_by_section)  # type: ignore[arg-type]

    @cached_property
    def figures_by_section(self) -> dict[str, list[Figure]]:
        """Every chart of the page."""
        if not isinstance(self.shown, AuditResult):
            return html.draw_figures(self.shown.findings)
        if self.comparison is not None:
            return comparison_page.draw_figures(self.audits, self.comparison)
        return pages.draw_figures(self.shown)

    def figures(self) -> list[Figure]:
        """The same in one list."""
        return [figure for group in self.figures_by_section.values() for figure in group]


def _compared(results: Sequence[Result]) -> Result:
    """Several results of one kind as one: changes from the first, then every result's findings."""
    names = model_names(results)
    changes = compare(*results, categories=True)
    heads = [(name, each) for name, result in zip(names, results, strict=True) for each in result.headlines()]
    rows = [(f"{each.measure} · {each.data} · {each.statistic}", each, name) for name, each in heads]
    title, alt = "Headline estimates", "Every headline estimate of every result with its 95% interval."
    plots = charts.interval_plots("compared", title, alt, rows, axis="value")
    finding = Finding((), (tables.change_table(changes, names),), plots)
    sections = [
        Section("changes", "What changed", f"Every result compared with {names[0]}.", finding),
        *(
            Section(f"{number}-{section.name}", f"{name}: {section.title}", section.lead, section.finding)
            for number, (name, result) in enumerate(zip(names, results, strict=True), start=1)
            for section in result.findings
        ),
    ]
    models = [model for result in results for model in result.models]
    heading = f"Compared: {', '.join(names)}"
    return Result(build(results[0].kind, title=heading, models=models, findings=sections))  # type: ignore[arg-type]


def _tables(
    results: Sequence[Result], format: Format, chosen: Sequence[TableName], wide: Sequence[TableName] | None
) -> str:
    """Tables as text; `wide`: in the wide layout, these or the one that suits the number of results."""
    names = model_names(results)
    audits = [result for result in results if isinstance(result, AuditResult)]
    if wide is not None:
        return _wide_tables(audits, format, wide or (("headline",) if len(results) > 1 else ("category",)))
    changes = compare(*results, categories=True) if "changes" in chosen else ()
    if format == "csv":  # one table in full precision; all estimates if none was selected
        full: dict[str, Callable[[], Table]] = {
            "": lambda: tables.full_estimates(results, names),
            "headline": lambda: tables.full_estimates(results, names, "all"),
            "category": lambda: tables.full_estimates(results, names, "category="),
            "changes": lambda: tables.as_table("Changes", tables.full_changes(changes, names)),
            "verdict": lambda: tables.full_verdicts(audits, names),
            "checks": lambda: tables.full_checks(results, names),
        }
        return csv.table(full[chosen[0] if chosen else ""]())
    built: dict[str, Callable[[], Table]] = {
        "headline": lambda: tables.headline_table(audits, names),
        "verdict": lambda: tables.verdict_table(audits, names),
        "category": lambda: tables.category_table(audits, names),
        "changes": lambda: tables.change_table(changes, names),
        "checks": lambda: tables.check_table(audits, names),
    }
    listed = [built[name]() for name in chosen if audits or name == "changes"]
    if not audits:
        listed += [table for result in results for part in result.findings for table in part.finding.tables]
    return latex.document(listed) if format == "latex" else markdown.document(listed)


def _wide_tables(audits: Sequence[AuditResult], format: Format, chosen: Sequence[TableName]) -> str:
    queries = {"headline": wide_tables.by_model, "category": wide_tables.by_category}
    listed = [wide for name in chosen for wide in queries[name](audits, model_names(audits))]
    if not listed:
        raise ResultError("these results have no categories: give table headline")
    if format == "csv":
        records = [record for wide in listed for record in wide.records()]
        return csv.table(tables.as_table("Scores", records, last=("check failed", "published in")))
    shown = [wide.table() for wide in listed]
    return latex.document(shown) if format == "latex" else markdown.document(shown)
