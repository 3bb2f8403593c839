"""Write a study's tables beside its result: Markdown, LaTeX, and CSV at full precision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from unmask.core.files import is_partial, write_text, writing
from unmask.findings import csv, latex, markdown
from unmask.findings.envelope import Result

PAGE, LATEX, TABLES = "tables.md", "tables.tex", "tables"


def write_tables(result: Result, out: Path) -> None:
    """Write the tables of all sections into the study folder."""
    write_text(out / PAGE, "\n\n".join(_markdown(result)) + "\n")
    tables = [table for section in result.findings for table in section.finding.tables]
    write_text(out / LATEX, latex.document(tables))
    names = set()
    for section in result.findings:
        for number, table in enumerate(section.finding.tables, 1):
            slug = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")[:40]
            names.add(name := f"{section.name}-{number}-{slug}.csv")
            write_text(out / TABLES / name, csv.table(table))
    for path in (out / TABLES).glob("*"):  # of an earlier result, or left by a run that was killed
        if is_partial(path.name) or (path.suffix == ".csv" and path.name not in names):
            with writing(path):
                path.unlink()


def _markdown(result: Result) -> Iterator[str]:
    """The parts of a Markdown page with all answers, tables, figures and notes."""
    yield f"# {markdown.text(result.meta['title'])}"
    yield markdown.text(result.meta["lead"])
    for section in result.findings:
        finding = section.finding
        yield f"## {markdown.text(section.title)}"
        yield markdown.text(section.lead)
        yield from (f"- {markdown.text(line)}" for line in finding.answers)
        if finding.tables:
            yield markdown.document(finding.tables, 3)
        yield from (f"![{markdown.text(plot.alt)}]({plot.id}.svg)" for plot in finding.plots)
        yield from (f"- {markdown.text(note)}" for note in finding.notes)
        if section.foot:
            yield markdown.text(section.foot)
