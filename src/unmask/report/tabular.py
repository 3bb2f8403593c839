"""The numbers of runs as tables with every digit, and CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from unmask.core.types import Estimate
from unmask.report.selection import Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

Rows = list[dict[str, Any]]
_FORMULA = ("=", "+", "-", "@")


def estimates(runs: Sequence[Run], *, names: Sequence[str]) -> pd.DataFrame:
    """Every estimate of every run; the first column says which model it is of."""
    rows = [
        {"model": name, **asdict(one), "signed": one.signed}
        for name, run in zip(names, runs, strict=True)
        for one in run.estimates
    ]
    return pd.DataFrame(rows, columns=["model", *Estimate.__dataclass_fields__, "signed"])


def changes(compared: Sequence[Comparison], *, names: Sequence[str]) -> pd.DataFrame:
    """Every comparison, with the names of the two models."""
    rows: Rows = [{"a": names[0], "b": names[one.run], **asdict(one)} for one in compared]
    return pd.DataFrame(rows).drop(columns="run", errors="ignore")


def checks(runs: Sequence[Run], *, names: Sequence[str]) -> pd.DataFrame:
    """Every check of every run."""
    rows = [
        {"model": name, **asdict(one)} for name, run in zip(names, runs, strict=True) for one in run.checks
    ]
    return pd.DataFrame(rows, columns=["model", "name", "ok", "detail"])


def as_csv(table: pd.DataFrame) -> str:
    """CSV that a spreadsheet reads as text and numbers: no text of data can become a formula."""
    return str(table.map(_inert).to_csv(index=False, lineterminator="\n"))


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(_FORMULA) else cell
