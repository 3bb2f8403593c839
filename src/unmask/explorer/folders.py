"""Open the folders named on the command line: runs to browse, answers to annotate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unmask.audit.result import AuditResult, load
from unmask.core.errors import ResultError
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.app import Site
from unmask.explorer.pairs import Runs
from unmask.findings.envelope import RESULT
from unmask.prompts.folder import ANSWERS, open_folder


def open_folders(folders: Sequence[Path], token: str = "") -> Site:
    """Open results, in the order named, and the answers of at most one model."""
    answers = [folder for folder in folders if (folder / ANSWERS).is_file()]
    if len(answers) > 1:
        raise ResultError(f"answers of {len(answers)} models: name one folder with {ANSWERS} at a time")
    results = [load(folder) for folder in folders if folder not in answers]
    runs = tuple(result for result in results if isinstance(result, AuditResult))
    for run in runs:
        _ = run.items, run.tokens  # fail now, not in the page, if a folder cannot be read
    others = tuple(result for result in results if not isinstance(result, AuditResult))
    desk = AnnotationDesk(open_folder(answers[0])) if answers else None
    return Site(Runs(runs), token, desk=desk, others=others)


def find_folders(folder: Path) -> list[Path]:
    """Find all finished runs in a folder, the oldest first, and the newest answers."""
    answers = [path.parent for path in folder.glob(f"*/{ANSWERS}")]
    runs = [path.parent for path in folder.glob(f"*/{RESULT}") if path.parent not in answers]
    runs, answers = (sorted(each, key=lambda f: (f.stat().st_mtime, f.name)) for each in (runs, answers))
    return runs + answers[-1:]
