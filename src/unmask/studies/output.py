"""Write a study's tables and figures: HTML report, Markdown, LaTeX, CSV, and JSON at full precision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from unmask.core.files import write_json
from unmask.findings import Cell, Finding, Section, Table, Value, as_json, html, latex, markdown
from unmask.findings.envelope import versions
from unmask.report.tables import as_csv
from unmask.studies.spec import Study, StudyOptions

RESULTS, PAGE, LATEX, TABLES = "findings.json", "tables.md", "tables.tex", "tables"


def write(
    study: Study, sections: Sequence[Section], options: StudyOptions, notes: Sequence[str], out: Path
) -> None:
    """Write all output files into the study folder."""
    results = write_json(
        out / RESULTS,
        {
            "unmask": version("unmask"),
            "study": study.name,
            "citation": study.citation,
            "models": list(options.models),
            "notes": list(notes),
            "versions": versions(),
            "sections": [
                {"name": section.name, "title": section.title, **as_json(section.finding)}
                for section in sections
            ],
        },
    )
    about = Section("about", "What this is", study.question, Finding(tuple(notes), ()))
    lead = f"{study.question} Models: {', '.join(options.models)}."
    html.write(study.title, lead, [*([about] if notes else []), *sections], results, out, RESULTS)
    (out / PAGE).write_text(_markdown(study, sections, notes), encoding="utf-8")
    tables = [table for section in sections for table in section.finding.tables]
    (out / LATEX).write_text(latex.document(tables), encoding="utf-8")
    (out / TABLES).mkdir(exist_ok=True)
    for section in sections:
        for number, table in enumerate(section.finding.tables, 1):
            (out / TABLES / f"{section.name}-{number}-{slug(table.title)}.csv").write_text(
                as_csv(table_frame(table)), encoding="utf-8"
            )


def table_frame(table: Table) -> pd.DataFrame:
    """A table as a data frame; a number with an interval becomes three columns."""
    rows = [
        dict(
            pair
            for name, cell in zip(table.columns, row, strict=True)
            for pair in _columns(name, cell, table)
        )
        for row in table.rows
    ]
    return pd.DataFrame(rows)


def _columns(name: str, cell: Cell, table: Table) -> list[tuple[str, Cell]]:
    column = table.columns.index(name)
    if not any(isinstance(row[column], Value) for row in table.rows):
        return [(name, cell)]
    if isinstance(cell, Value):
        return [(name, cell.value), (f"{name} low", cell.low), (f"{name} high", cell.high)]
    return [(name, cell), (f"{name} low", None), (f"{name} high", None)]


def _markdown(study: Study, sections: Sequence[Section], notes: Sequence[str]) -> str:
    parts = [f"# {markdown.text(study.title)}", markdown.text(study.question)]
    parts += [f"- {markdown.text(note)}" for note in notes]
    for section in sections:
        parts += [f"## {markdown.text(section.title)}", markdown.text(section.lead)]
        parts += [f"- {markdown.text(line)}" for line in section.finding.answers]
        parts += [markdown.document(section.finding.tables, 3)] if section.finding.tables else []
        parts += [f"![{markdown.text(plot.alt)}]({plot.id}.svg)" for plot in section.finding.plots]
        parts += [f"- {markdown.text(note)}" for note in section.finding.notes]
        parts += [markdown.text(section.foot)] if section.foot else []
    return "\n\n".join(parts) + "\n"


def slug(title: str) -> str:
    """A title as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]
