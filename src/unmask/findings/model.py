"""Findings: answers in plain sentences, tables and plots; rendered to the terminal, HTML and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.core.estimate import Value

if TYPE_CHECKING:
    from unmask.findings.charts import Chart


Cell = str | int | float | Value | None  # None: unknown or not applicable


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `note` says how to read them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 2  # decimals shown; JSON keeps full precision


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart with its title and alternative text."""

    id: str  # "human-roc"; also its file name
    title: str
    alt: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class Finding:
    """The answers in plain sentences, then tables, plots and notes."""

    answers: tuple[str, ...]
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A finding under its title: the question, the finding, and a footer on data and sources."""

    name: str
    title: str
    lead: str
    finding: Finding
    foot: str = ""
