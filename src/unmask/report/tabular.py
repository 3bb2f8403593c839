"""Estimates in full precision as data frames, and CSV that spreadsheets cannot read as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from unmask.core.estimate import Estimate
from unmask.report.selection import Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

Rows = list[dict[str, Any]]
_FORMULA = ("=", "+", "-", "@")


def estimates(runs: Sequence[Run], *, names: Sequence[str]) -> pd.DataFrame:
    """Every estimate of every run; the first column is the model."""
    rows = [
        {"model": name, **asdict(estimate), "signed": estimate.signed}
        for name, run in zip(names, runs, strict=True)
        for estimate in run.estimates
    ]
    return pd.DataFrame(rows, columns=["model", *Estimate.__dataclass_fields__, "signed"])


def changes(compared: Sequence[Comparison], *, names: Sequence[str]) -> pd.DataFrame:
    """Every comparison, with the names of the two models."""
    rows: Rows = [
        {"a": names[0], "b": names[comparison.run], **asdict(comparison)} for comparison in compared
    ]
    return pd.DataFrame(rows).drop(columns="run", errors="ignore")


def checks(runs: Sequence[Run], *, names: Sequence[str]) -> pd.DataFrame:
    """Every check of every run."""
    rows = [
        {"model": name, **asdict(check)}
        for name, run in zip(names, runs, strict=True)
        for check in run.checks
    ]
    return pd.DataFrame(rows, columns=["model", "name", "ok", "detail"])


def as_csv(table: pd.DataFrame) -> str:
    """CSV in which no text can be read as a formula by a spreadsheet."""
    return str(table.map(_escape_formula).to_csv(index=False, lineterminator="\n"))


def _escape_formula(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(_FORMULA) else cell
