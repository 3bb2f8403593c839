"""Export a result to a format of another tool."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from unmask.audit.result import AuditResult, load
from unmask.core.errors import OutputError, ResultError
from unmask.findings.envelope import Result
from unmask.interchange import FORMATS
from unmask.interchange.spec import ExportFormat


def export(run: Result | str | Path, *, to: str | ExportFormat, out: str | Path) -> str:
    """Write a result in a format of another tool; where it was written.

    Args:
        run: a result or its folder.
        to: every-eval-ever, inspect, mlflow, trackio or wandb.
        out: a folder; for mlflow also a tracking URI.
    """
    chosen = FORMATS.find(to)
    result = run if isinstance(run, Result) else load(run)
    if chosen.audits_only and not isinstance(result, AuditResult):
        raise ResultError(f"{chosen.name} takes audits, a {result.kind} was given: give the folder of an audit")
    if not any(estimate.value == estimate.value for estimate in result.estimates):
        raise ResultError("the result has no estimate to export: run the command on items that it can score")
    if chosen.library and find_spec(chosen.library) is None:
        raise OutputError(
            f"{chosen.name} is not installed: run `pip install 'unmask[trackers]'` (or {chosen.library} itself)"
        )
    return chosen.write(result, str(out))
