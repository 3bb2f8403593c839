"""Open the folders named on the command line: runs to browse, answers to annotate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.audit.result import AuditResult, load
from unmask.core.errors import ResultError
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.pairs import Runs
from unmask.findings.envelope import RESULT, Result
from unmask.prompts.folder import ANSWERS, open_folder


@dataclass(frozen=True, slots=True)
class Opened:
    """Audits to browse pair by pair, results of other commands, and answers to annotate."""

    runs: Runs
    others: tuple[Result, ...]
    desk: AnnotationDesk | None


def open_folders(folders: Sequence[Path]) -> Opened:
    """Open results, in the order named, and the answers of at most one model."""
    answers = [folder for folder in folders if (folder / ANSWERS).is_file()]
    if len(answers) > 1:
        raise ResultError(f"answers of {len(answers)} models: name one folder with {ANSWERS} at a time")
    results = [load(folder) for folder in folders if folder not in answers]
    runs = tuple(result for result in results if isinstance(result, AuditResult))
    for run in runs:
        _ = run.items, run.tokens  # fail now, not in the page, if a folder cannot be read
    others = tuple(result for result in results if not isinstance(result, AuditResult))
    return Opened(Runs(runs), others, AnnotationDesk(open_folder(answers[0])) if answers else None)


def find_folders(folder: Path) -> list[Path]:
    """Find all finished runs in a folder, the oldest first, and the newest answers."""
    answers = [path.parent for path in folder.glob(f"*/{ANSWERS}")]
    runs = [path.parent for path in folder.glob(f"*/{RESULT}") if path.parent not in answers]
    return sorted(runs, key=_age) + sorted(answers, key=_age)[-1:]


def _age(folder: Path) -> tuple[float, str]:
    return folder.stat().st_mtime, folder.name
